# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""External wrenches at the end effector and at the base, from an observed generalised force."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, VMSModel

from .impulse_balance import ImpulseBalance
from .momentum_observer import ExternalForce
from .noise import LINEAR

# Least standard deviation of a wrench before anything is measured, N and N m.
_SMALLEST_DEVIATION = 1e-6


@dataclass(frozen=True, slots=True)
class WrenchEstimate:
    """Observed wrenches with their covariances, linear first, N and N m.

    Attributes:
        end_effector: (6,) on the end effector in its own axes.
        covariance: (6,6); as large as the prior in directions that the joints do not feel.
        base: (b,) on the base in base axes; zero where it is not estimated.
        covariance_base: (b,b).
    """

    end_effector: Array
    covariance: Array
    base: Array
    covariance_base: Array

    @property
    def deviation(self) -> Array:
        """Standard deviations of the end-effector wrench, (6,)."""
        return np.sqrt(np.diag(self.covariance))


class WrenchMap:
    """Distributes an observed force over the ports that external wrenches may act at.

    The weighted least squares ``min |r - B w|_R^-1 + |w|_P^-1`` with the covariance R of the
    observed force and a wide prior P of the wrenches. The base rows of a moving base contain the
    resultant of both wrenches; the joint rows feel the end effector alone and separate them, as far
    as their map has rank.
    """

    def __init__(
        self,
        balance: ImpulseBalance,
        force: float = 300.0,
        moment: float = 60.0,
        wind_force: float = 10.0,
        wind_moment: float = 1.0,
    ) -> None:
        """Map the forces of a balance.

        Args:
            balance: whose coordinates the forces have.
            force: standard deviation of the force at the end effector before anything is measured,
                N.
            moment: the same of its moment, N m; small for contacts at a point.
            wind_force: the same of an external force at a moving base, such as of wind; zero where
                there is none, or where only the end effector touches anything.
            wind_moment: the same of its moment.
        """
        self._balance, model = balance, balance.model
        b = self._wind = model.b if wind_force > 0.0 or wind_moment > 0.0 else 0
        linear = LINEAR[model.base] if b else 0
        prior = [force] * 3 + [moment] * 3
        prior += [wind_force] * linear + [wind_moment] * (b - linear)
        self._prior = np.diag(1.0 / np.square(np.maximum(prior, _SMALLEST_DEVIATION)))

    def estimate(self, observed: ExternalForce) -> WrenchEstimate:
        """Return the wrenches of an observed force."""
        model: VMSModel = self._balance.model
        d, b = observed.d, model.b
        jacobian = d.J_end_effector
        if self._wind:
            at_base = np.eye(model.nv)[:b]
            jacobian = np.vstack([jacobian, at_base])
        columns = self._balance.force_map(d, jacobian)
        # A state without any noise leaves no covariance to invert.
        floor = 1e-12 * (1.0 + np.trace(observed.covariance))
        weight = np.linalg.inv(observed.covariance + floor * np.eye(model.nv))
        covariance = np.linalg.inv(columns.T @ weight @ columns + self._prior)
        covariance = 0.5 * (covariance + covariance.T)
        wrench = covariance @ (columns.T @ (weight @ observed.value))
        at_base, spread = np.zeros(b), np.zeros((b, b))
        if self._wind:
            at_base, spread = wrench[6:], covariance[6:, 6:]
        return WrenchEstimate(wrench[:6], covariance[:6, :6], at_base, spread)
