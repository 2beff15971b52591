"""One step of each scheme: from a state to the next, and the work supplied on the way."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ...arrays import Array
from ..components import Environment
from ..equations import Equations
from ..errors import SimulationError
from .projection import Projection

Flow = Callable[[float, Array], "Array | None"]


class Step(Protocol):
    """A scheme."""

    def __call__(self, t: float, x: Array, dt: float, flow: Flow) -> tuple[Array, float]:
        """Return the state after dt, and the work supplied at outer ports, J."""


class ProjectedRK4:
    """Runge-Kutta-Munthe-Kaas of fourth order on the groups, then projection on the constraints.

    Stages are Cayley steps from the beginning, so poses never leave their groups.

    Args:
        equations: of the system.
        projection: puts the end of every step back on the constraints; None leaves it.
    """

    def __init__(self, equations: Equations, projection: Projection | None) -> None:
        self._equations, self._projection = equations, projection

    def __call__(self, t: float, x: Array, dt: float, flow: Flow) -> tuple[Array, float]:
        """Return the state after dt, and the work supplied."""
        states = self._equations.states
        k1, w1 = self._rate(t, x, flow)
        theta = (0.5 * dt) * k1
        k2, w2 = self._turned(t + 0.5 * dt, x, theta, flow)
        theta = (0.5 * dt) * k2
        k3, w3 = self._turned(t + 0.5 * dt, x, theta, flow)
        theta = dt * k3
        k4, w4 = self._turned(t + dt, x, theta, flow)
        y = states.step(x, (dt / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
        states.repair(y)
        if self._projection is not None:
            y = self._projection.apply(y)
        return y, dt / 6.0 * (w1 + 2.0 * w2 + 2.0 * w3 + w4)

    def _rate(self, t: float, x: Array, flow: Flow) -> tuple[Array, float]:
        f = flow(t, x)
        rate, efforts = self._equations.tangent(x, f)
        return rate, 0.0 if f is None else self._equations.supplied_power(efforts, f)

    def _turned(self, t: float, x: Array, theta: Array, flow: Flow) -> tuple[Array, float]:
        states = self._equations.states
        rate, power = self._rate(t, states.step(x, theta), flow)
        return states.step_rate(theta, rate), power


class DiscreteGradient:
    """The Cayley midpoint rule with discrete gradients: both laws hold exactly in every step.

    Dirac and Onsager structures are taken halfway and multiply discrete differentials of the
    energies, so that the power balance is that of the continuous system. Constraints hold on
    velocities halfway; poses of joints drift by the square of the step.

    Args:
        equations: of the system.
    """

    def __init__(self, equations: Equations) -> None:
        self._equations = equations
        self._guess: Array | None = None

    def __call__(self, t: float, x: Array, dt: float, flow: Flow) -> tuple[Array, float]:
        """Return the state after dt, and the work supplied.

        Raises:
            SimulationError: the step is too long to be solved by iteration.
        """
        equations = self._equations
        states, n = equations.states, equations.layout.linear
        if self._guess is None or self._guess.size != equations.layout.stored:
            self._guess = np.zeros(equations.layout.stored)
        u, last = self._guess, np.inf
        before = self._arguments(x)
        for _ in range(100):
            middle = states.step(x, 0.5 * u)
            e = self._efforts(x, before, middle, u)
            f = flow(t + 0.5 * dt, middle)
            rate, efforts = equations.midpoint_tangent(middle, e, x[:n], dt, f)
            new = dt * rate
            change = float(np.abs(new - u).max())
            u = new
            # Stop where rounding stops the iteration, not before: the balance is only that exact.
            if change == 0.0 or (change >= 0.5 * last and change < 1e-12 * (1.0 + np.abs(u).max())):
                break
            last = change
        else:
            raise SimulationError(
                f"the implicit step of {dt:g} s does not converge (last change {change:.3g}); "
                "take a shorter one"
            )
        self._guess = u
        y = states.step(x, u)
        states.repair(y)
        return y, 0.0 if f is None else dt * equations.supplied_power(efforts, f)

    def _arguments(self, x: Array) -> dict[str, tuple[Array, ...]]:
        self._equations.states.look_at(x)
        reads = self._equations.states.reads
        return {
            box: tuple(view.copy() for view in reads[box])
            for box, _, _ in self._equations.storages.others
        }

    def _efforts(
        self, x: Array, before: dict[str, tuple[Array, ...]], middle: Array, u: Array
    ) -> Array:
        """Return the discrete differentials of all exergies over the step u."""
        storages, states = self._equations.storages, self._equations.states
        n = self._equations.layout.linear
        e = np.empty(self._equations.layout.stored)
        e[:n] = storages.Q @ (x[:n] + 0.5 * u[:n])
        after, halfway = self._arguments(states.step(x, u)), self._arguments(middle)
        for box, storage, at in storages.others:
            if isinstance(storage, Environment):
                e[at] = 0.0
                continue
            d = storage.discrete(before[box], halfway[box], after[box], u[at])
            e[at] = storages.exergy_slope(box, storage, d)
        return e
