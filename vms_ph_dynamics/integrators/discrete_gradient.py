# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy- and momentum-conserving schemes, with no projection, and their comparison."""

from math import copysign, sqrt

import numpy as np

from ..arrays import Array
from ..forms import Form
from .cayley import CayleyState, CayleyStepper, Guess
from .stepper import StepFailure

# Energy differences below this fraction of the energies are rounding.
_ROUNDING = 8 * np.finfo(float).eps
# The energy error of the solution is corrected if that changes the speed by less than a thousandth;
# otherwise it is kept in the solver state for the next step.
_SMALL = 1e-3
_WAITING = 1e-9


class LieMidpoint(CayleyStepper):
    """The midpoint rule on the group: exact momentum, energy to second order."""

    def _mean_angular(self, l0: Array, l1: Array, x: Array) -> Array:
        return 0.5 * (l0 + l1)


class DiscreteGradient(LieMidpoint):
    """The midpoint rule with Gonzalez' discrete gradient in the shape: exact energy as well.

    The correction ``c D dq / (dq . D dq)`` is added to the slope of the energy along the shape,
    with dq the joint displacement in the step, D the diagonal of the mass matrix with all joints at
    zero, and c such that the energy changes by the port energies (O. Gonzalez, Journal of Nonlinear
    Science 6, 1996). It is of second order, so that order and symmetry of the midpoint rule are
    preserved.
    """

    closes_balance = True

    def __init__(self, form: Form, gravity: bool = True) -> None:
        super().__init__(form, gravity)
        self.end_inertia.at(form.model.neutral_configuration())
        self._weights = self.end_inertia.diagonal()
        # Scales the multiplier to a velocity; only the magnitude matters.
        self._typical = sqrt(float(self._weights.mean()))

    def _correction(self, multiplier: float, reach: Array) -> Array:
        weighted = self._weights * reach
        square = float(reach.dot(weighted))
        if square == 0.0:
            return self.robot.nothing[self.model.b :]
        return (multiplier * self._typical / sqrt(square)) * weighted

    def _multiplier(self, x: CayleyState, end: CayleyState, guess: Guess) -> float:
        square = float(guess.reach.dot(self._weights * guess.reach))
        if square == 0.0:
            return 0.0
        k, b, nv = self.robot.k, self.model.b, self.model.nv
        energy, scale, _ = self._energy(end.q, guess.l1, end.pi)
        y = guess.velocity
        # The energy error of the midpoint rule: it vanishes with dq, for any guess.
        missed = (
            energy
            - x.energy.value
            - float(y[b:nv].dot(end.pi - x.pi) - guess.slope.dot(guess.reach))
        )
        if k:
            missed -= float(y[k:b].dot(guess.l1 - guess.l0))
        if abs(missed) <= _ROUNDING * scale:
            return 0.0
        return guess.dt * missed / (self._typical * sqrt(square))

    def _polished(self, end: CayleyState, reach: Array) -> CayleyState:
        energy, scale, velocity = self._energy(end.q, self._in_base(end.q, end.angular), end.pi)
        gap = energy - end.energy.value
        if abs(gap) <= _ROUNDING * scale:
            return end
        along: Array = np.zeros(self.model.nv)
        along[self.model.b :] = self._weights * reach
        # The kinetic energy of momentum - share * along is quadratic in the share; the small root.
        slope, bend = along.dot(velocity), along.dot(self.end_inertia.velocity(along))
        inside = slope * slope - 2.0 * bend * gap
        if abs(2.0 * bend * gap) <= _SMALL * slope * slope:
            # ``slope`` has the sign of the step.
            share = 2.0 * gap / (slope + copysign(sqrt(inside), slope))
            return end._replace(pi=end.pi - share * along[self.model.b :])
        if abs(gap) > _WAITING * scale:
            raise StepFailure(f"the solution misses an energy of {gap:.3g} J")
        return end

    def _energy(self, q: Array, angular: Array, pi: Array) -> tuple[float, float, Array]:
        """Return the energy of momenta, the size of its terms, and the velocity."""
        momentum: Array = np.zeros(self.model.nv)
        b = self.model.b
        momentum[self.robot.k : b], momentum[b:] = angular, pi
        self.end_inertia.at(q)
        velocity = self.end_inertia.velocity(momentum)
        kinetic, potential = 0.5 * float(momentum.dot(velocity)), self.robot.potential(q)
        return kinetic + potential, kinetic + abs(potential), velocity


class Variational(CayleyStepper):
    """The Hamilton-Pontryagin midpoint scheme: symplectic, with exact momentum.

    Its energy error stays bounded over long times but is of second order (Bou-Rabee and Marsden,
    Foundations of Computational Mathematics 9, 2009).
    """

    def _mean_angular(self, l0: Array, l1: Array, x: Array) -> Array:
        mean = 0.5 * (l0 + l1)
        if self.robot.k == 2:
            return mean
        # The mean of both ends is mu + x (x . mu) / 4.
        return mean - x * (float(x.dot(mean)) / (4.0 + float(x.dot(x))))
