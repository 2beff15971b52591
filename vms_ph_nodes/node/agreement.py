# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the nodes of a namespace have the same robot, from their heartbeats.

Every node that has a model publishes what defines it in its heartbeat on /diagnostics. A node
compares its own with those of the nodes that determine the motion: the simulator, or else the
controller, or else its equals.
"""

import hashlib
from collections.abc import Mapping

import numpy as np

from vms_ph_dynamics import VMSModel

ROBOT_KEY, RANK_KEY = "robot", "robot from"

# Who determines the motion comes first.
SIMULATOR, CONTROLLER, OTHER = 0, 1, 2

_RANKS = {str(rank): rank for rank in (SIMULATOR, CONTROLLER, OTHER)}

# Longest identity of another robot that is compared.
_MAX_IDENTITY_LENGTH = 10_000

_SIGNIFICANT_DIGITS = 9


def identity(model: VMSModel) -> str:
    """Return what defines a model, as ``name=value`` with semicolons between."""
    pinocchio = model.tree.pinocchio
    digest = hashlib.sha256()
    for i in range(1, pinocchio.njoints):
        digest.update(_rounded_bytes(pinocchio.inertias[i].toDynamicParameters()))
        digest.update(_rounded_bytes(pinocchio.jointPlacements[i].homogeneous))
    digest.update(_rounded_bytes(pinocchio.frames[model.end_effector_id].placement.homogeneous))
    parts = {
        "name": model.name,
        "base": model.base,
        "joints": ", ".join(model.joint_names),
        "mass": f"{model.total_mass:.6g} kg",
        "end_effector": model.end_effector,
        "tools": ", ".join(model.tools) or "none",
        "gravity": " ".join(f"{component:g}" for component in model.gravity.tolist()),
        "fluid": "none" if model.fluid is None else f"{model.fluid.density:g} kg/m^3",
        "inertia": digest.hexdigest()[:12],
    }
    return "; ".join(f"{name}={value}" for name, value in parts.items())


def _rounded_bytes(values: object) -> bytes:
    """Return numbers as text that does not depend on the last digits."""
    numbers = np.asarray(values, dtype=float).ravel()
    return " ".join(f"{x + 0.0:.{_SIGNIFICANT_DIGITS}g}" for x in np.round(numbers, 12)).encode()


class RobotAgreement:
    """Compares the robot of a node with those of the other nodes of its namespace."""

    def __init__(self, name: str) -> None:
        """``name`` is the node's, with its namespace."""
        self._name = name
        self._namespace = name.rpartition("/")[0]
        self._identity, self._rank = "", OTHER
        self._other_robots: dict[str, tuple[str, int]] = {}

    def declare(self, model: VMSModel, rank: int) -> None:
        """Set the robot of this node."""
        self._identity, self._rank = identity(model), rank

    def values(self) -> dict[str, object]:
        """Return what this node's heartbeat says about its robot."""
        return {ROBOT_KEY: self._identity, RANK_KEY: self._rank} if self._identity else {}

    def update(self, name: str, values: Mapping[str, str]) -> None:
        """Note what another node's heartbeat says."""
        rank, robot = _RANKS.get(values.get(RANK_KEY, "")), values.get(ROBOT_KEY, "")
        is_same_namespace = name.rpartition("/")[0] == self._namespace
        if is_same_namespace and rank is not None and 0 < len(robot) <= _MAX_IDENTITY_LENGTH:
            self._other_robots[name] = (robot, rank)
        else:
            self._other_robots.pop(name, None)

    def forget(self, name: str) -> None:
        """Forget a node that has ended or is lost."""
        self._other_robots.pop(name, None)

    @property
    def disagreement(self) -> str:
        """A sentence about another node with another robot, or empty."""
        other_robots = dict(self._other_robots)  # which the thread of the heartbeat changes
        if not self._identity or not other_robots:
            return ""
        lowest_rank = min(rank for _, rank in other_robots.values())
        if lowest_rank > self._rank:
            return ""
        for name, (robot, rank) in sorted(other_robots.items()):
            if rank == lowest_rank and robot != self._identity:
                return (
                    f"{self._name} has another robot than {name} "
                    f"({_differences(self._identity, robot)}); give both the same robot, base, "
                    "end_effector, tools, locked_joints and gravity"
                )
        return ""


def _differences(identity: str, other_identity: str) -> str:
    own_values, other_values = (
        dict(entry.partition("=")[::2] for entry in text.split("; "))
        for text in (identity, other_identity)
    )
    return "; ".join(
        f"{name}: '{own_values.get(name, '')}', there '{other_values.get(name, '')}'"
        for name in {**own_values, **other_values}
        if own_values.get(name) != other_values.get(name)
    )
