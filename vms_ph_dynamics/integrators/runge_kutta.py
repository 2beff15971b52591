# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The classical Runge-Kutta scheme, in coordinates and on the group of base motions."""

from math import isfinite

import numpy as np

from ..arrays import Array
from ..energy.audit import PowerQuadrature
from ..evaluation import Evaluation
from ..forms import PHState
from .moving_base import coordinate_rate, inverse_differential
from .robot_stepper import RobotStepper
from .stepper import Efforts, SolverState, StepFailure, StepResult, efforts_at

# (fraction of the step at a stage, weight of the stage in the result)
STAGES = ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))


class RK4(RobotStepper):
    """The classical scheme on the momenta of any form; conserves nothing but to its order.

    Quaternions and (cos, sin) pairs are integrated as coordinates and normalised after the step.
    The ports are evaluated at every stage, and the energy that crosses them is integrated with the
    same weights, so that the power balance closes to the order of the scheme.
    """

    order = 4

    def begin(self, state: PHState, t: float) -> SolverState:
        """Return the state itself, checked."""
        return self.form.checked_state(state)

    def step(self, solver_state: SolverState, ports: Efforts, t: float, dt: float) -> StepResult:
        """Return the state after ``dt``; see :meth:`Stepper.step`."""
        x, quadrature = solver_state, PowerQuadrature()
        rate = mean_rate = self._zero_coordinates
        zdot = mean_zdot = 0.0 * x.z
        for fraction, weight in STAGES:
            u = fraction * dt * rate
            stage = PHState(self._configuration_at(x.q, u), x.z + fraction * dt * zdot)
            efforts = self.checked(efforts_at(ports, t + fraction * dt, stage))
            v, zdot = self.form.rate_arrays(stage.q, stage.z, efforts)
            rate = self._coordinate_rate(x.q, u, v)
            mean_rate, mean_zdot = mean_rate + weight * rate, mean_zdot + weight * zdot
            quadrature.add(efforts, Evaluation(self.model, stage.q, v), weight * dt)
        end_state = PHState(self._configuration_at(x.q, dt * mean_rate), x.z + dt * mean_zdot)
        if not isfinite(end_state.q.dot(end_state.q) + end_state.z.dot(end_state.z)):
            raise StepFailure("the state after the step is not finite")
        return StepResult(end_state, quadrature.supplied, quadrature.dissipated)

    def motion(self, solver_state: SolverState) -> tuple[Array, Array]:
        """Return configuration and velocity."""
        return solver_state.q, self.form.velocity_arrays(solver_state.q, solver_state.z)

    def state(self, solver_state: SolverState) -> PHState:
        """Return the state."""
        return solver_state

    @property
    def _zero_coordinates(self) -> Array:
        """The coordinates of a step at its beginning: zeros."""
        return np.zeros(self.model.nq)

    def _configuration_at(self, q: Array, u: Array) -> Array:
        """Return the configuration (nq,) at coordinates of the step that begins at ``q``."""
        if not u.any():
            return q
        q_end = q + u
        if not isfinite(q_end.dot(q_end)):
            raise StepFailure("the configuration within the step is not finite")
        return self.model.normalise_configuration(q_end) if len(q) > self.model.nv else q_end

    def _coordinate_rate(self, q: Array, u: Array, v: Array) -> Array:
        """Return the rate of these coordinates at a velocity (nv,)."""
        return coordinate_rate(self.model, q + u, v)


class RKMK4(RK4):
    """The scheme of fourth order that stays on the manifold, on the momenta of any form.

    The configuration is ``q exp(u)``, and u is integrated by the classical scheme (Munthe-Kaas,
    Applied Numerical Mathematics 29, 1999).
    """

    @property
    def _zero_coordinates(self) -> Array:
        return np.zeros(self.model.nv)

    def _configuration_at(self, q: Array, u: Array) -> Array:
        return self.model.integrate(q, u) if u.any() else q

    def _coordinate_rate(self, q: Array, u: Array, v: Array) -> Array:
        return inverse_differential(self.model.base, u, v)
