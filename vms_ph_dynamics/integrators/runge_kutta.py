# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The classical Runge-Kutta scheme, in coordinates and on the group of base motions."""

from collections.abc import Callable
from math import isfinite

import numpy as np

from ..arrays import Array
from ..energy.audit import PowerQuadrature
from ..evaluation import Evaluation
from ..forms import Form, PHState, Ports
from ..model import VMSModel
from .moving_base import coordinate_rate, inverse_differential
from .robot_stepper import RobotStepper
from .stepper import Efforts, PortFunction, SolverState, Step, StepFailure, StepResult

# (fraction of the step at a stage, weight of the stage in the result)
STAGES = ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))


def rk4_step(form: Form, x: PHState, ports: PortFunction, t: float, dt: float) -> Step:
    """Advance a state by one step of the classical fourth-order scheme.

    Quaternions and (cos, sin) pairs are integrated as coordinates and normalised after the step.
    The ports are evaluated at every stage, and the energy that crosses them is integrated with the
    same weights, so that the power balance closes to the order of the scheme.

    Args:
        form: on any base.
        x: state at ``t``.
        ports: efforts as a function of time and state.
        t: time, s.
        dt: time, s.

    Returns:
        The state at ``t + dt`` and the energies of the step.

    Raises:
        StepFailure: the motion is no longer finite.
    """
    model = form.model

    def displaced(u: Array) -> Array:
        return _normalised(model, x.q + u) if u.any() else x.q

    def rate(u: Array, v: Array) -> Array:
        return coordinate_rate(model, x.q + u, v)

    return _step(form, x, ports, t, dt, np.zeros(model.nq), displaced, rate)


def _step(
    form: Form,
    x: PHState,
    ports: PortFunction,
    t: float,
    dt: float,
    still: Array,
    displaced: Callable[[Array], Array],
    rate: Callable[[Array, Array], Array],
) -> Step:
    """Advance a state by one step of the classical scheme in some coordinates of the step.

    Args:
        form: as above, and so on.
        x: state at ``t``.
        ports: efforts.
        t: time, s.
        dt: time, s.
        still: zeros of the size of the coordinates.
        displaced: the configuration (nq,) at coordinates.
        rate: the rate of the coordinates, from these and the velocity (nv,).
    """
    energies = PowerQuadrature()
    slope, zdot = still, 0.0 * x.z
    mean, mean_z = slope, zdot
    for lead, weight in STAGES:
        u = lead * dt * slope
        stage = PHState(displaced(u), x.z + lead * dt * zdot)
        acting = ports(t + lead * dt, stage)
        v, zdot = form.rate_arrays(stage.q, stage.z, acting)
        slope = rate(u, v)
        mean, mean_z = mean + weight * slope, mean_z + weight * zdot
        energies.add(acting, Evaluation(form.model, stage.q, v), weight * dt)
    end = PHState(displaced(dt * mean), x.z + dt * mean_z)
    return Step(end, energies.supplied, energies.dissipated)


def _normalised(model: VMSModel, q: Array) -> Array:
    if not isfinite(q.dot(q)):
        raise StepFailure("the configuration within the step is not finite")
    return model.normalise_configuration(q) if model.nq > model.nv else q


class RK4(RobotStepper):
    """:func:`rk4_step` on the momenta of any form; conserves nothing but to its order."""

    order = 4

    def begin(self, state: PHState, t: float) -> SolverState:
        """Return the state itself, checked."""
        return self.form.checked_state(state)

    def step(self, solver_state: SolverState, ports: Efforts, t: float, dt: float) -> StepResult:
        """Return the state after ``dt``; see :meth:`Stepper.step`."""
        result = self._advance(solver_state, lambda s, x: self.acting_on(ports, s, x), t, dt)
        end = result.state
        if not isfinite(end.q.dot(end.q) + end.z.dot(end.z)):
            raise StepFailure("the state after the step is not finite")
        return StepResult(end, result.supplied, result.dissipated)

    def motion(self, solver_state: SolverState) -> tuple[Array, Array]:
        """Return configuration and velocity."""
        return solver_state.q, self.form.velocity_arrays(solver_state.q, solver_state.z)

    def state(self, solver_state: SolverState) -> PHState:
        """Return the state."""
        return solver_state

    def acting_on(self, ports: Efforts, t: float, x: PHState) -> Ports:
        """Return the efforts at a state."""
        return self.checked(ports if isinstance(ports, Ports) else ports(t, x))

    def _advance(self, x: PHState, ports: PortFunction, t: float, dt: float) -> Step:
        return rk4_step(self.form, x, ports, t, dt)


class RKMK4(RK4):
    """The scheme of fourth order that stays on the manifold, on the momenta of any form.

    The configuration is ``q exp(u)``, and u is integrated by the classical scheme (Munthe-Kaas,
    Applied Numerical Mathematics 29, 1999).
    """

    def _advance(self, x: PHState, ports: PortFunction, t: float, dt: float) -> Step:
        model = self.model

        def displaced(u: Array) -> Array:
            return model.integrate(x.q, u) if u.any() else x.q

        def rate(u: Array, v: Array) -> Array:
            return v if model.base == "fixed" else inverse_differential(model.base, u, v)

        return _step(self.form, x, ports, t, dt, np.zeros(model.nv), displaced, rate)
