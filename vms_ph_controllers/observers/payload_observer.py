# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The mass and centre of mass of a payload, observed online from the balance of momentum."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, Evaluation
from vms_ph_dynamics.robot.joints import BASE_POSITION_SIZE
from vms_ph_dynamics.robot.kinematic_tree import PARAMETERS

from .impulse_balance import ExternalImpulse, ImpulseBalance
from .motion_window import MotionWindow, SmoothedFrame
from .noise import chi_square_quantile

_AT_REST = pin.Motion.Zero()


def payload_regressor(d: Evaluation) -> tuple[Array, Array]:
    """Return the regressors of the generalised momentum of a payload and of its rate.

    With the Jacobian J and twist ``V = (v, w)`` of the end effector in its own axes, the momentum
    of the payload is ``h = (m v + w x m c, m c x v + I w)``, its generalised momentum ``J^T h``,
    and without other forces ``d(J^T h)/dt = dJ^T/dt h + J^T (ad_V^T h + weight)``.

    Args:
        d: the state of the robot.

    Returns:
        momentum: (nv,10), to be multiplied by the parameters about the origin of the end effector.
        rate: (nv,10).
    """
    model = d.model
    jacobian = d.J_end_effector
    jacobian_rate = d.jacobian_rate(model.end_effector_id)
    twist = pin.Motion(jacobian @ d.v)
    momentum = pin.bodyRegressor(_AT_REST, twist)
    gravity = model.gravity @ d.placement(model.end_effector)[:3, :3]
    force = -pin.bodyRegressor(twist, pin.Motion(-gravity, np.zeros(3)))  # ad_V^T h + weight
    return jacobian.T @ momentum, jacobian_rate.T @ momentum + jacobian.T @ force


# Time for which an error of friction or of the model keeps its sign, s.
_PERSISTENCE = 0.2

# Smallest standard deviation of anything before it is measured, and of a velocity, in their units.
_LEAST_DEVIATION, _LEAST_NOISE = 1e-6, 1e-9

# Standard deviations before anything is measured: of the mass, kg, of the distance of its parts
# from the end effector, m, and of the external force on a moving base, N; of its moment a fifth.
_PRIOR_MASS, _PRIOR_REACH, _PRIOR_WIND = 10.0, 0.2, 0.5

# Probability in one sample that noise alone passes for a change of the payload.
_FALSE_CHANGE_RATE = 1e-10


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
        derivative = np.column_stack([-self.centre, np.eye(3)]) / self.mass
        return np.sqrt(np.diag(derivative @ self.covariance @ derivative.T))


class PayloadObserver:
    """Least squares of the momentum that a payload takes from the robot.

    The sum z of all external impulses is measured with the noise of one momentum, however long it
    has grown. Its model is ``z' = Y(q, v) phi + beta`` with the ten inertial parameters phi of the
    payload and slow unknown efforts beta, whose prior is the ``torque_error`` of the noise model.

    A Kalman filter of z alone, for no payload and no slow efforts, leaves innovations whose noise
    is white, and whose mean is ``H theta`` with ``theta = (beta, phi)``: what is known of theta is
    the sum of their information (separate-bias estimation, Friedland 1969). Information is only
    added, so that no digits are lost where a wide prior meets precise measurements.

    The velocities of the regressors are those of ``MotionWindow``, so that the payload of a
    sample is known half a window later, 50 ms at 200 Hz and above.

    A wrench of another origin that acts as long as the observation, such as of a table under the
    load, counts as payload.
    """

    def __init__(self, balance: ImpulseBalance) -> None:
        """Observe the payload at the end effector by a balance in standard coordinates."""
        model = self._model = balance.model
        nv, b = model.nv, model.b
        self._torque_error = balance.noise.torque_error
        velocity_deviations = np.maximum(balance.noise.velocity_deviations(model), _LEAST_NOISE)
        self._variance = velocity_deviations**2
        moment = _PRIOR_MASS * _PRIOR_REACH
        parameter_deviations = [_PRIOR_MASS] + [moment] * 3 + [0.25 * moment * _PRIOR_REACH] * 6
        deviations = np.concatenate([np.full(nv, self._torque_error), parameter_deviations])
        linear_size = BASE_POSITION_SIZE[model.base]
        deviations[:linear_size], deviations[linear_size:b] = _PRIOR_WIND, 0.2 * _PRIOR_WIND
        self._prior_information = np.maximum(deviations, _LEAST_DEVIATION) ** -2.0
        self._change_threshold = chi_square_quantile(_FALSE_CHANGE_RATE, nv)
        self._window = MotionWindow(velocity_deviations)
        self.restart()

    def restart(self) -> None:
        """Forget payload and offsets."""
        zeros = np.zeros(self._model.nv + PARAMETERS)
        self._information, self._information_vector = np.diag(self._prior_information), zeros
        self._restart_frames()
        self._solve()

    def add(self, impulse: ExternalImpulse) -> Payload:
        """Return the payload observed half a window before the end of a sample."""
        if impulse.is_first:
            self._restart_frames()
        smoothed_frame = self._window.add(impulse)
        try:
            return self._payload(False if smoothed_frame is None else self._observe(smoothed_frame))
        except np.linalg.LinAlgError:
            self.restart()  # after states that no robot can have nothing is known
            return self._payload(False)

    def _restart_frames(self) -> None:
        """Begin at the next frame, with what is known."""
        self._window.restart()
        self._has_sum = False
        self._last_end: _FrameEnd | None = None

    def _forget_payload(self) -> None:
        nv = self._model.nv
        matrix, vector = self._information, self._information_vector
        result = np.linalg.solve(matrix[nv:, nv:], np.column_stack([matrix[nv:, :nv], vector[nv:]]))
        matrix[:nv, :nv] -= matrix[:nv, nv:] @ result[:, :nv]
        vector[:nv] -= matrix[:nv, nv:] @ result[:, nv]
        matrix[nv:], matrix[:, nv:], vector[nv:] = 0.0, 0.0, 0.0
        matrix[nv:, nv:] = np.diag(self._prior_information[nv:])
        # The sum begins anew with the noise of one momentum.
        self._has_sum = False
        self._solve()

    def _observe(self, smoothed_frame: SmoothedFrame) -> bool:
        """Take a frame into account; return whether the payload has changed."""
        nv, frame = self._model.nv, smoothed_frame.frame
        start, end = self._last_end, self._frame_end(smoothed_frame)
        self._last_end = end
        if start is None:
            return False
        if not self._has_sum:
            self._has_sum = True
            self._impulse_sum, self._filtered_sum = np.zeros(nv), np.zeros(nv)
            self._H = np.zeros((nv, nv + PARAMETERS))
            self._sum_covariance = start.cov.copy()
        dt = frame.dt
        self._impulse_sum = self._impulse_sum + frame.impulse
        self._H[:, :nv] += dt * np.eye(nv)
        self._H[:, nv:] += 0.5 * dt * (start.rate + end.rate) - (end.momentum - start.momentum)
        bias = np.maximum(frame.slow_error - dt * self._torque_error, 0.0)
        P = self._sum_covariance
        P[np.arange(nv), np.arange(nv)] += frame.effort_var + bias**2 * (2.0 * _PERSISTENCE / dt)
        S = P + end.cov + smoothed_frame.error_frames * np.outer(end.fit_error, end.fit_error)
        innovation = self._impulse_sum - self._filtered_sum
        misfit = innovation - self._H @ self._theta
        predicted_spread = self._H @ self._theta_covariance @ self._H.T
        if float(misfit @ np.linalg.solve(S + predicted_spread, misfit)) > self._change_threshold:
            self._forget_payload()
            return True
        solution = np.linalg.solve(S, np.column_stack([self._H, innovation, P]))
        weighted_H, weighted_innovation, weighted_P = np.split(solution, [-nv - 1, -nv], axis=1)
        self._information += self._H.T @ weighted_H
        self._information_vector += self._H.T @ weighted_innovation[:, 0]
        gain = weighted_P.T
        self._filtered_sum = self._filtered_sum + gain @ innovation
        self._H = self._H - gain @ self._H
        P = P - gain @ P
        self._sum_covariance = 0.5 * (P + P.T)
        self._solve()
        return False

    def _frame_end(self, smoothed_frame: SmoothedFrame) -> "_FrameEnd":
        """Return what the model says of the end of a frame."""
        d = Evaluation(self._model, smoothed_frame.frame.q, smoothed_frame.velocity)
        momentum, rate = payload_regressor(d)
        jacobian, parameters = d.J_end_effector, self._theta[self._model.nv :]
        unit_regressors = (pin.bodyRegressor(_AT_REST, pin.Motion(unit)) for unit in np.eye(6))
        M_load = jacobian.T @ np.array([Y @ parameters for Y in unit_regressors]) @ jacobian
        # The noise of the smoothed velocity is the same for many frames, which add up as if it
        # were not.
        repetition = smoothed_frame.error_frames * smoothed_frame.variance_share
        cov = (d.M * self._variance) @ d.M.T + repetition * (M_load * self._variance) @ M_load.T
        return _FrameEnd(momentum, rate, cov, M_load @ smoothed_frame.fit_error)

    def _solve(self) -> None:
        """Find mean and covariance; the scale of the unknowns differs by many orders."""
        scale = 1.0 / np.sqrt(np.diag(self._information))
        inverse = np.linalg.inv(self._information * np.outer(scale, scale))
        self._theta_covariance = 0.5 * (inverse + inverse.T) * np.outer(scale, scale)
        if not (np.diag(self._theta_covariance) > 0.0).all():
            raise np.linalg.LinAlgError("the covariance is not positive")
        self._theta = self._theta_covariance @ self._information_vector

    def _payload(self, changed: bool) -> Payload:
        nv = self._model.nv
        payload_rows = slice(nv, nv + 4)
        estimate = self._theta[payload_rows]
        covariance = self._theta_covariance[payload_rows, payload_rows].copy()
        return Payload(float(estimate[0]), estimate[1:].copy(), covariance, changed)


@dataclass(frozen=True, slots=True)
class _FrameEnd:
    """What the model says of the end of a frame.

    Attributes:
        momentum, rate: (nv,10) regressors of the payload's momentum and of its rate.
        cov: (nv,nv) covariance of the momenta of robot and payload by noise of the velocity.
        fit_error: (nv,) momentum of the payload at the error of the smoothing.
    """

    momentum: Array
    rate: Array
    cov: Array
    fit_error: Array
