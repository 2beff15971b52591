# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Irreversible processes whose force is a set where they rest: dry friction, unilateral contact.

Their Onsager structure is the subdifferential of a convex dissipation potential: the force opposes
the velocity within bounds, and takes any value between them at rest. No function of the velocity
gives that value; the scheme finds it together with the motion.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vms_ph_dynamics import Array

from ..errors import StructureError
from ..patterns import power, state
from ..quantities import Quantity, Space, entropy, momentum_of
from .component import CHECK_SAMPLES, States, kind
from .irreversible import Irreversible

_STEP, _TOLERANCE = 1e-6, 1e-6


@dataclass(frozen=True)
class Bounds:
    """What limits the forces of a process at a configuration.

    Attributes:
        rows: (k,d): velocities ``rows @ u`` along which the forces act, against them.
        lower, upper: (k,) bounds of the forces, N or N m; infinite where there is none.
        friction: (k,) coefficients; a row with one above zero is bounded by that times the force
            of the row ``normal_index`` before it, together with the other rows of that normal.
        normal_index: (k,) index of the row of the normal force, or -1.
        restitution: (k,) share of an approach velocity that returns.
    """

    rows: Array
    lower: Array
    upper: Array
    friction: Array
    normal_index: Any
    restitution: Array


class SetValued(Irreversible):
    """A process with ports ``p`` or ``p_r`` and ``s``, whose forces are bounded.

    Args:
        quantity: momentum at its mechanical port.
        port: name of that port.
        position: quantity of the state that it reads at the port ``q``, or None.
    """

    def __init__(self, quantity: Quantity, port: str, position: Quantity | None = None) -> None:
        ports = {port: power(quantity), "s": power(entropy)}
        if position is not None:
            ports = {"q": state(position), **ports}
        super().__init__(ports, self._onsager, ("q",) if position is not None else ())

    @property
    def is_lawful(self) -> bool:
        """True: a force against the velocity within bounds dissipates, and its heat is its work."""
        return True

    @abstractmethod
    def bounds(self, states: States) -> Bounds | None:
        """Return the bounds at a configuration, or None where no force acts."""

    @abstractmethod
    def directions(self, states: States) -> Array:
        """Return the rows of velocities along which forces act, also while none does, (k,d)."""

    def sliding_force(self, states: States, u: Array) -> Array:
        """Return the force at velocities other than zero, (d,); zero along others."""
        bounds = self.bounds(states)
        if bounds is None:
            return np.zeros(u.size)
        rates = bounds.rows @ u
        force = np.where(rates > 0.0, bounds.upper, np.where(rates < 0.0, bounds.lower, 0.0))
        force = np.where(np.isfinite(force), force, 0.0)  # a stop acts by impulses
        return np.asarray(bounds.rows.T @ force)

    def flows(self, states: States, e: Array, theta_0: float) -> Array:
        """Return the force of sliding and its heat."""
        u, theta = e[:-1], theta_0 + e[-1]
        force = self.sliding_force(states, u)
        return np.append(force, -(u @ force) / theta)

    def _onsager(self, states: States, e: Array, theta_0: float) -> Array:
        """Return M of the sliding force: ``f f^T / (f.u)`` between velocities, with its heat."""
        u, theta = e[:-1], theta_0 + e[-1]
        force = self.sliding_force(states, u)
        dissipated_power = float(force @ u)
        if not dissipated_power > 0.0:
            return np.zeros((e.size, e.size))
        n = np.append(force, -dissipated_power / theta)
        return np.outer(n, n) * (theta / dissipated_power)


@dataclass(frozen=True)
class ConstantForce:
    """Forces of a process that are held along its rows, which may turn during a step.

    Attributes:
        component: the process.
        force: (k,) along each of its rows, N or N m.
    """

    component: SetValued
    force: Array

    def flows(self, states: States) -> Array:
        """Return the flows into the process, without heat, (width,)."""
        rows = self.component.directions(states)
        return np.append(self.force[: len(rows)] @ rows, 0.0)

    def velocities(self, states: States, u: Array) -> Array:
        """Return the velocities along the rows, (k,)."""
        return np.asarray(self.component.directions(states) @ u)


@kind("dry_friction", "that sticks")
class DryFriction(SetValued):
    """Coulomb friction with sticking: ``f = limit sign(u)``, any force within the limit at rest.

    Args:
        limit: N or N m; a number, or one for each degree of freedom.
        pair: the space of relative poses of the joint, or of the position.
        port: name of the mechanical port.

    Raises:
        StructureError: a limit is negative or not finite.
    """

    def __init__(self, limit: Any, pair: Space, port: str = "p_r") -> None:
        self.limit = np.broadcast_to(np.asarray(limit, dtype=np.float64), (pair.dimension,)).copy()
        if not (np.isfinite(self.limit).all() and (self.limit >= 0.0).all()):
            raise StructureError(
                f"the limit of dry friction must be finite and not negative; given: {limit}"
            )
        super().__init__(momentum_of(pair), port)
        self.pair, self.port, d = pair, port, pair.dimension
        self._bounds = Bounds(
            np.eye(d), -self.limit, self.limit, np.zeros(d), np.full(d, -1), np.zeros(d)
        )

    def bounds(self, states: States) -> Bounds:
        """Return the limits."""
        return self._bounds

    def directions(self, states: States) -> Array:
        """Return the rows, one for each degree of freedom."""
        return self._bounds.rows


class Contact(SetValued):
    """A unilateral contact: no force while open, and none that pulls.

    An impact returns the share ``restitution`` of the approach velocity; what it does not return
    becomes heat. Friction is Coulomb's, with sticking.

    Args:
        position: quantity of the position or pose that the gap depends on.
        gap: takes the position and returns the distance, m; the contact is closed at zero.
        rows: takes the position and returns the rates of the gap and of sliding per unit velocity,
            (1 + tangents, d), the gap first.
        restitution: from 0 to 1.
        friction: coefficient, not negative.
        quantity: momentum at the port ``p``; that of the space of the position when None.

    Raises:
        StructureError: a coefficient is outside its range.
    """

    def __init__(
        self,
        position: Quantity,
        gap: Callable[[Array], float],
        rows: Callable[[Array], Array],
        *,
        restitution: float = 0.0,
        friction: float = 0.0,
        quantity: Quantity | None = None,
    ) -> None:
        if not (0.0 <= restitution <= 1.0 and 0.0 <= friction < np.inf):
            raise StructureError(
                "a contact needs a restitution from 0 to 1 and friction that is not negative; "
                f"given: restitution {restitution}, friction {friction}"
            )
        momentum_quantity = momentum_of(position.space) if quantity is None else quantity
        super().__init__(momentum_quantity, "p", position)
        self._gap, self._row_function = gap, rows
        self.restitution, self.friction = float(restitution), float(friction)

    def check(self, name: str, theta_0: float, rng: np.random.Generator) -> None:
        """Raise an error as every process, or if the first row is not the rate of the gap.

        Raises:
            StructureError: it does not.
        """
        super().check(name, theta_0, rng)
        space = self.interface["q"].quantity.space
        for _ in range(CHECK_SAMPLES):
            x = space.random(rng)
            u = rng.uniform(-1.0, 1.0, space.dimension)
            forward, backward = (self._gap(space.step(x, s * _STEP * u)) for s in (1.0, -1.0))
            numeric_gap_rate = float(np.reshape(forward - backward, ())) / (2.0 * _STEP)
            row_rate = float(self.closed_bounds((x,)).rows[0] @ u)
            if not abs(numeric_gap_rate - row_rate) <= _TOLERANCE * (1.0 + abs(numeric_gap_rate)):
                raise StructureError(
                    f"box '{name}': the first row of the contact gives the rate "
                    f"{row_rate:.6g} m/s, but its gap changes at {numeric_gap_rate:.6g} m/s"
                )

    def gap(self, states: States) -> float:
        """Return the distance, m; negative where bodies overlap."""
        return float(np.reshape(self._gap(states[0]), ()))

    def bounds(self, states: States) -> Bounds | None:
        """Return the bounds of a closed contact: the force against the rate of the gap pushes."""
        return self.closed_bounds(states) if self.gap(states) <= 0.0 else None

    def directions(self, states: States) -> Array:
        """Return the row of the gap and, with friction, those of sliding."""
        rows = np.atleast_2d(np.asarray(self._row_function(states[0]), dtype=np.float64))
        return rows if self.friction else rows[:1]

    def closed_bounds(self, states: States) -> Bounds:
        """Return the bounds as if the contact were closed."""
        rows = self.directions(states)
        row_count = len(rows)
        lower, upper = np.zeros(row_count), np.zeros(row_count)
        lower[0] = -np.inf
        friction, restitution = np.full(row_count, self.friction), np.zeros(row_count)
        friction[0], restitution[0] = 0.0, self.restitution
        normal_index = np.zeros(row_count, dtype=np.intp)
        normal_index[0] = -1
        return Bounds(rows, lower, upper, friction, normal_index, restitution)
