"""What a time-stepping scheme is: a state it carries, steps of it, and what can be seen of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ..arrays import Array
from ..errors import VmsPhError

# What a scheme carries from step to step is its own business.
SolverState = Any


class StepFailure(VmsPhError):
    """A step that did not succeed; :func:`integrate` tries it again in halves."""


class IntegrationError(VmsPhError):
    """A step that fails however short it is."""


class StepResult(NamedTuple):
    """What one step of a scheme gives.

    Attributes:
        solver_state: the state after it, as the scheme carries it.
        supplied: energy into the system at every port, J, by the scheme's own quadrature.
        dissipated: energy that was dissipated, J, by the same.
        iterations: of an implicit scheme; 0 for explicit ones.
    """

    solver_state: SolverState
    supplied: Mapping[str, float]
    dissipated: float
    iterations: int = 0


class MultiStepResult(NamedTuple):
    """What several steps of a scheme give: all of them together, and how many they were."""

    advance: StepResult
    steps: int


@dataclass(frozen=True, slots=True)
class Observation:
    """What can be seen of a solver_state state, computed from configuration and velocity.

    Attributes:
        state: as users of the system know it; a :class:`PHState` for the forms of a robot.
        energy: J.
        spatial_momentum: about the origin of the inertial frame, in its axes; (b,) for robots,
            empty for a system that has none.
    """

    state: Any
    energy: float
    spatial_momentum: Array


Interpolant = Callable[[float], Any]
"""The state at any time (s) within a step."""


class Stepper(ABC):
    """A scheme applied to one system; :func:`integrate` drives it.

    A system of another kind (a composite one, a partial differential equation) takes part by a
    stepper of its own: only the steppers know what the system and the ports are.

    Attributes:
        order: of convergence.
        nothing: the ports where nothing is said of them.
    """

    order: int
    nothing: Any = None

    @abstractmethod
    def begin(self, state: Any, t: float) -> SolverState:
        """Return what the scheme carries at a state at time ``t``, s."""

    @abstractmethod
    def step(self, solver_state: SolverState, ports: Any, t: float, dt: float) -> StepResult:
        """Return the result of one step of ``dt`` s from time ``t``.

        Raises:
            StepFailure: it did not succeed; nothing has changed.
        """

    def multi_step(
        self, solver_state: SolverState, ports: Any, t0: float, dt: float, first: int, steps: int
    ) -> MultiStepResult:
        """Return the result of several steps, the first from ``t0 + first dt``; at least of one.

        A scheme that is faster in bulk takes up to ``steps`` of them, and stops before one that
        does not succeed.

        Raises:
            StepFailure: the first did not succeed; nothing has changed.
        """
        return MultiStepResult(self.step(solver_state, ports, t0 + first * dt, dt), 1)

    @abstractmethod
    def observe(self, solver_state: SolverState) -> Observation:
        """Return what can be seen."""

    @abstractmethod
    def interpolant(self, before: Any, after: Any, ports: Any, t: float, dt: float) -> Interpolant:
        """Return the states between two observed ones, ``dt`` s from time ``t`` on."""


@runtime_checkable
class Steppable(Protocol):
    """A system of another kind that brings schemes of its own; :func:`integrate` asks for them."""

    def stepper(self, scheme: str) -> Stepper:
        """Return the scheme of this name for the system.

        Raises:
            StateError: there is none.
        """
