# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulation of a system, and the recorded motion with its energy balance."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from vms_ph_dynamics import Array, IntegrationError, integrate
from vms_ph_dynamics.arrays import frozen
from vms_ph_dynamics.integrators import StepFailure

from ..equations import Equations
from ..errors import SimulationError
from .stepper import EphsStepper, RecordingStepper
from .steps import Inputs


@dataclass(frozen=True)
class Trajectory:
    """States at the recorded instants, with the energy balance; read-only arrays.

    Attributes:
        equations: of the system.
        t: (k,) s.
        states: (k,size).
        energy: (k,) total, mechanical, thermal and ``theta_0 s`` of environments, J.
        entropy: (k,) total, J/K.
        supplied: (k,) energy supplied at the outer ports since the beginning, J.
        violation: (k,) largest violation of a joint closure, m or rad.
    """

    equations: Equations
    t: Array
    states: Array
    energy: Array
    entropy: Array
    supplied: Array
    violation: Array

    def __repr__(self) -> str:
        """Return the size of the run and the largest violation of the first law."""
        return (
            f"Trajectory({len(self.t)} instants from {self.t[0]:g} to {self.t[-1]:g} s, largest "
            f"unaccounted energy {np.max(abs(self.first_law)):.1e} J, largest joint opening "
            f"{np.max(self.violation):.1e})"
        )

    @property
    def final(self) -> Array:
        """The last state, (size,)."""
        return self.states[-1]

    @property
    def first_law(self) -> Array:
        """(k,) unaccounted energy since the beginning, J; zero up to numerical errors."""
        return self.energy - self.energy[0] - self.supplied

    def value(self, name: str) -> Array:
        """Return one state over time, (k, ...), by junction or ``"box.port"``."""
        entry = self.equations.layout.find(name)
        return self.states[:, entry.indices].reshape(-1, *entry.space.shape)


Scheme = Literal["projected_rk4", "rk4", "discrete_gradient"]


class Simulation:
    """A motion that is integrated step by step; after an error its state is the last valid one.

    Args:
        equations: of the system; their rank is found at the initial state.
        x: (size,) initial state vector.
        dt: step, s.
        scheme: ``projected_rk4``: fourth order, constraints to rounding; ``discrete_gradient``:
            second order, first and second law to rounding; ``rk4``: without projection.
        inputs: flows into outer power ports by name, held or as a function of time and state.
        tolerance: accepted violation of the constraints by the initial state, m, rad, m/s or rad/s.

    Attributes:
        t: time, s.

    Raises:
        InconsistentState: the initial state violates the constraints.
        OptionError: there is no such scheme.
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
        _check_step(dt)
        self.equations, self.dt, self.t = equations, float(dt), 0.0
        self._inputs = inputs
        self._stepper = EphsStepper(equations, scheme, tolerance)
        self._solver_state = self._stepper.begin(x, 0.0)
        self._steps_taken = 0

    @property
    def x(self) -> Array:
        """The state vector."""
        return self._solver_state.x

    @property
    def supplied(self) -> float:
        """Energy supplied at the outer ports so far, J."""
        return self._solver_state.supplied

    def step(self) -> None:
        """Advance by one step.

        Raises:
            SimulationError: one of its kinds, with the time and state it was raised at; ``t`` and
                ``x`` stay those of the last good step.
        """
        try:
            next_state = self._stepper.step(self._solver_state, self._inputs, self.t, self.dt)
        except StepFailure as failure:
            raise _cause(failure) from None
        self._steps_taken += 1
        self._solver_state, self.t = next_state.solver_state, self._steps_taken * self.dt

    def violation(self) -> float:
        """Return the largest violation of a joint closure, m or rad."""
        return self._stepper.projection.violation(self.x)


def simulate(
    equations: Equations,
    x: Array,
    dt: float = 1e-3,
    steps: int = 1000,
    *,
    scheme: Scheme = "projected_rk4",
    inputs: Inputs | None = None,
    stride: int = 1,
    tolerance: float = 1e-6,
) -> Trajectory:
    """Return the motion from an initial state, in steps of constant length.

    This is :func:`~vms_ph_dynamics.integrators.integrate` without halved steps, with the total
    energy and entropy in the record instead of the exergy.

    Args:
        equations: of the system.
        x: (size,) initial state vector.
        dt: step, s.
        steps: number of steps.
        scheme: as for :class:`Simulation`.
        inputs: flows into outer power ports by name, held or as a function of time and state.
        stride: number of steps between recorded states.
        tolerance: as for :class:`Simulation`.

    Raises:
        InconsistentState: the initial state violates the constraints.
        OptionError: there is no such scheme.
        SimulationError: the motion cannot be continued; ``time`` and ``state`` are the last valid
            ones.
    """
    _check_step(dt)
    stepper = RecordingStepper(equations, scheme, tolerance)
    try:
        run = integrate(
            equations,
            x,
            inputs,
            dt=float(dt),
            steps=steps - steps % stride,
            scheme=stepper,
            stride=stride,
            halvings=0,
        )
    except IntegrationError as error:
        raise _cause(error.__cause__) from None
    states = np.array([record.state for record in run.states])
    energy, entropy, supplied_energy, violation = np.array([record[1:] for record in run.states]).T
    arrays = (run.t, states, energy, entropy, supplied_energy, violation)
    return Trajectory(equations, *(frozen(array) for array in arrays))


def _check_step(dt: float) -> None:
    if not (np.isfinite(dt) and dt > 0.0):
        raise SimulationError(f"the step must be above zero seconds; given: {dt}")


def _cause(failure: BaseException | None) -> SimulationError:
    """Return the error behind a failed step, its message with the time."""
    assert failure is not None
    error = failure.__cause__
    assert isinstance(error, SimulationError)
    error.args = (f"at t = {error.time:.6g} s: {error.args[0]}",)
    return error
