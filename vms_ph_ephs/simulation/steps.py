# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of a system, and the energy and entropy that cross its outer ports in them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from vms_ph_dynamics import Array

from ..components import Environment
from ..equations import Equations
from ..errors import SimulationError

Flows = Mapping[str, Any]
"""Flows into outer power ports, by name."""

Inputs = Flows | Callable[[float, Array], Flows]
"""Flows into outer power ports: held, or as a function of time (s) and state vector."""


def flows_at(inputs: Inputs | None, t: float, x: Array) -> Flows:
    """Return the flows at a time and state."""
    if inputs is None:
        return {}
    return inputs(t, x) if callable(inputs) else inputs


class Supply:
    """The supply through the outer ports of a system, integrated with the weights of a scheme.

    Attributes:
        port_exergy: supplied through every outer power port, J.
        entropy: supplied through all of them together, J/K.
        effort_integral: (total,) of all efforts over the step; of velocities it is the path.
        row_integrals: the same along the rows of forces that are held, by box.
    """

    __slots__ = ("_equations", "effort_integral", "entropy", "port_exergy", "row_integrals")

    def __init__(self, equations: Equations) -> None:
        outer_ports = equations.system.pattern.outer
        self._equations = equations
        self.port_exergy = {name: 0.0 for name, port in outer_ports.items() if port.kind == "power"}
        self.entropy = 0.0
        self.effort_integral = np.zeros(equations.layout.total_size)
        self.row_integrals: dict[str, Array] = {}

    def add(self, flows: Flows, efforts: Array, duration: float) -> None:
        """Add the supply of flows at the given efforts, (total,), held for ``duration`` s.

        The state is the last one of ``set_state``.
        """
        layout = self._equations.layout
        self.effort_integral += duration * efforts
        if self._equations.processes.imposed_flows:
            for box, velocity in self._equations.processes.row_velocities(efforts).items():
                self.row_integrals[box] = self.row_integrals.get(box, 0.0) + duration * velocity
        for name, value in flows.items():
            indices = layout.entries[layout.outer[name]]
            transfer = duration * np.broadcast_to(
                np.asarray(value, dtype=np.float64), indices.stop - indices.start
            )
            self.port_exergy[name] += float(efforts[indices] @ transfer)
            self.entropy += float(self._equations.is_entropy[indices] @ transfer)

    def append(self, later_supply: "Supply") -> None:
        """Add the supply of a step that follows."""
        for name, value in later_supply.port_exergy.items():
            self.port_exergy[name] += value
        self.entropy += later_supply.entropy
        self.effort_integral += later_supply.effort_integral
        for box, row_integral in later_supply.row_integrals.items():
            self.row_integrals[box] = self.row_integrals.get(box, 0.0) + row_integral

    @property
    def energy(self) -> float:
        """Energy supplied, J: the exergy, and ``theta_0`` times the entropy."""
        return sum(self.port_exergy.values()) + self._equations.theta_0 * self.entropy


# An iteration whose change exceeds the state by this factor has diverged.
_DIVERGENCE_FACTOR = 1e9


class Step(NamedTuple):
    """The result of one step of a scheme.

    Attributes:
        x: (size,) the state after it.
        increment: (stored,) the step in the tangent spaces.
        supply: energy and entropy supplied at the outer ports.
        iterations: of an implicit scheme; 0 for explicit ones.
    """

    x: Array
    increment: Array
    supply: Supply
    iterations: int = 0

    def followed_by(self, later: "Step") -> "Step":
        """Return this step and one that follows as one."""
        self.supply.append(later.supply)
        increment, iterations = self.increment + later.increment, self.iterations + later.iterations
        return Step(later.x, increment, self.supply, iterations)


class StepScheme(Protocol):
    """A one-step scheme without memory."""

    def __call__(self, t: float, x: Array, dt: float, inputs: Inputs | None, guess: Array) -> Step:
        """Return the step of length dt; an iteration begins at the guess, (stored,)."""


class MuntheKaas:
    """Runge-Kutta-Munthe-Kaas of fourth order on the groups.

    Stages are Cayley steps from the initial state, so poses stay in their groups.

    Args:
        equations: of the system.
    """

    def __init__(self, equations: Equations) -> None:
        self._equations = equations

    def __call__(self, t: float, x: Array, dt: float, inputs: Inputs | None, guess: Array) -> Step:
        """Return the step of length dt."""
        states, supply = self._equations.states, Supply(self._equations)
        rates: list[Array] = [np.zeros(self._equations.layout.stored_size)]
        for fraction, divisor in ((0.0, 6.0), (0.5, 3.0), (0.5, 3.0), (1.0, 6.0)):
            stage_increment = (fraction * dt) * rates[-1]
            y = states.step(x, stage_increment)
            flows = flows_at(inputs, t + fraction * dt, y)
            rate, efforts = self._equations.tangent(y, self._equations.flow_vector(flows))
            supply.add(flows, efforts, dt / divisor)
            rates.append(states.step_rate(stage_increment, rate))
        _, k1, k2, k3, k4 = rates
        increment = (dt / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        y = states.step(x, increment)
        states.normalise(y)
        return Step(y, increment, supply)


class DiscreteGradient:
    """The Cayley midpoint rule with discrete gradients: both laws hold exactly in every step.

    Dirac and Onsager structures are evaluated at the midpoint and multiply discrete differentials
    of the energies, so that the power balance is that of the continuous system. Constraints hold
    for the velocities at the midpoint; poses of joints drift by the square of the step.

    Args:
        equations: of the system.
    """

    def __init__(self, equations: Equations) -> None:
        self._equations = equations

    def __call__(self, t: float, x: Array, dt: float, inputs: Inputs | None, guess: Array) -> Step:
        """Return the step of length dt.

        Raises:
            SimulationError: the step is too long to be solved by iteration.
        """
        equations = self._equations
        states, n = equations.states, equations.layout.quadratic_size
        u, last, iterations = guess, np.inf, 0
        start_states = self._storage_states(x)
        divergence_limit = _DIVERGENCE_FACTOR * (1.0 + float(np.abs(x).max()))
        for _ in range(100):
            iterations += 1
            middle_x = states.step(x, 0.5 * u)
            storage_efforts = self._storage_efforts(x, start_states, middle_x, u)
            flows = flows_at(inputs, t + 0.5 * dt, middle_x)
            rate, efforts = equations.midpoint_tangent(
                middle_x, storage_efforts, x[:n], dt, equations.flow_vector(flows)
            )
            next_u = dt * rate
            change = float(np.abs(next_u - u).max())
            u = next_u
            # Iterate until rounding dominates: the balance is as exact as the solution.
            if change == 0.0 or (change >= 0.5 * last and change < 1e-12 * (1.0 + np.abs(u).max())):
                break
            if not change < divergence_limit:
                raise _divergence_error(dt, change)
            last = change
        else:
            raise _divergence_error(dt, change)
        supply = Supply(equations)
        supply.add(flows, efforts, dt)
        y = states.step(x, u)
        states.normalise(y)
        return Step(y, u, supply, iterations)

    def _storage_states(self, x: Array) -> dict[str, tuple[Array, ...]]:
        self._equations.states.set_state(x)
        views = self._equations.states.views
        return {
            box: tuple(view.copy() for view in views[box])
            for box, _, _ in self._equations.storages.nonlinear
        }

    def _storage_efforts(
        self, x: Array, start_states: dict[str, tuple[Array, ...]], middle_x: Array, u: Array
    ) -> Array:
        """Return the discrete differentials of all exergies over the step u."""
        storages, states = self._equations.storages, self._equations.states
        n = self._equations.layout.quadratic_size
        efforts = np.empty(self._equations.layout.stored_size)
        efforts[:n] = storages.Q @ (x[:n] + 0.5 * u[:n])
        after, halfway = self._storage_states(states.step(x, u)), self._storage_states(middle_x)
        for box, storage, indices in storages.nonlinear:
            if isinstance(storage, Environment):
                efforts[indices] = 0.0
                continue
            d = storage.discrete(start_states[box], halfway[box], after[box], u[indices])
            efforts[indices] = storages.exergy_gradient(box, storage, d)
        return efforts


def _divergence_error(dt: float, change: float) -> SimulationError:
    return SimulationError(
        f"the implicit step of {dt:g} s does not converge (last change {change:.3g}); use a "
        "shorter one"
    )


class CoreStep:
    """The step of ``projected_rk4`` with its projection, as the core computes it.

    Args:
        equations: of the system.
        tolerance: opening of a joint above which a second projection follows, m or rad.
    """

    def __init__(self, equations: Equations, tolerance: float) -> None:
        self._equations, self._tolerance = equations, tolerance

    def step(
        self, x: Array, inputs: Inputs | None, t: float, dt: float
    ) -> tuple[Step, Array] | None:
        """Return a step, and the eigenvalues of the constraints of loops.

        None where the core does not compute the system, or the step fails: numpy then finds the
        same failure, and names the box or joint.
        """
        equations = self._equations
        core = equations.core
        if core is None:
            return None
        step = core.step(t, x, dt, self._flows(inputs), self._tolerance)
        if step is None:
            return None
        end_state, increment, flow, exergy, opening = step
        if not opening * opening <= self._tolerance:
            return None
        supply = Supply(equations)
        if flow is not None:
            for name in supply.port_exergy:
                indices = equations.layout.entries[equations.layout.outer[name]]
                supply.port_exergy[name] = float(exergy[indices].sum())
            supply.entropy = float(equations.is_entropy @ flow)
        return Step(end_state, increment, supply), cast(Array, core.loop_spectrum)

    def _flows(self, inputs: Inputs | None) -> object:
        """Return the flows at all efforts: none, held, or as a function of time and state."""
        equations = self._equations
        if not callable(inputs):
            return equations.flow_vector(inputs)
        zeros = np.zeros(equations.layout.total_size)

        def flows(t: float, x: Array) -> Array:
            flow = equations.flow_vector(flows_at(inputs, t, x))
            return zeros if flow is None else flow

        return flows
