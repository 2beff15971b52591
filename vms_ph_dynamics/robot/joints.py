# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The joints and bases that the theory covers, the limits of joints, and the names of ports."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from ..arrays import Array, frozen
from ..errors import ModelError

Base = Literal["fixed", "planar", "floating"]

BASE_DIMENSION: dict[str, int] = {"fixed": 0, "planar": 3, "floating": 6}

BASE_COMPONENTS: dict[int, list[int]] = {0: [], 3: [0, 1, 5], 6: [0, 1, 2, 3, 4, 5]}
"""Components of a spatial twist or wrench, linear first, that a base has, by its dimension."""

# The linear part of a base configuration, on which only the potential depends.
BASE_POSITION_SIZE: dict[str, int] = {"fixed": 0, "planar": 2, "floating": 3}

# A quaternion or (cos, sin) pair that deviates from length one by more than this is a mistake, not
# rounding: transmission in single precision leaves 1e-7.
NORM_TOLERANCE = 1e-6

_BASE_JOINTS = {"JointModelFreeFlyer": "floating", "JointModelPlanar": "planar"}

# One degree of freedom and a constant motion subspace: only for these is Pinocchio's Coriolis
# matrix the Levi-Civita one, and only these have the phi, chi, iota of [A, appendix A].
_ARM_JOINTS = ("JointModelR", "JointModelP", "JointModelH")
_NOT_ARM_JOINTS = ("JointModelPlanar",)


@dataclass(frozen=True)
class RotationEntries:
    """Entries of a configuration that form a quaternion or a (cos, sin) pair of norm one."""

    joint: str
    entries: slice

    def norm(self, q: Array) -> float:
        """Return the norm of these entries of ``q``."""
        rotation = q[self.entries]
        return float(rotation @ rotation) ** 0.5

    def __str__(self) -> str:
        size = self.entries.stop - self.entries.start
        kind = "quaternion [x y z w]" if size == 4 else "pair [cos sin]"
        return f"the {kind} q[{self.entries.start}:{self.entries.stop}] of '{self.joint}'"


def rotations_of(model: Any, excluded: Container[str] = ()) -> tuple[RotationEntries, ...]:
    """Return the entries of a configuration that must have length one.

    Args:
        model: a ``pinocchio.Model``.
        excluded: names of joints without entries of their own.
    """
    rotations, end = [], 0
    for i in range(1, model.njoints):
        if model.names[i] in excluded:
            continue
        joint = model.joints[i]
        end += joint.nq
        if joint.nq > joint.nv:
            # Positions come first, the rotation last.
            size = 4 if joint.nv == 6 else 2
            rotations.append(RotationEntries(model.names[i], slice(end - size, end)))
    return tuple(rotations)


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
    for i in range(1 if base == "fixed" else 2, model.njoints):
        joint_class, name = model.joints[i].shortname(), model.names[i]
        if not joint_class.startswith(_ARM_JOINTS) or joint_class in _NOT_ARM_JOINTS:
            raise ModelError(
                f"joint '{name}' is of type {joint_class.removeprefix('JointModel')}; accepted are "
                "revolute, continuous, prismatic and helical joints, and one floating or planar "
                "joint as the base. Split it into single joints, or lock it"
            )
        if base != "fixed" and model.parents[i] == 0:
            raise ModelError(
                f"joint '{name}' is attached to the world beside the {base} base "
                f"'{model.names[1]}'; every joint must descend from the base"
            )
        if not is_ancestor(model, model.parents[i], i - 1):
            # Pinocchio's crba and coriolis silently assume that a subtree is a contiguous block.
            raise ModelError(
                f"joint '{name}' is attached to '{model.names[model.parents[i]]}' but comes after "
                "joints of another branch; add the joints branch by branch (depth first), as "
                "pinocchio.buildModelFromUrdf does"
            )


def is_ancestor(model: Any, ancestor: int, joint: int) -> bool:
    """Return whether a joint is another one, or one that carries it."""
    return ancestor in list(model.supports[joint])


def motion_subspace(model: Any, joint: int) -> Array:
    """Return the constant motion subspace of a joint of Pinocchio, (6,k), linear first."""
    joint_model = model.joints[joint]
    data = joint_model.createData()
    joint_model.calc(data, pin.neutral(model))
    return np.asarray(data.S).reshape(6, joint_model.nv)


def make_root_joint(base: str) -> Any | None:
    """Return the Pinocchio joint of a moving base; None for other kinds."""
    kind = {"planar": pin.JointModelPlanar, "floating": pin.JointModelFreeFlyer}.get(base)
    return None if kind is None else kind()


_NO_LIMIT = 1e100


@dataclass(frozen=True)
class JointTable:
    """Names, limits and friction of the n joints; read-only arrays of size n.

    Attributes:
        names: of the joints.
        effort: largest torque or force, N m or N; infinite if not given.
        velocity: largest rate, rad/s or m/s; infinite if not given.
        lower, upper: positions, rad or m; infinite for continuous joints.
        damping: viscous friction, N m s/rad or N s/m, including that of joints that mimic it.
        friction: Coulomb friction, N m or N, including that of joints that mimic it.
        prismatic: whether a joint is prismatic.
    """

    names: tuple[str, ...]
    effort: Array
    velocity: Array
    lower: Array
    upper: Array
    damping: Array
    friction: Array
    prismatic: tuple[bool, ...]

    @property
    def continuous(self) -> npt.NDArray[np.bool_]:
        """Whether each joint turns without end, (n,)."""
        return ~np.array(self.prismatic, dtype=bool) & np.isinf(self.lower) & np.isinf(self.upper)


def joint_table(model: Any, joints: Sequence[int], projection: Array | None = None) -> JointTable:
    """Return the table of some joints of a Pinocchio model.

    Args:
        model: a ``pinocchio.Model``.
        joints: their indices.
        projection: (nv_full,nv) from the rates of independent joints to all, where some mimic.
    """
    idx_v = [model.joints[joint].idx_v for joint in joints]
    # Pinocchio 4 renamed the symmetric limits of 3.
    effort = getattr(model, "upperEffortLimit", None)
    velocity_limits = getattr(model, "upperVelocityLimit", None)
    friction = getattr(model, "upperDryFrictionLimit", None)
    lower, upper = _position_limits(model, joints)
    return JointTable(
        tuple(model.names[i] for i in joints),
        _limits(model.effortLimit if effort is None else effort, idx_v),
        _limits(model.velocityLimit if velocity_limits is None else velocity_limits, idx_v),
        lower,
        upper,
        _add_followers(model.damping, idx_v, projection, 2),
        _add_followers(model.friction if friction is None else friction, idx_v, projection, 1),
        tuple(model.joints[i].shortname().startswith("JointModelP") for i in joints),
    )


def _add_followers(values: Array, idx_v: list[int], projection: Array | None, degree: int) -> Array:
    """Return friction per joint, including that of its followers.

    A follower with the multiplier m moves m times as fast and its torque is multiplied by m:
    viscous friction grows with the square of m, Coulomb friction with its magnitude.
    """
    if projection is None:
        return frozen(np.array(values, dtype=np.float64)[idx_v])
    leader_values = (np.abs(projection) ** degree).T @ np.array(values, dtype=np.float64)
    return frozen(leader_values[[int(np.flatnonzero(projection[row])[0]) for row in idx_v]])


def _limits(all_limits: Array, idx_v: list[int]) -> Array:
    limits = np.array(all_limits, dtype=np.float64)[idx_v]
    # URDF writers put 0 where they mean "not given", Pinocchio the largest double.
    return frozen(np.where((limits > 0) & (limits < _NO_LIMIT), limits, np.inf))


def _position_limits(model: Any, joints: Sequence[int]) -> tuple[Array, Array]:
    q_indices = np.array([model.joints[joint].idx_q for joint in joints], dtype=int)
    is_continuous = np.array([model.joints[i].nq == 2 for i in joints], dtype=bool)
    lower, upper = model.lowerPositionLimit[q_indices], model.upperPositionLimit[q_indices]
    lower[lower <= -_NO_LIMIT], upper[upper >= _NO_LIMIT] = -np.inf, np.inf
    is_unlimited = is_continuous | (lower >= upper)
    lower[is_unlimited], upper[is_unlimited] = -np.inf, np.inf
    return frozen(lower), frozen(upper)


PORTS = ("torque", "wrench_base", "wrench_end_effector")
"""The names of the power ports of every robot, in the order that is used throughout."""

# What stands beside the ports in energy balances.
_RESERVED_NAMES = (*PORTS, "dissipated", "unaccounted", "stored")


def checked_tools(tools: Iterable[str], end_effector: str) -> tuple[str, ...]:
    """Return the names of further ports.

    Raises:
        ModelError: a name that is given twice, is that of the end effector, or of another port.
    """
    if isinstance(tools, str):
        raise ModelError(f"tools are a list of names; given: the text '{tools}'")
    names = tuple(tools)
    for name in names:
        if name == end_effector:
            raise ModelError(
                f"'{name}' is the end effector, whose port is wrench_end_effector; tools are "
                "further frames"
            )
        if name in _RESERVED_NAMES:
            raise ModelError(f"a tool cannot be called '{name}', the name of another port")
        if names.count(name) > 1:
            raise ModelError(f"the tool '{name}' is given twice")
    return names
