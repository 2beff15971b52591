# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Attitudes in which a thrust along one axis of the base points along a wanted force."""

from math import cos, tan

import numpy as np

from vms_ph_dynamics import ModelError
from vms_ph_dynamics.actuation.allocation import Allocation
from vms_ph_dynamics.arrays import Array

# Least share of the weight that a wanted force carries, so that its direction is defined.
_LEAST_LIFT = 0.3

# Most that a wanted force lifts, in weights.
_MOST_LIFT = 3.0

# Singular values below this share of the largest count as zero.
_RANK = 1e-6


class ThrustDirection:
    """The attitudes of a base whose thrust has one axis.

    Args:
        axis: (3,) of the thrust in the frame of the base, length one.
    """

    def __init__(self, axis: Array) -> None:
        self._axis = axis
        ahead = np.array([1.0, 0.0, 0.0])
        if abs(float(axis @ ahead)) > 0.9:
            ahead = np.array([0.0, 1.0, 0.0])
        self._nose = ahead - axis * float(axis @ ahead)
        self._nose /= np.linalg.norm(self._nose)
        self._own = np.column_stack([self._nose, np.cross(axis, self._nose), axis])

    def attitude(self, force: Array, heading: Array) -> Array:
        """Return the rotation (3,3) whose thrust is along a force, nose near that of a heading.

        Args:
            force: (3,) not zero.
            heading: (3,3) rotation whose nose is followed; where the nose is along the force, the
                left side is.
        """
        along = force / np.linalg.norm(force)
        nose = heading @ self._nose
        flat = nose - along * float(along @ nose)
        if float(flat @ flat) < 1e-6:
            nose = np.cross(heading @ self._own[:, 1], along)
            flat = nose - along * float(along @ nose)
        flat = flat / np.linalg.norm(flat)
        return np.column_stack([flat, np.cross(along, flat), along]) @ self._own.T

    def within(self, force: Array, up: Array, weight: float, tilt: float) -> Array:
        """Return a force, or one per mass, brought into a cone around the vertical.

        Args:
            force: (3,).
            up: (3,) length one.
            weight: force, or one per mass, that holds the robot.
            tilt: largest angle from the vertical, rad.
        """
        lift = float(force @ up)
        lift = min(max(lift, _LEAST_LIFT * weight), _MOST_LIFT * weight)
        across = force - up * float(force @ up)
        size = float(np.sqrt(across @ across))
        most = lift * tan(tilt) if cos(tilt) > 0.0 else size
        return np.asarray(lift * up + across * min(1.0, most / max(size, 1e-12)))


def single_axis(allocation: Allocation, name: str) -> tuple[Array, float, float]:
    """Return the axis (3,) of all thrusts, and the least and the largest thrust along it, N.

    Raises:
        ModelError: there are several axes, or the base cannot be turned about all axes.
    """
    forces = allocation.matrix[:3]
    left, sizes, _ = np.linalg.svd(forces)
    if sizes[0] == 0.0 or (sizes[1:] > _RANK * sizes[0]).any():
        raise ModelError(
            f"the rotors of '{name}' push along several axes or none; UnderactuatedFlight is for "
            "one axis, DecoupledVMSController for all"
        )
    axis = left[:, 0]
    shares = axis @ forces
    if shares.sum() < 0.0:
        axis, shares = -axis, -shares
    lever = np.linalg.svd(allocation.matrix, compute_uv=False)
    if len(lever) < 4 or lever[3] <= _RANK * lever[0]:
        raise ModelError(f"the rotors of '{name}' cannot turn it about all axes")
    ends = np.array([shares * allocation.lower, shares * allocation.upper])
    return axis, float(ends.min(axis=0).sum()), float(ends.max(axis=0).sum())
