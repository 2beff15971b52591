# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The stated noise of measurements and model, from which observers derive their uncertainty."""

from dataclasses import dataclass, fields
from math import erfc, exp, lgamma, log, sqrt

import numpy as np

from vms_ph_dynamics import Array, ModelError, VMSModel
from vms_ph_dynamics.robot.joints import BASE_POSITION_SIZE


def chi_square_tail(value: float, dimension: int) -> float:
    """Return the probability that a chi-square variable exceeds a value."""
    x = 0.5 * value
    if x <= 0.0:
        return 1.0
    # Q(a + 1, x) = Q(a, x) + x^a exp(-x) / Gamma(a + 1) from Q(1/2, x) or Q(1, x) on.
    a, tail = (0.5, erfc(sqrt(x))) if dimension % 2 else (1.0, exp(-x))
    while a < 0.5 * dimension:
        tail += exp(a * log(x) - x - lgamma(a + 1.0))
        a += 1.0
    return tail


def chi_square_quantile(tail: float, dimension: int) -> float:
    """Return the value that a chi-square variable exceeds with probability ``tail``."""
    low, high = 0.0, 1.0
    while chi_square_tail(high, dimension) > tail and high < 1e6:
        high *= 2.0
    while low < (middle := 0.5 * (low + high)) < high:  # to the accuracy of a double
        if chi_square_tail(middle, dimension) > tail:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class NoiseModel:
    """Standard deviations of what an observer is given.

    Noise is independent from sample to sample and Gaussian. What ends in ``_error`` is systematic:
    unknown, but constant or slow, so that averaging does not reduce it.

    Attributes:
        velocity: of measured joint rates, rad/s or m/s.
        position: of measured joint positions, rad or m.
        torque: of the joint efforts of a sample, N m or N.
        base_linear: of the linear velocity of the base, m/s.
        base_angular: of its angular velocity, rad/s.
        force: of the force of the base's actuators, N.
        moment: of their moment, N m.
        torque_error: unknown constant joint efforts, such as of stiction and cables, N m or N.
        friction_error: share of the modelled friction that is unknown.
        model_error: share of the weight and of the inertial forces that is unknown.

    Raises:
        ModelError: a number is not finite, or negative.
    """

    velocity: float = 1e-3
    position: float = 1e-5
    torque: float = 0.1
    base_linear: float = 2e-3
    base_angular: float = 2e-3
    force: float = 0.1
    moment: float = 0.02
    torque_error: float = 0.05
    friction_error: float = 0.2
    model_error: float = 0.0

    def __post_init__(self) -> None:
        """Check that all numbers are finite and not negative."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not (np.isfinite(value) and value >= 0.0):
                raise ModelError(
                    f"{field.name} of a noise model must be finite and not negative; given: {value}"
                )

    def velocity_deviations(self, model: VMSModel) -> Array:
        """Return the standard deviations of a velocity (nv,)."""
        return _per_velocity(model, self.base_linear, self.base_angular, self.velocity)

    def position_deviations(self, model: VMSModel) -> Array:
        """Return the standard deviations of a displacement (nv,); zero for the base."""
        return _per_velocity(model, 0.0, 0.0, self.position)

    def effort_deviations(self, model: VMSModel) -> Array:
        """Return the standard deviations of the efforts (nv,)."""
        return _per_velocity(model, self.force, self.moment, self.torque)


def _per_velocity(model: VMSModel, linear: float, angular: float, joints: float) -> Array:
    size = BASE_POSITION_SIZE[model.base]
    return np.repeat([linear, angular, joints], [size, model.b - size, model.n])
