# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of a time-stepping scheme: its solver state, its steps, its observations."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

from ..arrays import Array
from ..errors import ModelError, VmsPhError
from ..forms import PHState, Ports

SolverState = Any
"""The state that a scheme keeps from step to step; its type is that of the scheme."""


class StepFailure(VmsPhError):
    """A failed step; :func:`integrate` repeats it as two halves."""


class IntegrationError(VmsPhError):
    """A step that fails even after all halvings; its cause is the last :class:`StepFailure`."""


class StepResult(NamedTuple):
    """The result of one step of a scheme, or of several together.

    Attributes:
        solver_state: the state of the scheme after it.
        supplied: energy into the system at every port, J, by the scheme's own quadrature.
        dissipated: energy that was dissipated, J, by the same.
        iterations: number of iterations of an implicit scheme; 0 for explicit ones.
        steps: number of steps that it is the result of.
    """

    solver_state: SolverState
    supplied: Mapping[str, float]
    dissipated: float
    iterations: int = 0
    steps: int = 1

    def followed_by(self, next_step: "StepResult") -> "StepResult":
        """Return the result of these steps and of others after them."""
        names = {**self.supplied, **next_step.supplied}
        supplied = {n: self.supplied.get(n, 0.0) + next_step.supplied.get(n, 0.0) for n in names}
        dissipated = self.dissipated + next_step.dissipated
        iterations, steps = max(self.iterations, next_step.iterations), self.steps + next_step.steps
        return StepResult(next_step.solver_state, supplied, dissipated, iterations, steps)


class StoredEnergy(NamedTuple):
    """The energy of a solver state, computed from configuration and velocity.

    Attributes:
        total: J.
        scale: size of the terms that it is the sum of, J, for its rounding.
        rounding: rounding that is left where all terms cancel, J.
    """

    total: float
    scale: float
    rounding: float


@dataclass(frozen=True, slots=True)
class Observation:
    """The observable quantities of a solver state, computed from configuration and velocity.

    Attributes:
        state: in the coordinates of the system; a :class:`PHState` for the forms of a robot.
        energy: J.
        spatial_momentum: about the origin of the inertial frame, in its axes; (b,) for robots,
            see :func:`.spatial_momentum`; empty for a system that has none.
    """

    state: Any
    energy: float
    spatial_momentum: Array


Efforts = Ports | Callable[[float, PHState], Ports]
"""Efforts at the ports: held, or as a function of time (s) and state."""


def efforts_at(efforts: Efforts, t: float, x: PHState) -> Ports:
    """Return the efforts at a time (s) and a state."""
    return efforts(t, x) if callable(efforts) else efforts


class Stepper(ABC):
    """A scheme applied to one system; :func:`integrate` drives it.

    A system of another kind (a composite one, a partial differential equation) is integrated by a
    stepper of its own: only the steppers know what the system and the ports are.

    Attributes:
        name: of the scheme; empty for one that was not created by name.
        order: order of convergence.
        no_ports: the default ports, for none.
    """

    name: str = ""
    order: int
    no_ports: Any = None

    @abstractmethod
    def begin(self, state: Any, t: float) -> SolverState:
        """Return the solver state of a state at time ``t``, s."""

    @abstractmethod
    def step(self, solver_state: SolverState, ports: Any, t: float, dt: float) -> StepResult:
        """Return the result of one step of ``dt`` s from time ``t``.

        Args:
            solver_state: as returned by :meth:`begin` or the step before.
            ports: efforts, held or as a function of time and state.
            t: time at the beginning, s.
            dt: length of the step, s.

        Raises:
            StepFailure: the step failed; the stepper is unchanged.
        """

    def multi_step(
        self, solver_state: SolverState, ports: Any, t0: float, dt: float, first: int, steps: int
    ) -> StepResult:
        """Return the result of at least one step, the first from ``t0 + first dt``.

        A compiled scheme does up to ``steps`` of them, and stops before one that fails.

        Args:
            solver_state: as for :meth:`step`.
            ports: likewise.
            t0: time at which the run began, s.
            dt: length of every step, s.
            first: number of steps before the first one.
            steps: largest number of steps.

        Raises:
            StepFailure: the first step failed; the stepper is unchanged.
        """
        return self.step(solver_state, ports, t0 + first * dt, dt)

    def stored_energy(self, solver_state: SolverState) -> StoredEnergy | None:
        """Return the energy for the check of the balance of a step, see :func:`.check_balance`.

        None where the scheme does not promise that energy changes by the port energies it reports:
        then the residual of the audit is the error of its quadrature.
        """
        return None

    @abstractmethod
    def observe(self, solver_state: SolverState) -> Observation:
        """Return the observable quantities of a solver state."""


@singledispatch
def system_stepper(system: Any, scheme: str) -> Stepper:
    """Return the scheme of this name for a system of another kind than the forms of a robot.

    The package of its schemes registers a function for its class, ``@system_stepper.register``.

    Raises:
        OptionError: the system has no scheme of this name.
        ModelError: the system has no schemes.
    """
    raise ModelError(
        "integrate takes a robot in one of its forms, the equations that ephs.assemble gives, "
        f"or a stepper as the scheme; given: {type(system).__name__} and the scheme '{scheme}'"
    )
