# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The impulse of external forces over a sample, from the balance of momentum."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from vms_ph_dynamics import Array, Evaluation, Friction, OptionError, Ports, VMSModel

from ..controller import RobotState
from .noise import NoiseModel

Coordinates = Literal["standard", "decoupled"]


@dataclass(frozen=True, slots=True)
class ExternalImpulse:
    """The impulse of the external forces over one sample, with its uncertainty.

    Attributes:
        d: the state at the end of the sample.
        dt: its duration, s.
        value: (nv,) in N s and N m s, in the coordinates of the balance.
        start_cov, end_cov: (nv,nv) covariances of the momenta at both ends by noise. The one at
            the start is that at the end of the sample before, with the opposite sign.
        effort_cov: (nv,nv) covariance of the impulse by noise of the efforts.
        slow_error: (nv,) standard deviations of slow errors, which add up over samples.
        effort: (nv,) mean efforts over the sample, base wrench first.
        friction: (nv,) mean friction over the sample.
        is_first: whether it is the first sample after a beginning: there is none right before it.
    """

    d: Evaluation
    dt: float
    value: Array
    start_cov: Array
    end_cov: Array
    effort_cov: Array
    slow_error: Array
    effort: Array
    friction: Array
    is_first: bool


@dataclass(frozen=True, slots=True)
class _SampleEnd:
    """What the balance needs of one end of a sample; ``transform`` maps standard to its forces."""

    d: Evaluation
    momentum: Array
    covariance: Array
    rate: Array
    friction: Array
    transform: Array


class ImpulseBalance:
    """Momentum gained over a sample, less the impulse of everything that is known.

    In the standard coordinates ``mu = M v = (p, pi)`` [A (45), (46)],
    ``d mu/dt = C^T v - g + friction + effort + external``. In the decoupled ones ``(p, pi_hat)``
    [A (56), (59)] the rate of ``pi_hat`` is the joint rows less ``A^T`` times the base rows, less
    ``(dA/dt)^T p``. There the joint rows of the momentum are ``M_hat_m qdot``: an error of the
    measured base velocity does not enter them. The base rows are the same in both and contain
    ``M_bm qdot``: the reaction of an arm that moves is no external force in either.

    Efforts that are held, or given by their mean over the sample, enter the standard coordinates
    without error. The other terms are continuous in time and are integrated by the trapezoidal
    rule; the second difference of the rates estimates its error.
    """

    def __init__(
        self,
        model: VMSModel,
        noise: NoiseModel | None = None,
        coordinates: Coordinates = "standard",
        friction: Friction | None = None,
    ) -> None:
        """Balance the momentum of a robot.

        Args:
            model: the robot.
            noise: noise model of the measurements; None for the defaults.
            coordinates: coordinates of the momenta, standard or decoupled.
            friction: friction in the joints; None for none.

        Raises:
            OptionError: there are no such coordinates.
        """
        if coordinates not in ("standard", "decoupled"):
            raise OptionError(f"coordinates are 'standard' or 'decoupled'; given: {coordinates!r}")
        self.model, self.noise = model, NoiseModel() if noise is None else noise
        self.coordinates = coordinates
        self._is_decoupled = coordinates == "decoupled" and model.b > 0
        self._friction = friction
        self._velocity_variance = self.noise.velocity_deviations(model) ** 2
        self._effort_variance = self.noise.effort_deviations(model) ** 2
        self._effort_error = np.r_[np.zeros(model.b), np.full(model.n, self.noise.torque_error)]
        self.restart()

    def restart(self) -> None:
        """Begin at the next state."""
        self._last_end: _SampleEnd | None = None
        self._last_rate_change: Array | None = None

    def add(self, state: RobotState, effort: Array, dt: float) -> ExternalImpulse | None:
        """Return the external impulse since the last state; None at the first one.

        It never raises: a state, an effort or a time step that is not usable begins anew.

        Args:
            state: measured at the end of the sample.
            effort: (nv,) mean effort over the sample, base wrench first, without friction.
            dt: duration of the sample, s.
        """
        model = self.model
        effort = np.asarray(effort, dtype=np.float64)
        is_usable = state.is_usable(model, dt) and dt > 0.0
        if not is_usable or effort.shape != (model.nv,) or not np.isfinite(effort.sum()):
            self.restart()
            return None
        start, end = self._last_end, self._sample_end(Evaluation(model, state.q, state.v))
        self._last_end = end
        if start is None:
            return None
        transform = 0.5 * (start.transform + end.transform)
        change, mean_rate = end.rate - start.rate, 0.5 * (start.rate + end.rate)
        effort_cov = (transform * self._effort_variance) @ transform.T
        is_first, last_change = self._last_rate_change is None, self._last_rate_change
        second_diff = np.zeros(model.nv) if last_change is None else np.abs(change - last_change)
        self._last_rate_change = change
        friction = 0.5 * (start.friction + end.friction)
        effort_error = self._effort_error + self.noise.friction_error * np.abs(friction)
        if self.noise.model_error:
            mean_force = 0.5 * (start.d.C.T @ start.d.v - start.d.g + end.d.C.T @ end.d.v - end.d.g)
            net_rate = (end.d.momentum - start.d.momentum) / dt
            effort_error = effort_error + self.noise.model_error * np.abs(net_rate - mean_force)
        return ExternalImpulse(
            end.d,
            dt,
            end.momentum - start.momentum - dt * (mean_rate + transform @ effort),
            start.covariance,
            end.covariance,
            dt * dt * effort_cov,
            dt * (np.abs(transform) @ effort_error + second_diff / 12.0),
            effort,
            friction,
            is_first,
        )

    def force_map(self, d: Evaluation, jacobian: Array) -> Array:
        """Return the map from a wrench at a frame to forces of these coordinates, (nv,6).

        Args:
            d: the state.
            jacobian: (6,nv) of the frame, in its axes, linear first.
        """
        return self._transform(d) @ jacobian.T

    def _transform(self, d: Evaluation) -> Array:
        transform = np.eye(self.model.nv)
        if self._is_decoupled:
            transform[self.model.b :, : self.model.b] = -d.A.T
        return transform

    def _sample_end(self, d: Evaluation) -> _SampleEnd:
        model, b = self.model, self.model.b
        friction = np.zeros(model.nv)
        if self._friction is not None:
            friction[b:] = self._friction.force(d.v[b:])
        coriolis = d.C
        rate = coriolis.T @ d.v + Ports().force(d) + friction
        transform, inertia, momentum = self._transform(d), d.M, d.momentum
        if self._is_decoupled:
            inertia_rate = (coriolis + coriolis.T)[:, :b] @ d.v_hat
            rate[b:] += d.A.T @ (inertia_rate[:b] - rate[:b]) - inertia_rate[b:]
            inertia = transform @ inertia
            momentum = np.concatenate([d.p, d.pi_hat])
        covariance = (inertia * self._velocity_variance) @ inertia.T
        return _SampleEnd(d, momentum, covariance, rate, friction, transform)


@dataclass(frozen=True, slots=True)
class ExternalWork:
    """The work of the external forces over one sample, with its uncertainty, J and J^2.

    Attributes:
        value: positive where the robot gained energy.
        start_variance, end_variance: variances of the energies at both ends by noise.
        effort_variance: variance of the work by noise of the efforts.
        slow_error: standard deviation of slow errors, which add up over samples.
        quadratic_noise: largest eigenvalue of the covariance of the second-order term of the
            kinetic energy, ``1/2 e^T M e`` with the noise e of the velocity; all noise at rest.
    """

    value: float
    start_variance: float
    end_variance: float
    effort_variance: float
    slow_error: float
    quadratic_noise: float


class WorkBalance:
    """Energy gained over a sample, less the work of the known efforts.

    The work of efforts that are held is ``f^T (q_next - q)`` without error, whatever the motion in
    between; that of a base wrench in turning axes to third order in dt. It needs no velocity, so
    that the noise of the velocity enters the kinetic energy alone.
    """

    def __init__(self, balance: ImpulseBalance) -> None:
        """Balance the energy of the robot of a balance of momentum, with the same noise."""
        self._model = balance.model
        self._position_variance = balance.noise.position_deviations(self._model) ** 2
        self._velocity_variance = balance.noise.velocity_deviations(self._model) ** 2
        self._effort_variance = balance.noise.effort_deviations(self._model) ** 2
        self.restart()

    def restart(self) -> None:
        """Begin at the next state."""
        self._last_impulse: ExternalImpulse | None = None

    def add(self, impulse: ExternalImpulse) -> ExternalWork | None:
        """Return the external work since the last sample; None at the first one."""
        last_impulse, self._last_impulse = self._last_impulse, impulse
        if last_impulse is None:
            return None
        start, end = last_impulse.d, impulse.d
        displacement = self._model.difference(start.q, end.q)
        energy_change = end.kinetic_energy + end.potential_energy
        energy_change -= start.kinetic_energy + start.potential_energy
        known_effort = impulse.effort + impulse.friction
        return ExternalWork(
            energy_change - float(known_effort @ displacement),
            self._energy_variance(last_impulse, known_effort),
            self._energy_variance(impulse, known_effort),
            float(self._effort_variance @ displacement**2),
            float(np.abs(displacement) @ impulse.slow_error) / impulse.dt,
            float((np.diag(end.M) * self._velocity_variance).sum()),
        )

    def _energy_variance(self, end: ExternalImpulse, known_effort: np.ndarray) -> float:
        by_velocity = float(self._velocity_variance @ end.d.momentum**2)
        return by_velocity + float(self._position_variance @ (end.d.g - known_effort) ** 2)
