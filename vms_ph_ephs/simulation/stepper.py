# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The schemes as steppers for :func:`~vms_ph_dynamics.integrators.integrate`."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from vms_ph_dynamics import Array, OptionError
from vms_ph_dynamics.arrays import frozen
from vms_ph_dynamics.integrators import (
    Observation,
    StepFailure,
    Stepper,
    StepResult,
    system_stepper,
)

from ..equations import Equations
from ..errors import SimulationError
from .projection import Projection
from .set_valued import BoundedForces
from .steps import CoreStep, DiscreteGradient, Inputs, MuntheKaas, Step, StepScheme
from .stiff_friction import StiffFriction, StiffProcesses

# Each correction reduces the error of the mean force by the share of a step in which the
# configuration changes; the rest is an error of the scheme, not of its laws.
_CORRECTIONS, _TOLERANCE = 3, 1e-6

# A motion that has reached this has diverged: squares of states would soon be infinite.
_MAX_STATE = 1e100


class _Scheme(NamedTuple):
    order: int
    make_step: Callable[[Equations], StepScheme]
    has_projection: bool
    starts_on_constraints: bool
    max_friction_ratio: float


# Explicit stages are stable up to 2.8 times the time constant of friction, and at twice it as
# accurate as a held force; the iteration of the midpoint rule converges below twice it.
SCHEMES: Mapping[str, _Scheme] = {
    "projected_rk4": _Scheme(4, MuntheKaas, True, True, 2.0),
    "rk4": _Scheme(4, MuntheKaas, False, False, 2.0),
    "discrete_gradient": _Scheme(2, DiscreteGradient, False, True, 1.0),
}
"""Schemes by name."""


class SolverState(NamedTuple):
    """The state that a scheme keeps from step to step.

    Attributes:
        x: (size,) the state vector.
        velocity: (stored,) rates over the latest step, the initial guess of an iteration.
        sigma: least singular value of the constraints; see :meth:`Projection.check_rank`.
        supplied: energy supplied at the outer ports since the beginning, J.
    """

    x: Array
    velocity: Array
    sigma: float = 0.0
    supplied: float = 0.0


class Record(NamedTuple):
    """The quantities that :func:`simulate` records at an instant."""

    state: Array
    energy: float
    entropy: float
    supplied: float
    violation: float


class EphsStepper(Stepper):
    """A scheme for a system of components.

    The balance is that of exergy, ``E - theta_0 s`` relative to the environment: what is supplied
    is the exergy that outer ports bring in, what is dissipated is ``theta_0`` times the entropy
    produced, never negative in any step forward [C (6)]. Its residual is the residual of the first
    law, the unaccounted energy. For a mechanism in an environment of one temperature the exergy is
    its mechanical energy. Ports are flows into outer power ports by name, held or as a function of
    time and state vector. There is no spatial momentum. Friction that is faster than a step is held
    at its mean force over the step; see :class:`StiffFriction`.

    Args:
        equations: of the system; their rank is found where a run begins.
        scheme: ``projected_rk4``: fourth order, constraints to rounding; ``discrete_gradient``:
            second order, first and second law to rounding; ``rk4``: without projection.
        tolerance: accepted violation of the constraints by an initial state, m, rad, m/s or rad/s.

    Raises:
        OptionError: there is no such scheme.
    """

    def __init__(
        self, equations: Equations, scheme: str = "projected_rk4", tolerance: float = 1e-6
    ) -> None:
        if scheme not in SCHEMES:
            raise OptionError(f"there is no scheme {scheme!r}; there are {', '.join(SCHEMES)}")
        self.equations, self.projection = equations, Projection(equations)
        self._scheme, self._tolerance = SCHEMES[scheme], tolerance
        self._step = self._scheme.make_step(equations)
        self._friction = StiffFriction(equations, self._scheme.max_friction_ratio)
        self._bounded_forces = BoundedForces(equations, self._friction)
        self.name, self.order = scheme, self._scheme.order
        self._is_entropy = equations.is_entropy[: equations.layout.stored_size]
        self._core = CoreStep(equations, tolerance) if self._scheme.has_projection else None

    def begin(self, state: Array, t: float) -> SolverState:
        """Return the solver state at a state vector.

        Raises:
            SimulationError: not a state vector of this system.
            InconsistentState: it violates the constraints.
        """
        equations, x = self.equations, np.asarray(state)
        if x.shape != (equations.layout.size,) or x.dtype.kind not in "fiu" or not _is_finite(x):
            raise SimulationError(
                f"the state must be ({equations.layout.size},) finite numbers, as "
                f"equations.states.vector gives; given: shape {x.shape}"
            )
        x = x.astype(np.float64)
        self.projection.check(x, self._tolerance)
        equations.rank = self.projection.find_rank(x)
        if self._scheme.starts_on_constraints:
            x = self.projection.iterate(x)
        return SolverState(x, np.zeros(equations.layout.stored_size))

    def _advance(
        self, solver_state: SolverState, inputs: Inputs | None, t: float, dt: float
    ) -> tuple[SolverState, Step]:
        """Return the solver state after one step of ``dt`` s from time ``t``, and the step."""
        if not self._bounded_forces.processes:
            return self._smooth_step(solver_state, inputs, t, dt)
        end_state = solver_state

        def scheme(x: Array, time: float, scheme_duration: float) -> Step:
            nonlocal end_state
            start_state = solver_state._replace(x=x)
            end_state, step = self._smooth_step(start_state, inputs, time, scheme_duration)
            return step._replace(x=end_state.x)

        step = self._bounded_forces.step(scheme, solver_state.x, inputs, t, dt)
        supplied_energy = solver_state.supplied + step.supply.energy
        return SolverState(step.x, step.increment / dt, end_state.sigma, supplied_energy), step

    def _smooth_step(
        self, solver_state: SolverState, inputs: Inputs | None, t: float, dt: float
    ) -> tuple[SolverState, Step]:
        """Return the same for all forces but those within bounds, which are held."""
        stiff = self._friction.find_stiff(solver_state.x, dt)
        if stiff is None:
            return self._regular_step(solver_state, inputs, t, dt)
        return self._stiff_step(stiff, solver_state, inputs, t, dt)

    def _stiff_step(
        self, stiff: StiffProcesses, before: SolverState, inputs: Inputs | None, t: float, dt: float
    ) -> tuple[SolverState, Step]:
        """Return a step in which friction that is too fast for it acts with its mean force."""
        friction, processes = self._friction, self.equations.processes
        acceleration, v_end = stiff.acceleration, stiff.velocity
        for _ in range(_CORRECTIONS):
            force = friction.mean_force(stiff, before.x, dt, acceleration)
            with processes.imposing(friction.flows(stiff, force)):
                after, step = self._regular_step(before, inputs, t, dt)
            # What the other forces were on average, by the velocities they led to.
            last_v_end, v_end = v_end, friction.velocity(stiff, after.x)
            acceleration = (v_end - stiff.velocity) / dt + stiff.mobility @ force
            if np.abs(v_end - last_v_end).max() <= _TOLERANCE * (1.0 + np.abs(v_end).max()):
                break
        state_heats = friction.heat(stiff, force, step.supply)
        if state_heats is None:
            half_dt = 0.5 * dt
            middle_state, first_half = self._smooth_step(before, inputs, t, half_dt)
            after, second_half = self._smooth_step(middle_state, inputs, t + half_dt, half_dt)
            return after, first_half.followed_by(second_half)
        x, increment = after.x.copy(), step.increment.copy()
        for state, energy in state_heats:
            increment[state.tangent] += friction.add_heat(x, state, energy)
        return after._replace(x=x, velocity=increment / dt), step._replace(x=x, increment=increment)

    def _regular_step(
        self, solver_state: SolverState, inputs: Inputs | None, t: float, dt: float
    ) -> tuple[SolverState, Step]:
        core_step = None if self._core is None else self._core.step(solver_state.x, inputs, t, dt)
        if core_step is not None:
            step, eigenvalues = core_step
            sigma = self.projection.check_eigenvalues(eigenvalues, solver_state.sigma, step.x)
            supplied_energy = solver_state.supplied + step.supply.energy
            return SolverState(step.x, step.increment / dt, sigma, supplied_energy), step
        step = self._step(t, solver_state.x, dt, inputs, dt * solver_state.velocity)
        x, metric = step.x, None
        if not _is_finite(x):
            raise SimulationError("the motion has no finite continuation; use a shorter step")
        if self._scheme.has_projection:
            x, opening, metric = self.projection.project(x)
            # A Newton step squares the violation; the remainder must be within the tolerance.
            if not opening * opening <= self._tolerance:
                raise SimulationError(
                    f"a step of {dt:g} s opens joint '{self.projection.worst_joint(step.x)}' by "
                    f"{opening:.3g} (m or rad), too far to be closed; use a shorter one"
                )
            # Velocities are projected at the previous poses, which gives an error of that order.
            if opening > self._tolerance:
                x, _, metric = self.projection.project(x)
            if not _is_finite(x):
                raise SimulationError("the motion has no finite continuation; use a shorter step")
        sigma = self.projection.check_rank(x, solver_state.sigma, metric)
        self.equations.storages.check_state(x)
        supplied_energy = solver_state.supplied + step.supply.energy
        return SolverState(x, step.increment / dt, sigma, supplied_energy), step

    def step(
        self, solver_state: SolverState, ports: Inputs | None, t: float, dt: float
    ) -> StepResult:
        """Return the result of one step; see :meth:`Stepper.step`.

        Raises:
            StepFailure: the motion cannot be continued; it is caused by a :class:`SimulationError`.
        """
        try:
            after, step = self._advance(solver_state, ports, t, dt)
        except SimulationError as error:
            error.time, error.state = t, solver_state.x.copy()
            raise StepFailure(str(error)) from error
        supply = step.supply
        entropy_produced = float(self._is_entropy @ step.increment) - supply.entropy
        return StepResult(
            after, supply.port_exergy, self.equations.theta_0 * entropy_produced, step.iterations
        )

    def observe(self, solver_state: SolverState) -> Observation:
        """Return the state vector and its exergy."""
        x = solver_state.x.copy()
        return Observation(frozen(x), self.equations.storages.exergy(x), np.zeros(0))


class RecordingStepper(EphsStepper):
    """The scheme of :func:`simulate`, which observes a :class:`Record` instead of a state."""

    def observe(self, solver_state: SolverState) -> Observation:
        """Return a record, and the exergy."""
        x, equations = solver_state.x, self.equations
        core, storages = equations.core, equations.storages
        energy = storages.energy(x) if core is None else core.energy(x)
        violation = self.projection.violation(x) if core is None else core.violation(x)
        entropy = storages.entropy(x)
        record = Record(x.copy(), energy, entropy, solver_state.supplied, violation)
        return Observation(record, energy - equations.theta_0 * entropy, np.zeros(0))


@system_stepper.register
def _(system: Equations, scheme: str) -> EphsStepper:
    return EphsStepper(system, scheme)


def _is_finite(x: Array) -> bool:
    """Return whether a state is finite, and small enough for its energy to be."""
    return bool((np.abs(x) < _MAX_STATE).all())
