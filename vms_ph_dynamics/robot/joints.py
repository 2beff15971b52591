# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The Pinocchio joints that the theory covers, and the kinds of base."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Literal

import pinocchio as pin

from ..arrays import Array
from ..errors import ModelError

Base = Literal["fixed", "planar", "floating"]

BASE_DIMENSION: dict[str, int] = {"fixed": 0, "planar": 3, "floating": 6}

# The linear part of a base configuration, on which only the potential depends.
BASE_POSITION: dict[str, int] = {"fixed": 0, "planar": 2, "floating": 3}

# A quaternion or (cos, sin) pair that deviates from length one by more than this is a mistake, not
# rounding: transmission in single precision leaves 1e-7.
NORM_TOLERANCE = 1e-6

_BASE_JOINTS = {"JointModelFreeFlyer": "floating", "JointModelPlanar": "planar"}

# One degree of freedom and a constant motion subspace: only for these is Pinocchio's Coriolis
# matrix the Levi-Civita one, and only these have the phi, chi, iota of [A, appendix A].
_ARM_JOINTS = ("JointModelR", "JointModelP", "JointModelH")
_NOT_ARM_JOINTS = ("JointModelPlanar",)


@dataclass(frozen=True)
class Rotation:
    """Entries of a configuration that form a quaternion or a (cos, sin) pair of length one."""

    joint: str
    entries: slice

    def length(self, q: Array) -> float:
        """Return the length of these entries of ``q``."""
        part = q[self.entries]
        return float(part @ part) ** 0.5

    def __str__(self) -> str:
        size = self.entries.stop - self.entries.start
        kind = "quaternion [x y z w]" if size == 4 else "pair [cos sin]"
        return f"the {kind} q[{self.entries.start}:{self.entries.stop}] of '{self.joint}'"


def rotations_of(model: Any, left_out: Container[str] = ()) -> tuple[Rotation, ...]:
    """Return the entries of a configuration that must have length one.

    Args:
        model: a ``pinocchio.Model``.
        left_out: names of joints without entries of their own.
    """
    found, end = [], 0
    for i in range(1, model.njoints):
        if model.names[i] in left_out:
            continue
        joint = model.joints[i]
        end += joint.nq
        if joint.nq > joint.nv:
            # Positions come first, the rotation last.
            size = 4 if joint.nv == 6 else 2
            found.append(Rotation(model.names[i], slice(end - size, end)))
    return tuple(found)


def base_of(model: Any) -> Base:
    """Return the base of a Pinocchio model, read from its first joint."""
    if model.njoints < 2:
        return "fixed"
    return _BASE_JOINTS.get(model.joints[1].shortname(), "fixed")  # type: ignore[return-value]


def check_joints(model: Any) -> None:
    """Check that the theory covers every joint.

    Args:
        model: a ``pinocchio.Model``.

    Raises:
        ModelError: a joint type is not supported, there is a second tree beside a moving base, or
            joints are not in depth-first order.
    """
    base = base_of(model)
    first = 1 if base == "fixed" else 2
    for i in range(first, model.njoints):
        kind, name = model.joints[i].shortname(), model.names[i]
        if not kind.startswith(_ARM_JOINTS) or kind in _NOT_ARM_JOINTS:
            raise ModelError(
                f"joint '{name}' is of type {kind.removeprefix('JointModel')}; accepted are "
                "revolute, continuous, prismatic and helical joints, and one floating or planar "
                "joint as the base. Split it into single joints, or lock it"
            )
        if base != "fixed" and model.parents[i] == 0:
            raise ModelError(
                f"joint '{name}' is attached to the world beside the {base} base "
                f"'{model.names[1]}'; every joint must descend from the base"
            )
        if not _is_above(model, model.parents[i], i - 1):
            # Pinocchio's crba and coriolis silently assume that a subtree is a contiguous block.
            raise ModelError(
                f"joint '{name}' is attached to '{model.names[model.parents[i]]}' but comes after "
                "joints of another branch; add the joints branch by branch (depth first), as "
                "pinocchio.buildModelFromUrdf does"
            )


def _is_above(model: Any, ancestor: int, joint: int) -> bool:
    while joint > ancestor:
        joint = model.parents[joint]
    return bool(joint == ancestor)


def make_root_joint(base: str) -> Any | None:
    """Return the Pinocchio joint of a moving base; None for other kinds."""
    kind = {"planar": pin.JointModelPlanar, "floating": pin.JointModelFreeFlyer}.get(base)
    return None if kind is None else kind()
