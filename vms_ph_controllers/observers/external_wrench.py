# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""External forces observed from the momentum, and the wrenches that cause them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vms_ph_dynamics import Array, Evaluation, OptionError, VMSModel
from vms_ph_dynamics.errors import WithHints, check_arguments
from vms_ph_dynamics.robot.joints import BASE_POSITION_SIZE

from .impulse_balance import ExternalImpulse, ImpulseBalance


@dataclass(frozen=True, slots=True)
class ExternalForce:
    """An observed generalised force, with its uncertainty.

    Attributes:
        d: the state.
        value: (nv,) in the coordinates of the balance, N and N m.
        covariance: (nv,nv), noise and systematic errors together.
    """

    d: Evaluation
    value: Array
    covariance: Array


@check_arguments({"bandwidth": "gain gains K k frequency"})
class MomentumObserver(WithHints):
    r"""The residual of the generalised momentum, ``r = K (mu - int (known rates + r) dt)``.

    It follows the external force through a first-order filter, ``dr/dt = K (f_ext - r)``, without
    accelerations. Over a sample the mean external force y is known from the balance of momentum,
    and the filter is exact for it: ``r += (1 - exp(-K dt)) (y - r)``. The covariance of r is
    propagated with the filter: the noise of a momentum enters two samples with opposite signs and
    leaves ``(a / dt)^2`` times its covariance and a small rest; systematic errors pass in full.
    """

    HINTS: ClassVar[Mapping[str, str]] = {
        "add(impulse), with impulse = ImpulseBalance(model).add(state, effort, dt)": "update step"
    }

    def __init__(self, model: VMSModel, bandwidth: float = 30.0) -> None:
        """Observe the force on a robot.

        Args:
            model: the robot.
            bandwidth: K, 1/s.

        Raises:
            OptionError: the bandwidth is not positive and finite.
        """
        if not (np.isfinite(bandwidth) and bandwidth > 0.0):
            raise OptionError(f"the bandwidth must be positive, in 1/s; given: {bandwidth}")
        self._model, self.bandwidth = model, bandwidth
        self.restart()

    def restart(self) -> None:
        """Begin with a force of zero."""
        nv = self._model.nv
        self._force, self._slow_error = np.zeros(nv), np.zeros(nv)
        self._cov, self._effort_cov = np.zeros((nv, nv)), np.zeros((nv, nv))
        self._end_cov, self._last_gain = np.zeros((nv, nv)), 0.0

    def add(self, impulse: ExternalImpulse) -> ExternalForce:
        """Return the observed force at the end of a sample."""
        share = 1.0 - np.exp(-self.bandwidth * impulse.dt)
        decay, gain = 1.0 - share, share / impulse.dt
        if impulse.is_first:
            self._cov = self._cov + self._end_cov
            self._last_gain = 0.0
        start_gain = decay * self._last_gain - gain
        self._force = decay * self._force + gain * impulse.value
        self._cov = decay * decay * self._cov + start_gain * start_gain * impulse.start_cov
        self._last_gain = gain
        self._effort_cov = decay * decay * self._effort_cov + gain * gain * impulse.effort_cov
        self._slow_error = decay * self._slow_error + gain * impulse.slow_error
        self._end_cov = gain * gain * impulse.end_cov
        covariance = self._cov + self._effort_cov + self._end_cov + np.diag(self._slow_error**2)
        return ExternalForce(impulse.d, self._force, covariance)


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
            moment: standard deviation of its moment, N m; small for contacts at a point.
            wind_force: deviation of an external force at a moving base, such as of wind; zero where
                there is none, or where only the end effector touches anything.
            wind_moment: deviation of the moment of such a force.
        """
        self._balance, model = balance, balance.model
        b = self._base_size = model.b if wind_force > 0.0 or wind_moment > 0.0 else 0
        linear_size = BASE_POSITION_SIZE[model.base] if b else 0
        prior = [force] * 3 + [moment] * 3
        prior += [wind_force] * linear_size + [wind_moment] * (b - linear_size)
        self._prior_information = np.diag(1.0 / np.square(np.maximum(prior, _SMALLEST_DEVIATION)))

    def estimate(self, observed_force: ExternalForce) -> WrenchEstimate:
        """Return the wrenches of an observed force."""
        model: VMSModel = self._balance.model
        d, b = observed_force.d, model.b
        jacobian = d.J_end_effector
        if self._base_size:
            jacobian = np.vstack([jacobian, np.eye(model.nv)[:b]])
        force_map = self._balance.force_map(d, jacobian)
        # A state without any noise leaves no covariance to invert.
        variance_floor = 1e-12 * (1.0 + np.trace(observed_force.covariance))
        information = np.linalg.inv(observed_force.covariance + variance_floor * np.eye(model.nv))
        covariance = np.linalg.inv(force_map.T @ information @ force_map + self._prior_information)
        covariance = 0.5 * (covariance + covariance.T)
        wrench = covariance @ (force_map.T @ (information @ observed_force.value))
        base_wrench, base_covariance = np.zeros(b), np.zeros((b, b))
        if self._base_size:
            base_wrench, base_covariance = wrench[6:], covariance[6:, 6:]
        return WrenchEstimate(wrench[:6], covariance[:6, :6], base_wrench, base_covariance)
