# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A hopping leg under a law that is sampled and late, and corrected from hop to hop."""

from collections import deque
from dataclasses import dataclass, replace
from math import pi, sqrt

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..leg import LegMotion, LegPrediction, LegState
from .hopping import (
    LEAST_FLIGHT,
    HopAverage,
    HoppingController,
    HopReference,
    PoseFilter,
    bounded,
    flight_force,
    neutral_angle,
    within_limits,
)

# Height of the foot from which the leg may turn, m: a floor may hold a foot that is lower.
_CLEAR = 0.003


@dataclass(frozen=True)
class HopCorrection:
    """Gains of the corrections from hop to hop.

    Attributes:
        energy: share of the missing energy of an apex that is added for the next.
        largest_energy: most that is added, as a share of the energy of the law.
        speed: angle by which the leg is commanded back for a missing speed, rad s/m.
        integral: the same, added up from hop to hop, rad s/m.
        largest_angle: most that it is commanded away, rad.
        largest_height, largest_speed: what counts at most of an error, m and m/s: how much the law
            has to settle after a start is not what it lacks in a steady gait.
    """

    energy: float = 0.4
    largest_energy: float = 0.5
    speed: float = 0.2
    integral: float = 0.1
    largest_angle: float = 0.3
    largest_height: float = 0.02
    largest_speed: float = 0.1


class HoppingOverDelay:
    """A :class:`.HoppingController` that is sampled, and told states that are late and noisy.

    In stance it is the law of the controller, in continuous time, at the state that
    :class:`.LegPrediction` gives for the middle of the sample in which its effort acts. In flight
    it leads the leg to its length and to the angle at which a stance at the present speed is
    symmetric. From hop to hop the regulated energy and the commanded angle are corrected by what
    the last flight lacked in height and speed.
    """

    def __init__(
        self,
        controller: HoppingController,
        reference: HopReference,
        late: int,
        gains: HopCorrection | None = None,
    ) -> None:
        """Construct the law.

        Args:
            controller: the law in continuous time; its gains become the corrected ones.
            reference: what to reach at every apex.
            late: samples from measurement to effort.
            gains: of the corrections from hop to hop.
        """
        self._controller, self._reference = controller, reference
        self._initial_gains = controller.gains
        self._correction = gains or HopCorrection()
        self._filter = PoseFilter(controller.leg)
        self._prediction = LegPrediction(controller.leg)
        none: Array = np.zeros(controller.model.nv)
        self._forces: deque[Array] = deque([none] * (late + 1), maxlen=late + 1)
        self._average = HopAverage(float(np.linalg.norm(controller.model.gravity)))
        self._stands, self._falls = False, True
        self._energy = self._angle = self._angle_integral = 0.0

    def update(self, motion: LegMotion, dt: float) -> Array:
        """Return the generalised force (nv,) that is held for a sample, within its limits.

        Args:
            motion: as measured, late.
            dt: the sample, s.
        """
        controller, forces = self._controller, self._forces
        leg = controller.leg
        motion = self._filter.update(motion, dt)
        if not motion.contact:
            self._average.see(leg.at(motion.q, motion.v))
        for force in list(forces)[1:]:
            motion = self._prediction.step(motion, force, dt)
        motion = self._prediction.step(motion, forces[-1], 0.5 * dt)
        state = leg.at(motion.q, motion.v)
        # A leg lands on its way down and leaves on its way up, whatever noise says near the floor.
        rises = state.centre_rate[1] > 0.0
        if self._stands and rises and not motion.contact:
            self._stands = False
        elif not self._stands and motion.contact and not rises:
            self._stands = True
            self._correct(round(LEAST_FLIGHT / dt))
        forces_of_leg = (
            self._stance(state) if self._stands else self._flight(state, len(forces) * dt)
        )
        limited = within_limits(controller.model, forces_of_leg)
        forces.append(limited)
        return limited

    def _stance(self, leg: LegState) -> Array:
        gains = self._initial_gains
        self._controller.gains = replace(
            gains, energy=gains.energy + self._energy, angle=gains.angle + self._angle
        )
        return self._controller.law.efforts(leg, True).force

    def _flight(self, leg: LegState, lag: float) -> Array:
        gains = self._initial_gains
        stiffness = (gains.radial_stiffness, gains.polar_stiffness)
        period = pi * sqrt(self._controller.model.total_mass / gains.radial_stiffness)
        near = leg.foot[1] < _CLEAR and leg.centre_rate[1] > 0.0
        speed = float(leg.centre_rate[0])
        angle = None if near else neutral_angle(speed, period, gains.length)
        return flight_force(leg, gains.length, angle, stiffness, lag)

    def _correct(self, least: int) -> None:
        """Correct the energy and the angle by what the last flight lacked."""
        mean = self._average.take(least)
        falls, self._falls = self._falls, False
        if mean is None or falls:
            return
        gains, model, want = self._correction, self._controller.model, self._reference
        weight = model.total_mass * float(np.linalg.norm(model.gravity))
        low = bounded(want.apex - mean[0], gains.largest_height)
        most = gains.largest_energy * self._initial_gains.energy
        self._energy = bounded(self._energy + gains.energy * weight * low, most)
        slow = bounded(want.speed - mean[1], gains.largest_speed)
        self._angle_integral = bounded(
            self._angle_integral - gains.integral * slow, gains.largest_angle
        )
        self._angle = bounded(self._angle_integral - gains.speed * slow, gains.largest_angle)
