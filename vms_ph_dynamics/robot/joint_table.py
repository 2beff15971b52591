# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Names, limits and friction of the joints of a robot, in the order of the joint rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, frozen

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


def joint_table(model: Any, joints: Sequence[int], projection: Array | None = None) -> JointTable:
    """Return the table of some joints of a Pinocchio model.

    Args:
        model: a ``pinocchio.Model``.
        joints: their indices.
        projection: (nv_full,nv) from the rates of independent joints to all, where some mimic.
    """
    rows = [model.joints[i].idx_v for i in joints]
    # Pinocchio 4 renamed the symmetric limits of 3.
    effort = getattr(model, "upperEffortLimit", None)
    velocity = getattr(model, "upperVelocityLimit", None)
    friction = getattr(model, "upperDryFrictionLimit", None)
    lower, upper = _position_limits(model, joints)
    return JointTable(
        tuple(model.names[i] for i in joints),
        _limits(model.effortLimit if effort is None else effort, rows),
        _limits(model.velocityLimit if velocity is None else velocity, rows),
        lower,
        upper,
        _projected(model.damping, rows, projection, 2),
        _projected(model.friction if friction is None else friction, rows, projection, 1),
        tuple(model.joints[i].shortname().startswith("JointModelP") for i in joints),
    )


def _values(values: Array, rows: list[int]) -> Array:
    return frozen(np.array(values, dtype=np.float64)[rows])


def _projected(values: Array, rows: list[int], projection: Array | None, power: int) -> Array:
    """Return friction per joint, including that of its followers.

    A follower with the multiplier m moves m times as fast and its torque is multiplied by m:
    viscous friction grows with the square of m, Coulomb friction with its magnitude.
    """
    if projection is None:
        return _values(values, rows)
    shares = np.abs(projection) ** power
    of_leader = shares.T @ np.array(values, dtype=np.float64)
    columns = [int(np.flatnonzero(projection[row])[0]) for row in rows]
    return frozen(of_leader[columns])


def _limits(limits: Array, rows: list[int]) -> Array:
    values = _values(limits, rows)
    # URDF writers put 0 where they mean "not given", Pinocchio the largest double.
    return frozen(np.where((values > 0) & (values < _NO_LIMIT), values, np.inf))


def _position_limits(model: Any, joints: Sequence[int]) -> tuple[Array, Array]:
    low, high = np.full(len(joints), -np.inf), np.full(len(joints), np.inf)
    for k, i in enumerate(joints):
        joint = model.joints[i]
        if joint.nq == 1:
            low[k] = model.lowerPositionLimit[joint.idx_q]
            high[k] = model.upperPositionLimit[joint.idx_q]
    low[low <= -_NO_LIMIT], high[high >= _NO_LIMIT] = -np.inf, np.inf
    unlimited = low >= high
    low[unlimited], high[unlimited] = -np.inf, np.inf
    return frozen(low), frozen(high)
