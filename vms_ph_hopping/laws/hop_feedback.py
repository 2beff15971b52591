# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What laws of hopping legs share that are sampled and late: filters, the flight, the reference."""

from dataclasses import dataclass
from math import asin, pi

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array

from ..leg import Leg, LegState
from ..prediction import LegMotion

LEAST_FLIGHT = 0.05
"""Shortest flight whose apex and speed are used, s."""

# Share of the distance to the measured pose that a filtered pose moves in a sample.
_SHARE = 0.1
# Largest rate of the motions of a leg in flight by the time from measurement to effort; a
# critically damped loop with that lag alone becomes unstable at about twice this.
_FLIGHT = 0.4


@dataclass(frozen=True)
class HopReference:
    """What a leg is to reach at the top of every hop.

    Attributes:
        apex: height of the centre of mass, m.
        speed: along x, m/s.
    """

    apex: float
    speed: float = 0.0


class PoseFilter:
    """The pose by the measured velocity, led slowly to the measured pose.

    It needs no model, and thus lets no wrong mass into the state: noise of the pose is averaged
    over some samples, and its motion is that of the velocity without a lag.
    """

    def __init__(self, leg: Leg) -> None:
        self._leg = leg
        self._place: Array | None = None
        self._v: Array = np.zeros(leg.model.nv)

    def update(self, motion: LegMotion, dt: float) -> LegMotion:
        """Return the motion with the pose filtered, for the time since the last one, s."""
        leg, seen, v = self._leg, self._leg.coordinates(motion.q), motion.v
        if self._place is None:
            place = seen
        else:
            place = self._place + dt * leg.coordinate_rates(self._place, 0.5 * (self._v + v))
            away = seen - place
            away[2] = (away[2] + pi) % (2.0 * pi) - pi
            place = place + _SHARE * away
        self._place, self._v = place, v
        return LegMotion(leg.configuration(place), v, motion.contact)


class HopAverage:
    """The height of the apex and the speed of a flight, averaged over its samples."""

    def __init__(self, gravity: float) -> None:
        self._gravity, self._count = gravity, 0
        self._sum = np.zeros(2)

    def see(self, leg: LegState) -> None:
        """Take a sample of the flight."""
        apex = float(leg.centre[1]) + 0.5 * float(leg.centre_rate[1]) ** 2 / self._gravity
        self._sum += (apex, float(leg.centre_rate[0]))
        self._count += 1

    def take(self, least: int) -> Array | None:
        """Return apex (m) and speed (m/s) and begin anew; None for fewer samples than ``least``."""
        found = self._sum / self._count if self._count >= least else None
        self._count, self._sum = 0, np.zeros(2)
        return found


def flight_force(
    leg: LegState, length: float, angle: float | None, stiffness: tuple[float, float], lag: float
) -> Array:
    """Return the force (nv,) that leads length and angle of a leg in flight, critically damped.

    The stiffness is reduced to what the lag allows: the leg alone is much lighter than the robot
    that it carries in stance.

    Args:
        leg: its state.
        length: wanted, m.
        angle: wanted, rad; None leaves the angle alone, and the base without a moment.
        stiffness: largest, N/m and N m/rad.
        lag: from measurement to effort, s.
    """
    led = [leg.J_length] if angle is None else [leg.J_length, leg.J_angle]
    rows, size = np.stack(led), len(led)
    inertia = np.linalg.inv(rows @ np.linalg.solve(leg.M, rows.T))
    rates = np.minimum(np.sqrt(np.array(stiffness[:size]) / np.diag(inertia)), _FLIGHT / lag)
    away = np.array([leg.length - length, leg.angle - (angle or 0.0)])[:size]
    moving = np.array([leg.length_rate, leg.angle_rate])[:size]
    force: Array = rows.T @ (inertia @ (-(rates**2) * away - 2.0 * rates * moving))
    return force


def neutral_angle(speed: float, period: float, length: float) -> float:
    """Return the angle of a leg at touch-down from which it swings symmetrically, rad.

    Args:
        speed: of the centre of mass along x, m/s.
        period: duration of the stance, s.
        length: of the leg, m.
    """
    return asin(bounded(0.5 * speed * period / length, 0.5))


def within_limits(model: VMSModel, force: Array) -> Array:
    """Return a generalised force (nv,) with the joint efforts within their limits."""
    limit, b = model.joints.effort, model.b
    return np.concatenate([force[:b], np.clip(force[b:], -limit, limit)])


def bounded(value: float, most: float) -> float:
    """Return the nearest number in [-most, most]."""
    return min(max(value, -most), most)
