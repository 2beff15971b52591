"""Motion of a system over time."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from ...arrays import Array, frozen
from ..equations import Equations
from ..errors import SimulationError
from .projection import Projection
from .steps import DiscreteGradient, ProjectedRK4, Step
from .trajectory import Trajectory

Scheme = Literal["projected_rk4", "rk4", "discrete_gradient"]
Inputs = Callable[[float, Array], Mapping[str, Any]]

SCHEMES = ("projected_rk4", "rk4", "discrete_gradient")


class Simulation:
    """Steps through time; after an error its state is the last good one.

    Args:
        equations: of the system; their rank is found at the initial state.
        x: (size,) initial state vector.
        dt: step, s.
        scheme: ``projected_rk4``: fourth order, constraints to rounding; ``discrete_gradient``:
            second order, first and second law to rounding; ``rk4``: without projection.
        inputs: flows into outer power ports by name, as a function of time and state vector.
        tolerance: by how much the initial state may violate constraints, m, rad, m/s or rad/s.

    Attributes:
        t: time, s.
        x: state vector.
        supplied: work at outer ports so far, J.

    Raises:
        InconsistentState: the initial state is off the constraints.
    """

    def __init__(
        self,
        equations: Equations,
        x: Array,
        dt: float = 1e-3,
        *,
        scheme: Scheme = "projected_rk4",
        inputs: Inputs | None = None,
        tolerance: float = 1e-6,
    ) -> None:
        if x.shape != (equations.layout.size,) or not np.isfinite(x).all():
            raise SimulationError(
                f"the state must be ({equations.layout.size},) finite numbers, as "
                f"equations.states.vector gives; given: shape {x.shape}"
            )
        if not (np.isfinite(dt) and dt > 0.0):
            raise SimulationError(f"the step must be above zero seconds; given: {dt}")
        if scheme not in SCHEMES:
            raise SimulationError(f"scheme must be one of {', '.join(SCHEMES)}; given: {scheme!r}")
        self.equations, self.dt, self.t, self.supplied = equations, float(dt), 0.0, 0.0
        self._inputs = inputs
        self._projection = Projection(equations)
        self._projection.check(x, tolerance)
        equations.rank = self._projection.find_rank(x)
        self._step: Step = (
            DiscreteGradient(equations)
            if scheme == "discrete_gradient"
            else ProjectedRK4(equations, self._projection if scheme == "projected_rk4" else None)
        )
        self.x = x.copy() if scheme == "rk4" else self._projection.onto(x)
        self._count = 0

    def step(self) -> None:
        """Advance by one step.

        Raises:
            SimulationError: one of its kinds, with the time and state it was raised at; ``t`` and
                ``x`` stay those of the last good step.
        """
        try:
            equations = self.equations
            x, work = self._step(self.t, self.x, self.dt, self._flow)
            if not np.isfinite(x).all():
                raise SimulationError("the motion has no finite continuation; take a shorter step")
            self._projection.check_rank(x)
            equations.storages.check_temperatures(x)
        except SimulationError as error:
            error.time, error.state = self.t, self.x.copy()
            error.args = (f"at t = {self.t:.6g} s: {error.args[0]}",)
            raise
        self._count += 1
        self.x, self.t = x, self._count * self.dt
        self.supplied += work

    def violation(self) -> float:
        """Return the largest step by which a joint is open, m or rad."""
        r = self._projection.residual(self.x)
        return float(np.abs(r).max()) if r.size else 0.0

    def _flow(self, t: float, x: Array) -> Array | None:
        return None if self._inputs is None else self.equations.flow_of(self._inputs(t, x))


def simulate(
    equations: Equations,
    x: Array,
    dt: float = 1e-3,
    steps: int = 1000,
    *,
    scheme: Scheme = "projected_rk4",
    inputs: Inputs | None = None,
    every: int = 1,
    tolerance: float = 1e-6,
) -> Trajectory:
    """Return the motion from an initial state.

    Args:
        equations: of the system.
        x: (size,) initial state vector.
        dt: step, s.
        steps: how many.
        scheme: as for :class:`Simulation`.
        inputs: flows into outer power ports by name, as a function of time and state vector.
        every: record one state in so many.
        tolerance: as for :class:`Simulation`.

    Raises:
        InconsistentState: the initial state is off the constraints.
        SimulationError: the motion cannot go on; ``time`` and ``state`` are the last good ones.
    """
    simulation = Simulation(equations, x, dt, scheme=scheme, inputs=inputs, tolerance=tolerance)
    count = steps // every + 1
    t, supplied, violation = np.zeros(count), np.zeros(count), np.zeros(count)
    states = np.empty((count, equations.layout.size))
    energy, entropy = np.empty(count), np.empty(count)
    for k in range(count):
        for _ in range(every if k else 0):
            simulation.step()
        t[k], supplied[k], violation[k] = simulation.t, simulation.supplied, simulation.violation()
        states[k] = simulation.x
        energy[k] = equations.storages.energy(simulation.x)
        entropy[k] = equations.storages.entropy(simulation.x)
    arrays = (frozen(a) for a in (t, states, energy, entropy, supplied, violation))
    return Trajectory(equations, *arrays)
