# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The usual alternative for a hopping leg: three independent parts, after Raibert."""

from dataclasses import dataclass
from math import cos, pi, sqrt

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_hopping import Leg, LegMotion, LegState
from vms_ph_hopping.laws.hopping import (
    LEAST_FLIGHT,
    HopAverage,
    HopReference,
    PoseFilter,
    bounded,
    flight_force,
    neutral_angle,
    within_limits,
)


@dataclass(frozen=True)
class RaibertGains:
    """Gains of a :class:`RaibertHopper`.

    Attributes:
        stiffness: of the leg in stance, N/m.
        length: of the leg in flight, m.
        swing: largest stiffness of its angle in flight, N m/rad.
        thrust: by which the leg is extended from its shortest length on, m, at the start.
        height: extension for a missing height of the last apex, m/m.
        height_integral: the same, added up from hop to hop, m/m.
        placement: angle by which the foot is placed ahead for an excess of speed, rad s/m.
        integral: the same, added up from hop to hop, rad s/m.
        largest_thrust: extension, or shortening, m.
        largest_angle: of the placement, rad.
        largest_height, largest_speed: what counts at most of an error, m and m/s.
    """

    stiffness: float
    length: float
    swing: float = 6.0
    thrust: float = 0.002
    height: float = 0.07
    height_integral: float = 0.025
    placement: float = 0.1
    integral: float = 0.03
    largest_thrust: float = 0.03
    largest_angle: float = 0.3
    largest_height: float = 0.03
    largest_speed: float = 0.1


class RaibertHopper:
    """Hopping by three parts that ignore each other [M. H. Raibert, Legged Robots That Balance].

    Thrust: in stance the leg is a spring, extended from its shortest length to lift-off; the
    extension is corrected by the height of the last apex. Speed: the foot is placed at the neutral
    point of the present speed, and ahead of it for an excess of speed. Posture: in flight length
    and angle of the leg are servoed; a leg without a body has no attitude to hold in stance. The
    law is told the delay, and continues every coordinate over it by its own rate.
    """

    def __init__(self, leg: Leg, reference: HopReference, late: int, gains: RaibertGains) -> None:
        """Construct the law.

        Args:
            leg: the robot, as the law knows it.
            reference: what to reach at every apex.
            late: samples from measurement to effort.
            gains: its gains.
        """
        self._leg, self._reference, self._late, self._gains = leg, reference, late, gains
        self._gravity = float(np.linalg.norm(leg.model.gravity))
        self._average, self._filter = HopAverage(self._gravity), PoseFilter(leg)
        self._stands, self._thrust, self._placed = False, gains.thrust, 0.0
        self._added = 0.0

    def update(self, motion: LegMotion, dt: float) -> Array:
        """Return the generalised force (nv,) that is held; see :meth:`.HoppingOverDelay.update`."""
        leg = self._leg
        motion = self._filter.update(motion, dt)
        if not motion.contact:
            self._average.see(leg.at(motion.q, motion.v))
        state = self._predicted(motion, (self._late + 0.5) * dt)
        rises = state.centre_rate[1] > 0.0
        if self._stands and rises and state.length >= self._gains.length + self._thrust:
            self._stands = False
        elif not self._stands and not rises and (motion.contact or state.foot[1] < 0.0):
            self._stands = True
            self._correct(round(LEAST_FLIGHT / dt))
        # A foot that is known to have landed before it is measured: the leg is no longer than its
        # distance from the floor.
        length = state.length
        if not motion.contact:
            length = min(length, float(state.centre[1]) / cos(state.angle))
        force = (
            self._stance(state, length)
            if self._stands
            else self._flight(state, (self._late + 1) * dt)
        )
        return within_limits(leg.model, force)

    def _predicted(self, motion: LegMotion, lag: float) -> LegState:
        leg = self._leg
        coordinates = leg.coordinates(motion.q)
        coordinates = coordinates + lag * leg.coordinate_rates(coordinates, motion.v)
        return leg.at(leg.configuration(coordinates), motion.v)

    def _stance(self, leg: LegState, length: float) -> Array:
        gains = self._gains
        rest = gains.length + (self._thrust if leg.centre_rate[1] > 0.0 else 0.0)
        force: Array = -gains.stiffness * (length - rest) * leg.J_length
        return force

    def _flight(self, leg: LegState, lag: float) -> Array:
        gains = self._gains
        speed = float(leg.centre_rate[0])
        period = pi * sqrt(self._leg.model.total_mass / gains.stiffness)
        angle = neutral_angle(speed, period, gains.length) + self._placed
        angle += gains.placement * (speed - self._reference.speed)
        angle = bounded(angle, gains.largest_angle)
        return flight_force(leg, gains.length, angle, (gains.stiffness, gains.swing), lag)

    def _correct(self, least: int) -> None:
        average = self._average.take(least)
        if average is None:
            return
        gains, want = self._gains, self._reference
        low = bounded(want.apex - average[0], gains.largest_height)
        self._added += gains.height_integral * low
        thrust = gains.thrust + self._added + gains.height * low
        self._thrust = bounded(thrust, gains.largest_thrust)
        self._placed += gains.integral * bounded(average[1] - want.speed, gains.largest_speed)
