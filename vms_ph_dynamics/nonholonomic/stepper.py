# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Runge-Kutta in the independent velocities, with the energy balance closed in every step."""

from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..energy.audit import PowerQuadrature
from ..errors import OptionError
from ..evaluation import Evaluation
from ..forms import PHState, Ports
from ..integrators.moving_base import inverse_differential
from ..integrators.runge_kutta import STAGES
from ..integrators.stepper import (
    Efforts,
    Observation,
    SolverState,
    StepFailure,
    Stepper,
    StepResult,
    system_stepper,
)
from .form import NonholonomicForm

# Largest change of the speed by the closing of the balance, as a share; beyond it, at rest, the
# residual of the step is left in the balance.
_MAX_CORRECTION = 1e-3


class _Motion(NamedTuple):
    """Configuration (nq,) and velocity (nv,)."""

    q: Array
    v: Array


class NonholonomicRK4(Stepper):
    """Fourth-order Runge-Kutta-Munthe-Kaas on configuration and independent velocities.

    The velocity is ``S(q) nu`` at every time, so that the constraints are met to rounding; every
    step is in the velocities ``nu`` that determine the others best where it begins. At the
    end of a step the speed is scaled, by the error of the scheme, so that the energy has changed by
    exactly the energies at the ports, as they are reported.
    """

    name = "projected_rk4"
    order = 4
    no_ports = Ports()

    def __init__(self, form: NonholonomicForm) -> None:
        """Construct the scheme for a robot under velocity constraints.

        Args:
            form: the robot with its constraints.
        """
        self.form = form

    def begin(self, state: PHState, t: float) -> SolverState:
        """Return configuration and velocity."""
        return _Motion(np.array(state.q), self.form.velocity(state))

    def motion(self, solver_state: SolverState) -> tuple[Array, Array]:
        """Return configuration (nq,) and velocity (nv,)."""
        return solver_state.q, solver_state.v

    def step(self, solver_state: SolverState, ports: Efforts, t: float, dt: float) -> StepResult:
        """Return the state after ``dt``; see :meth:`Stepper.step`.

        Raises:
            StepFailure: the motion is not finite.
        """
        form, model, x = self.form.chart(solver_state.q), self.form.model, solver_state
        quadrature = PowerQuadrature()
        q_rate: Array = np.zeros(model.nv)
        nudot: Array = np.zeros(form.dimension)
        mean_rate, mean_nudot, start_nu = q_rate, nudot, x.v[form.independent_ids]
        for fraction, weight in STAGES:
            q = model.integrate(x.q, fraction * dt * q_rate) if fraction else x.q
            nu = start_nu + fraction * dt * nudot
            if not isfinite(float(nu @ nu)) or not isfinite(float(q @ q)):
                raise StepFailure("the motion within the step is not finite")
            terms = form.terms(q, nu)
            efforts = self._efforts_at(ports, t + fraction * dt, q, terms.d.v)
            if not fraction:
                start_evaluation = terms.d
            # The coordinates of the base within the step are those of the exponential.
            rate = inverse_differential(model.base, fraction * dt * q_rate, terms.d.v)
            q_rate, nudot = rate, terms.acceleration(efforts.force(terms.d))
            mean_rate, mean_nudot = mean_rate + weight * q_rate, mean_nudot + weight * nudot
            quadrature.add(efforts, terms.d, weight * dt)
        q, nu = model.integrate(x.q, dt * mean_rate), start_nu + dt * mean_nudot
        if not isfinite(float(nu @ nu) + float(q @ q)):
            raise StepFailure("the motion after the step is not finite")
        end, target_energy = form.terms(q, nu).d, start_evaluation.kinetic_energy + quadrature.sum
        if efforts.gravity:
            target_energy += start_evaluation.potential_energy - end.potential_energy
        v = end.v * _speed_factor(end.kinetic_energy, target_energy)
        return StepResult(_Motion(q, v), quadrature.supplied, quadrature.dissipated)

    def _efforts_at(self, ports: Efforts, t: float, q: Array, v: Array) -> Ports:
        efforts = ports if isinstance(ports, Ports) else ports(t, self._state(q, v))
        return Ports.checked(self.form.model, efforts)

    def observe(self, solver_state: SolverState) -> Observation:
        """Return the observable quantities; there is no conserved momentum."""
        q, v = solver_state
        d = Evaluation(self.form.model, q, v)
        return Observation(self._state(q, v), d.kinetic_energy + d.potential_energy, np.zeros(0))

    def _state(self, q: Array, v: Array) -> PHState:
        return PHState(q, self.form.momentum(q, v))


def _speed_factor(kinetic_energy: float, target_energy: float) -> float:
    """Return the factor of the speed that gives the wanted kinetic energy, J; 1 at rest."""
    if kinetic_energy <= 0.0 or target_energy <= 0.0:
        return 1.0
    factor = sqrt(target_energy / kinetic_energy)
    return factor if abs(factor - 1.0) <= _MAX_CORRECTION else 1.0


@system_stepper.register
def _(system: NonholonomicForm, scheme: str) -> Stepper:
    if scheme != NonholonomicRK4.name:
        raise OptionError(
            f"a robot on wheels has the scheme '{NonholonomicRK4.name}'; given: '{scheme}'"
        )
    return NonholonomicRK4(system)
