"""The schemes as :func:`~vms_ph_dynamics.integrators.integrate` drives them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array, frozen
from ...integrators import Observation, StepFailure, Stepper, StepResult
from ...integrators.interpolation import cubic
from ...integrators.stepper import Interpolant
from ..equations import Equations
from ..errors import SimulationError
from .projection import Projection
from .steps import DiscreteGradient, Move, MuntheKaas, Step
from .works import Inputs, acting


class _Scheme(NamedTuple):
    order: int
    step: Callable[[Equations], Step]
    projects: bool
    begins_on_constraints: bool


SCHEMES: Mapping[str, _Scheme] = {
    "projected_rk4": _Scheme(4, MuntheKaas, True, True),
    "rk4": _Scheme(4, MuntheKaas, False, False),
    "discrete_gradient": _Scheme(2, DiscreteGradient, False, True),
}
"""Schemes by name."""


class SolverState(NamedTuple):
    """What a scheme carries from step to step.

    Attributes:
        x: (size,) the state vector.
        velocity: (stored,) rates over the latest step, where an iteration begins.
        least: singular value of the constraints; see :meth:`Projection.check_rank`.
    """

    x: Array
    velocity: Array
    least: float = 0.0


class Stride(NamedTuple):
    """A step as the scheme took it.

    Attributes:
        solver_state: after it.
        move: what the scheme says of it.
    """

    solver_state: SolverState
    move: Move


class EphsStepper(Stepper):
    """A scheme for a system of components.

    The books are those of exergy, ``E - theta_0 s`` relative to the environment: what is supplied
    is the exergy that outer ports bring, what is dissipated is ``theta_0`` times the entropy
    produced, never negative in any step forward [C (6)]. Their residual is the residual of the
    first law, energy that came from nowhere. For a mechanism in an environment of one temperature
    the exergy is its mechanical energy. Ports are flows into outer power ports by name, held or as
    a function of time and state vector. There is no spatial momentum.

    Args:
        equations: of the system; their rank is found where a run begins.
        scheme: ``projected_rk4``: fourth order, constraints to rounding; ``discrete_gradient``:
            second order, first and second law to rounding; ``rk4``: without projection.
        tolerance: by how much an initial state may violate constraints, m, rad, m/s or rad/s.

    Raises:
        SimulationError: there is no such scheme.
    """

    def __init__(
        self, equations: Equations, scheme: str = "projected_rk4", tolerance: float = 1e-6
    ) -> None:
        if scheme not in SCHEMES:
            raise SimulationError(f"scheme must be one of {', '.join(SCHEMES)}; given: {scheme!r}")
        self.equations, self.projection = equations, Projection(equations)
        self._scheme, self._tolerance = SCHEMES[scheme], tolerance
        self._step = self._scheme.step(equations)
        self.order = self._scheme.order
        self._entropies = equations.is_entropy[: equations.layout.stored]

    def begin(self, state: Array, t: float) -> SolverState:
        """Return what the scheme carries at a state vector.

        Raises:
            SimulationError: not a state vector of this system.
            InconsistentState: it is off the constraints.
        """
        equations, x = self.equations, np.asarray(state)
        if x.shape != (equations.layout.size,) or x.dtype.kind not in "fiu" or not _finite(x):
            raise SimulationError(
                f"the state must be ({equations.layout.size},) finite numbers, as "
                f"equations.states.vector gives; given: shape {x.shape}"
            )
        x = x.astype(np.float64)
        self.projection.check(x, self._tolerance)
        equations.rank = self.projection.find_rank(x)
        if self._scheme.begins_on_constraints:
            x = self.projection.onto(x)
        return SolverState(x, np.zeros(equations.layout.stored))

    def stride(
        self, solver_state: SolverState, inputs: Inputs | None, t: float, dt: float
    ) -> Stride:
        """Return one step of ``dt`` s from time ``t``.

        Raises:
            SimulationError: one of its kinds, where the motion cannot go on by such a step.
        """
        move = self._step(t, solver_state.x, dt, inputs, dt * solver_state.velocity)
        x, metric = move.x, None
        if not _finite(x):
            raise SimulationError("the motion has no finite continuation; take a shorter step")
        if self._scheme.projects:
            x, opening, metric = self.projection.apply(x)
            # Newton's step squares it, and what it leaves is to be within the tolerance.
            if not opening * opening <= self._tolerance:
                raise SimulationError(
                    f"a step of {dt:g} s opens joint '{self.projection.worst(move.x)}' by "
                    f"{opening:.3g} (m or rad), too far to be closed; take a shorter one"
                )
            # Velocities are projected where the poses were, so they are off by as much.
            if opening > self._tolerance:
                x, _, metric = self.projection.apply(x)
            if not _finite(x):
                raise SimulationError("the motion has no finite continuation; take a shorter step")
        least = self.projection.check_rank(x, solver_state.least, metric)
        self.equations.storages.check_temperatures(x)
        return Stride(SolverState(x, move.along / dt, least), move)

    def step(
        self, solver_state: SolverState, ports: Inputs | None, t: float, dt: float
    ) -> StepResult:
        """Return the result of one step; see :meth:`Stepper.step`."""
        try:
            after, move = self.stride(solver_state, ports, t, dt)
        except SimulationError as error:
            raise StepFailure(str(error)) from error
        produced = float(self._entropies @ move.along) - move.works.entropy
        return StepResult(
            after, move.works.supplied, self.equations.theta_0 * produced, move.iterations
        )

    def observe(self, solver_state: SolverState) -> Observation:
        """Return the state vector and its exergy."""
        x = solver_state.x.copy()
        return Observation(frozen(x), self.equations.storages.exergy(x), np.zeros(0))

    def interpolant(
        self, before: Array, after: Array, ports: Inputs | None, t: float, dt: float
    ) -> Interpolant:
        """Return cubic Hermite interpolation along Cayley steps, of fourth order in ``dt``.

        Where the scheme projects, the states in between are on the constraints too.
        """
        equations, states = self.equations, self.equations.states
        rates = [
            equations.tangent(x, equations.flow_of(acting(ports, time, x)))[0]
            for x, time in ((before, t), (after, t + dt))
        ]
        reach = states.difference(before, after)
        arrival = states.step_rate(reach, rates[1])

        def at(time: float) -> Any:
            s = (time - t) / dt
            x = states.step(before, cubic(s, 0.0 * reach, dt * rates[0], reach, dt * arrival))
            return frozen(self.projection.apply(x).x if self._scheme.projects else x)

        return at


def _finite(x: Array) -> bool:
    return bool(np.isfinite(x).all())
