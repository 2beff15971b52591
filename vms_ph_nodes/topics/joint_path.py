# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Paths through joint space from trajectory messages."""

from itertools import pairwise
from typing import Any

import numpy as np

from vms_ph_dynamics import StateError, VMSModel
from vms_ph_dynamics.arrays import Array

from ..messages.conversions import NANOSECONDS


class JointPath:
    """Joint positions over time: cubic between points with velocities, else linear.

    Attributes:
        duration: time of the last point, s.
        goal: (n,) positions of the last point, rad or m.
    """

    def __init__(self, times: Array, positions: Array, velocities: Array | None = None) -> None:
        """Interpolate between points.

        Args:
            times: (k,) s, increasing.
            positions: (k,n).
            velocities: (k,n), or None for straight lines.
        """
        self._times, self._positions, self._velocities = times, positions, velocities
        self.duration, self.goal = float(times[-1]), positions[-1]

    def at(self, time: float) -> Array:
        """Return the positions (n,) at a time, s; those of an end outside the path."""
        times = self._times
        if time <= times[0]:
            return self._positions[0]
        if time >= times[-1]:
            return self.goal
        k = int(np.searchsorted(times, time, side="right")) - 1
        length = times[k + 1] - times[k]
        s = (time - times[k]) / length
        first, second = self._positions[k], self._positions[k + 1]
        if self._velocities is None:
            straight: Array = first + s * (second - first)
            return straight
        start, end = length * self._velocities[k], length * self._velocities[k + 1]
        curve: Array = (
            (1 + 2 * s) * (1 - s) ** 2 * first
            + s * (1 - s) ** 2 * start
            + s**2 * (3 - 2 * s) * second
            + s**2 * (s - 1) * end
        )
        return curve


def path_from_message(model: VMSModel, message: Any, q: Array) -> JointPath:
    """Return the path of a trajectory_msgs/JointTrajectory that begins at the joint positions (n,).

    Raises:
        StateError: a joint that is missing or unknown, or points that are no path.
    """
    names, points = list(message.joint_names), list(message.points)
    if sorted(names) != sorted(model.joint_names):
        raise StateError(
            f"a trajectory needs all joints once: {', '.join(model.joint_names)}; "
            f"given: {', '.join(names)}"
        )
    if not points:
        raise StateError("a trajectory needs at least one point; given: none")
    order = [names.index(name) for name in model.joint_names]
    times = [p.time_from_start.sec + p.time_from_start.nanosec / NANOSECONDS for p in points]
    increasing = all(a < b for a, b in pairwise(times))
    if times[0] < 0.0 or not increasing:
        raise StateError(f"the times of the points must increase from zero on; given: {times}")
    has_velocities = all(len(p.velocities) for p in points)
    wrong = next((p for p in points if len(p.positions) != len(names)), None)
    wrong = wrong or next((p for p in points if len(p.velocities) not in (0, len(names))), None)
    if wrong is not None:
        raise StateError(
            f"every point needs {len(names)} positions, and as many velocities or none; given: "
            f"{len(wrong.positions)} and {len(wrong.velocities)}"
        )
    positions = np.array([p.positions for p in points], dtype=float)[:, order]
    velocities = np.zeros_like(positions)
    if has_velocities:
        velocities = np.array([p.velocities for p in points], dtype=float)[:, order]
    if not (np.isfinite(positions).all() and np.isfinite(velocities).all()):
        raise StateError("a trajectory must be finite; given: a number that is not")
    if times[0] > 0.0:
        times, positions = [0.0, *times], np.vstack([q, positions])
        velocities = np.vstack([np.zeros(model.n), velocities])
    return JointPath(np.array(times), positions, velocities if has_velocities else None)
