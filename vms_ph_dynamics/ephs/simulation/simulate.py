"""Motion of a system over time."""

from typing import Literal

import numpy as np

from ...arrays import Array, frozen
from ..equations import Equations
from ..errors import SimulationError
from .stepper import EphsStepper
from .trajectory import Trajectory
from .works import Inputs

Scheme = Literal["projected_rk4", "rk4", "discrete_gradient"]


class Simulation:
    """Steps through time; after an error its state is the last good one.

    Args:
        equations: of the system; their rank is found at the initial state.
        x: (size,) initial state vector.
        dt: step, s.
        scheme: ``projected_rk4``: fourth order, constraints to rounding; ``discrete_gradient``:
            second order, first and second law to rounding; ``rk4``: without projection.
        inputs: flows into outer power ports by name, held or as a function of time and state.
        tolerance: by how much the initial state may violate constraints, m, rad, m/s or rad/s.

    Attributes:
        t: time, s.
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
        if not (np.isfinite(dt) and dt > 0.0):
            raise SimulationError(f"the step must be above zero seconds; given: {dt}")
        self.equations, self.dt, self.t, self.supplied = equations, float(dt), 0.0, 0.0
        self._inputs = inputs
        self._stepper = EphsStepper(equations, scheme, tolerance)
        self._solver_state = self._stepper.begin(x, 0.0)
        self._count = 0

    @property
    def x(self) -> Array:
        """The state vector."""
        return self._solver_state.x

    def step(self) -> None:
        """Advance by one step.

        Raises:
            SimulationError: one of its kinds, with the time and state it was raised at; ``t`` and
                ``x`` stay those of the last good step.
        """
        try:
            solver_state, move = self._stepper.stride(
                self._solver_state, self._inputs, self.t, self.dt
            )
        except SimulationError as error:
            error.time, error.state = self.t, self.x.copy()
            error.args = (f"at t = {self.t:.6g} s: {error.args[0]}",)
            raise
        self._count += 1
        self._solver_state, self.t = solver_state, self._count * self.dt
        self.supplied += move.works.energy

    def violation(self) -> float:
        """Return the largest step by which a joint is open, m or rad."""
        r = self._stepper.projection.residual(self.x)
        return float(np.abs(r).max()) if r.size else 0.0


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
        inputs: flows into outer power ports by name, held or as a function of time and state.
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
