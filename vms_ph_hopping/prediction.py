# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Where a leg is after a short time, by a model of it and a foot that does not slip."""

from typing import NamedTuple

import numpy as np

from vms_ph_dynamics.arrays import Array

from .leg import Leg, LegDynamics


class LegMotion(NamedTuple):
    """The motion of a leg, and whether its foot stands.

    Attributes:
        q, v: (nq,), (nv,) configuration and velocity.
        contact: whether the floor pushes.
    """

    q: Array
    v: Array
    contact: bool


class LegPrediction:
    """Predicts a leg over the time from a measurement to the effort computed from it.

    Time stepping after Moreau: the foot that reaches the floor stops without a rebound, and stays
    at rest as long as the floor would push. A rigid floor needs no stiffness that a law would have
    to know, and the height of the foot, which is measured with an error, does not become a force.

    Args:
        leg: the robot, as the law knows it.
    """

    def __init__(self, leg: Leg) -> None:
        self._leg = leg

    def step(self, motion: LegMotion, force: Array, h: float) -> LegMotion:
        """Return the motion after a time.

        Args:
            motion: now.
            force: (nv,) generalised force of the actuators, held over the step, N and N m.
            h: the time, s.
        """
        leg = self._leg.dynamics(motion.q, motion.v)
        height, sinking = float(leg.foot[1]), -float(leg.foot_rate[1])
        if not motion.contact and 0.0 < height < h * sinking:
            # The foot lands within the step, and the leg is shortened only from then on.
            falls = height / sinking
            landed = self._over(motion, leg, force, falls)
            return self._over(
                landed, self._leg.dynamics(landed.q, landed.v), force, h - falls, True
            )
        return self._over(motion, leg, force, h, motion.contact or height < 0.0)

    def _over(
        self, motion: LegMotion, leg: LegDynamics, force: Array, h: float, may_push: bool = False
    ) -> LegMotion:
        """Return the motion after a time in which the floor pushes either always or never."""
        after, contact = motion.v + h * np.linalg.solve(leg.M, force - leg.bias), False
        if may_push:
            rows = leg.J_foot[:2]
            pushed = np.linalg.solve(leg.M, rows.T)
            impulse = -np.linalg.solve(rows @ pushed, rows @ after)
            if impulse[1] > 0.0:
                after, contact = after + pushed @ impulse, True
        # The mean velocity is of second order, except over the jump of an impact.
        mean = 0.5 * (motion.v + after) if contact == motion.contact else after
        place = self._leg.coordinates(motion.q)
        place = place + h * self._leg.coordinate_rates(place, mean)
        return LegMotion(self._leg.configuration(place), after, contact)
