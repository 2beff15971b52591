# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The mass and centre of mass of a payload, observed online from the balance of momentum."""

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np

from vms_ph_dynamics import Evaluation
from vms_ph_dynamics.arrays import Array

from .chi_square import chi_square_quantile
from .impulse_balance import ExternalImpulse, ImpulseBalance
from .noise import LINEAR
from .payload_regressor import PARAMETERS, body_momentum, payload_regressor

# Time for which an error of friction or of the model keeps its sign, s.
_CORRELATED = 0.2

# Bandwidth of the tracking of the velocity, 1/s, and its largest product with a sample.
_TRACKING, _FASTEST = 80.0, 0.4

# Factor of all deviations: noise of the velocity that reaches the regressors is in no covariance.
_MARGIN = 2.0

# Probability in one sample that noise alone passes for a change of the payload.
_CHANGE = 1e-10


@dataclass(frozen=True, slots=True)
class Payload:
    """An observed payload.

    Attributes:
        mass: kg.
        moment: (3,) first moment of mass, mass times centre of mass, kg m.
        covariance: (4,4) of mass and moment.
        changed: whether a change was noticed in this sample, after which the observation began
            anew.
    """

    mass: float
    moment: Array
    covariance: Array
    changed: bool

    @property
    def mass_deviation(self) -> float:
        """Standard deviation of the mass, kg."""
        return sqrt(self.covariance[0, 0])

    @property
    def centre(self) -> Array:
        """Centre of mass from the origin of the end effector, in its axes, (3,), m."""
        return self.moment / self.mass if self.mass > 0.0 else np.zeros(3)

    @property
    def centre_deviation(self) -> Array:
        """Standard deviations of the centre of mass, (3,), m; infinite without a mass."""
        if self.mass <= 0.0:
            return np.full(3, np.inf)
        slope = np.column_stack([-self.centre, np.eye(3)]) / self.mass
        return np.sqrt(np.diag(slope @ self.covariance @ slope.T))


class PayloadObserver:
    """Kalman filter of the momentum that a payload takes from the robot.

    The sum z of all external impulses is measured with the noise of one momentum, however long it
    has grown. Its model is ``z' = Y(q, v) phi + beta`` with the ten inertial parameters phi of the
    payload and slow unknown efforts beta, whose prior is the ``torque_error`` of the noise model.

    A wrench of another origin that acts as long as the observation, such as of a table under the
    load, counts as payload.
    """

    def __init__(
        self,
        balance: ImpulseBalance,
        mass: float = 10.0,
        reach: float = 0.2,
        wind: float = 0.5,
    ) -> None:
        """Observe the payload at the end effector.

        Args:
            balance: of momentum, in standard coordinates.
            mass: standard deviation of the mass before anything is measured, kg.
            reach: standard deviation of the distance of its parts from the end effector, m.
            wind: standard deviation of the external force on a moving base, N; of the moment a
                fifth of it, N m.
        """
        model = self._model = balance.model
        nv, b = model.nv, model.b
        self._error = balance.noise.torque_error
        moment = mass * reach
        spread = np.array([mass] + [moment] * 3 + [0.25 * moment * reach] * 6)
        slow = np.full(nv, self._error)
        linear = LINEAR[model.base]
        slow[:linear], slow[linear:b] = wind, 0.2 * wind
        self._prior = np.concatenate([np.zeros(nv), slow, spread]) ** 2
        self._limit = chi_square_quantile(_CHANGE, nv)
        self.restart()

    def restart(self) -> None:
        """Forget payload and offsets."""
        size = 2 * self._model.nv + PARAMETERS
        self._mean, self._covariance = np.zeros(size), np.diag(self._prior)
        self._sum: Array | None = None
        self._last: tuple[Array, Array] | None = None
        self._velocity: Array | None = None

    def expect_change(self) -> None:
        """Forget the payload, because it is about to change, and keep the offsets."""
        nv = self._model.nv
        payload = slice(2 * nv, None)
        self._covariance[payload] = 0.0
        self._covariance[:, payload] = 0.0
        self._covariance[payload, payload] = np.diag(self._prior[payload])
        # The sum begins anew with the noise of one momentum.
        self._sum = None

    def add(self, impulse: ExternalImpulse) -> Payload:
        """Return the payload observed up to the end of a sample."""
        nv, dt = self._model.nv, impulse.dt
        if impulse.begins:
            self._sum = self._last = self._velocity = None
        predicted = self._predicted(impulse)
        momentum, rate = payload_regressor(predicted)
        last, self._last = self._last, (momentum, rate)
        if last is None:
            return self._payload(False)
        if self._sum is None:
            self._sum = np.zeros(nv)
            self._mean[:nv] = 0.0
            self._covariance[:nv], self._covariance[:, :nv] = 0.0, 0.0
            self._covariance[:nv, :nv] = impulse.before
        self._sum = self._sum + impulse.value
        taken = 0.5 * dt * (last[1] + rate) - (momentum - last[0])
        step = np.concatenate([dt * np.eye(nv), taken], axis=1)
        self._mean[:nv] += step @ self._mean[nv:]
        p = self._covariance
        across = step @ p[nv:]
        p[:nv] += across
        p[:, :nv] += p[:, nv:] @ step.T
        wandering = np.maximum(impulse.systematic - dt * self._error, 0.0)
        p[:nv, :nv] += impulse.held
        p[np.arange(nv), np.arange(nv)] += wandering**2 * (2.0 * _CORRELATED / dt)
        innovation = self._sum - self._mean[:nv]
        missed = self._missed(predicted, impulse.d.v - predicted.v)
        # An error of the tracking lasts for several samples, and counts once.
        lasting = 1.0 + 2.0 / min(_TRACKING * dt, _FASTEST)
        spread = p[:nv, :nv] + impulse.after + lasting * np.outer(missed, missed)
        weighted = np.linalg.solve(spread, np.column_stack([p[:nv], innovation]))
        if float(innovation @ weighted[:, -1]) > self._limit:
            self.expect_change()
            return self._payload(True)
        gain = weighted[:, :-1]
        self._mean = self._mean + gain.T @ innovation
        p = p - gain.T @ p[:nv]
        self._covariance = 0.5 * (p + p.T)
        return self._payload(False)

    def _predicted(self, impulse: ExternalImpulse) -> Evaluation:
        """Return the state with the velocity expected from the samples before it.

        The momentum of the payload is a regressor. With the measured velocity its noise would be
        that of the measurement, and the estimate would be biased towards the negative of the
        robot's own inertia.
        """
        d, dt = impulse.d, impulse.dt
        if self._velocity is None:
            self._velocity, self._acceleration = d.v, np.zeros(len(d.v))
        expected = self._velocity + dt * self._acceleration
        fade = exp(-min(_TRACKING * dt, _FASTEST))
        error = d.v - expected
        self._velocity = expected + (1.0 - fade * fade) * error
        self._acceleration = self._acceleration + (1.0 - fade) ** 2 / dt * error
        return Evaluation(self._model, d.q, expected)

    def _missed(self, d: Evaluation, error: Array) -> Array:
        """Return the momentum of the payload at a velocity error, (nv,)."""
        jacobian = d.J_end_effector
        at_body = body_momentum(*np.split(jacobian @ error, 2))
        return jacobian.T @ (at_body @ self._mean[2 * self._model.nv :])

    def _payload(self, changed: bool) -> Payload:
        first = 2 * self._model.nv
        seen = slice(first, first + 4)
        mean = self._mean[seen]
        return Payload(
            float(mean[0]), mean[1:].copy(), _MARGIN**2 * self._covariance[seen, seen], changed
        )
