"""The energy- and momentum-conserving schemes, with no projection, and their comparison."""

from math import copysign, sqrt

import numpy as np

from ..arrays import Array
from ..structure import Form
from .cayley import CayleyStepper

# Energy differences below this share of the energies involved are rounding.
_ROUNDING = 8 * np.finfo(float).eps
_LEFT_OVER = 1e-10


class LieMidpoint(CayleyStepper):
    """The midpoint rule on the group: momentum exact, energy kept to second order."""

    def _mean_angular(self, l0: Array, l1: Array, x: Array) -> Array:
        return 0.5 * (l0 + l1)

    def _finished(
        self, q: Array, angular: Array, pi: Array, reach: Array, energy: float
    ) -> tuple[Array, float]:
        return pi, 0.0


class DiscreteGradient(LieMidpoint):
    """The midpoint rule with Gonzalez' discrete gradient in the shape: energy exact as well.

    To the shape force comes a multiple of ``D dq``, with dq the joint motion in the step and D the
    inertia of every joint by itself with all joints at zero, such that the energy changes by the
    works of the ports (O. Gonzalez, Journal of Nonlinear Science 6, 1996). The multiple is of
    second order, so the order and the symmetry of the midpoint rule stay.
    """

    def __init__(self, form: Form, gravity: bool = True) -> None:
        super().__init__(form, gravity)
        self.end_inertia.at(form.model.neutral_configuration())
        self._weights = self.end_inertia.diagonal()

    def _finished(
        self, q: Array, angular: Array, pi: Array, reach: Array, energy: float
    ) -> tuple[Array, float]:
        robot, b = self.robot, self.model.b
        momentum, along = np.zeros(self.model.nv), np.zeros(self.model.nv)
        momentum[robot.k : b], momentum[b:] = angular, pi
        along[b:] = self._weights * reach
        self.end_inertia.at(q)
        velocity = self.end_inertia.velocity(momentum)
        kinetic, potential = 0.5 * float(momentum.dot(velocity)), robot.potential(q)
        gap = kinetic + potential - energy
        scale = abs(energy) + abs(potential) + kinetic
        if abs(gap) <= _ROUNDING * scale:
            return pi, 0.0
        # The kinetic energy of momentum - e along is quadratic in e; the small root.
        slope, bend = along.dot(velocity), along.dot(self.end_inertia.velocity(along))
        inside = slope * slope - 2.0 * bend * gap
        if inside <= 0.0:
            # No multiple gives that energy: the nearest, or none where that is not much nearer.
            # A guess on the way to the solution may ask for it; the solution must not.
            missed = gap - 0.5 * slope * slope / bend if bend > 0.0 else gap
            nearest = pi - slope / bend * along[b:] if bend > 0.0 else pi
            return nearest, missed if abs(missed) > _LEFT_OVER * scale else 0.0
        # ``slope`` has the sign of the step.
        share = 2.0 * gap / (slope + copysign(sqrt(inside), slope))
        return pi - share * along[b:], 0.0


class Variational(CayleyStepper):
    """The Hamilton-Pontryagin midpoint scheme: symplectic, momentum exact.

    Its energy error stays bounded over long times but is of second order (Bou-Rabee and Marsden,
    Foundations of Computational Mathematics 9, 2009).
    """

    def _mean_angular(self, l0: Array, l1: Array, x: Array) -> Array:
        if self.robot.k == 2:
            return 0.5 * (l0 + l1)
        # The mean of both ends is mu + x (x . mu) / 4.
        mean = 0.5 * (l0 + l1)
        return mean - x * (float(x.dot(mean)) / (4.0 + float(x.dot(x))))

    def _finished(
        self, q: Array, angular: Array, pi: Array, reach: Array, energy: float
    ) -> tuple[Array, float]:
        return pi, 0.0
