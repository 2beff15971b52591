# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A pose in the plane that turns, drives straight and turns, as two wheels on an axle can."""

from math import atan2, cos, pi, remainder, sin, sqrt
from typing import NamedTuple

import numpy as np

from vms_ph_dynamics import Array

# Peaks of the polynomial of degree five from rest to rest over a unit of length and time.
_PEAK_RATE, _PEAK_ACCELERATION = 1.875, 10.0 / sqrt(3.0)
# Lengths that count as none, m and rad.
_MIN_LENGTH = 1e-9
# Shortest time in which a motion is brought to rest, s.
_MIN_BRAKING_TIME = 0.2


class DriveBounds(NamedTuple):
    """Largest forward speed, m/s, rate of turning, rad/s, and their rates of change."""

    speed: float
    turn_rate: float
    acceleration: float
    turn_acceleration: float


class DriveReference:
    """A pose that comes to a target by turning on the spot, driving straight, and turning again.

    Every part begins and ends at rest, with rates and accelerations that do not jump. The way is
    driven backwards where that takes the smaller turn. A new target first brings the pose to rest:
    targets are places to go to, not points of a trajectory.

    Attributes:
        position: (2,) m.
        heading: rad, not limited to a turn.
        speed, turn_rate: forward, m/s, and about the vertical, rad/s.
        acceleration, turn_acceleration: their rates.
    """

    _segment: "_Quintic | None"
    _goal: tuple[Array, float] | None
    _next_goal: tuple[Array, float] | None
    _time: float
    _is_turning: bool
    _is_braking: bool

    def __init__(self) -> None:
        self.restart(np.zeros(2), 0.0)

    def restart(self, position: Array, heading: float) -> None:
        """Rest at a place (2,), m, with a heading, rad."""
        self.position, self.heading = np.array(position, dtype=float), float(heading)
        self._goal = self._next_goal = None
        self._next_segments: list[str] = []
        self._stop()

    @property
    def is_resting(self) -> bool:
        """Whether the target has been reached."""
        return self._segment is None and self._next_goal is None and not self._next_segments

    def go_to(self, position: Array, heading: float) -> None:
        """Set the target: a place (2,), m, and a heading, rad, to be turned to the shorter way.

        The target that it has is not taken again.
        """
        last_goal = self._goal if self._next_goal is None else self._next_goal
        if last_goal is None or last_goal[1] != heading or (last_goal[0] != position).any():
            self._next_goal = np.array(position, dtype=float), float(heading)

    def advance(self, bounds: DriveBounds, dt: float) -> None:
        """Advance by one time step, s."""
        if self._next_goal is not None:
            if self._segment is None:
                self._goal, self._next_goal = self._next_goal, None
                self._next_segments = ["turn", "drive", "arrive"]
            elif not self._is_braking:
                self._brake_segment(bounds)
        while self._segment is None and self._next_segments:
            self._begin_segment(self._next_segments.pop(0), bounds)
        if self._segment is None:
            return
        self._time = min(self._time + dt, self._segment.duration)
        motion = self._segment.evaluate(self._time)
        if self._is_turning:
            self.heading, self.turn_rate, self.turn_acceleration = motion
        else:
            self.position = self._segment_start + motion[0] * self._heading_vector()
            self.speed, self.acceleration = motion[1], motion[2]
        if self._time >= self._segment.duration:
            self._stop()

    def _brake_segment(self, bounds: DriveBounds) -> None:
        """Bring the present part to rest, and forget those after it."""
        assert self._segment is not None  # there is one to brake
        motion = self._segment.evaluate(self._time)
        largest_accel = bounds.turn_acceleration if self._is_turning else bounds.acceleration
        time = max(_PEAK_RATE * abs(motion[1]) / largest_accel, _MIN_BRAKING_TIME)
        self._segment, self._time = _Quintic(motion, motion[0] + 0.5 * motion[1] * time, time), 0.0
        self._is_braking, self._next_segments = True, []

    def _begin_segment(self, segment: str, bounds: DriveBounds) -> None:
        """Begin a part, unless it has no length."""
        assert self._goal is not None  # there is a way to one
        path = self._goal[0] - self.position
        start, rate, limit = self.heading, bounds.turn_rate, bounds.turn_acceleration
        if segment == "arrive":
            length = remainder(self._goal[1] - self.heading, 2.0 * pi)
        elif segment == "turn":
            # The way may be driven ahead or back.
            is_distant = float(np.linalg.norm(path)) > _MIN_LENGTH
            length = remainder(atan2(path[1], path[0]) - self.heading, pi) if is_distant else 0.0
        else:
            length = float(path @ self._heading_vector())
            start, rate, limit = 0.0, bounds.speed, bounds.acceleration
        if abs(length) <= _MIN_LENGTH:
            return
        self._segment_start, self._is_turning = self.position, segment != "drive"
        time = max(_PEAK_RATE * abs(length) / rate, sqrt(_PEAK_ACCELERATION * abs(length) / limit))
        self._segment, self._time = _Quintic((start, 0.0, 0.0), start + length, time), 0.0

    def _heading_vector(self) -> Array:
        return np.array([cos(self.heading), sin(self.heading)])

    def _stop(self) -> None:
        self._segment = None
        self._time, self._is_turning, self._is_braking = 0.0, False, False
        self.speed = self.turn_rate = self.acceleration = self.turn_acceleration = 0.0


class _Quintic:
    """A polynomial of degree five from a place, rate and acceleration to rest."""

    def __init__(self, start: tuple[float, float, float], end: float, duration: float) -> None:
        self.duration = duration
        self._start, t = start, duration
        p, v, a = start
        rest_distance = end - p - v * t - 0.5 * a * t * t
        final_rate, final_acceleration = -v - a * t, -a
        self._coefficients = (
            (10.0 * rest_distance - 4.0 * final_rate * t + 0.5 * final_acceleration * t * t) / t**3,
            (-15.0 * rest_distance + 7.0 * final_rate * t - final_acceleration * t * t) / t**4,
            (6.0 * rest_distance - 3.0 * final_rate * t + 0.5 * final_acceleration * t * t) / t**5,
        )

    def evaluate(self, t: float) -> tuple[float, float, float]:
        """Return place, rate and acceleration."""
        (p, v, a), (c, d, e) = self._start, self._coefficients
        return (
            p + t * (v + t * (0.5 * a + t * (c + t * (d + t * e)))),
            v + t * (a + t * (3.0 * c + t * (4.0 * d + t * 5.0 * e))),
            a + t * (6.0 * c + t * (12.0 * d + t * 20.0 * e)),
        )
