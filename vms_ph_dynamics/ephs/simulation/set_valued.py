# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Dry friction and unilateral contact: forces within bounds, found together with the motion.

In a step the forces that keep joints at rest and contacts closed are held: they follow from the
velocities that the other forces would lead to. What then remains at its end, such as the velocity
of a joint that comes to rest within the step or of an impact, is taken by impulses. Their work,
``P . (u + u_after) / 2``, is the exact change of kinetic energy and never negative; all of it
becomes heat. A contact closes at the instant at which its gap does: the step is cut there.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ..components.set_valued import Bounds, Contact, SetValued
from ..equations import Equations
from ..equations.layout import Held
from ..equations.processes import Index
from .steps import Move
from .stiff_friction import StiffFriction
from .supply import Inputs, acting

# A contact is closed at a gap below this, m; impacts are located to the same.
_CLOSED = 1e-9
_BISECTIONS = 60

# Impacts of one step after which approach velocities no longer return: a bounce that dies away.
_IMPACTS = 8
_SWEEPS, _CONVERGED = 500, 1e-14

# Of the largest work in a step: what rounding may leave of a work that should be zero.
_ROUNDING = 1e-12

Smooth = Callable[[Array, float, float], Move]
"""The step of a scheme from a state, at a time, over a duration."""


class Process(NamedTuple):
    """A component with bounded forces, the place of its velocities, and where its heat goes."""

    box: str
    component: SetValued
    velocities: Index
    heat: Held


class Acting(NamedTuple):
    """The processes that may act at a configuration, as rows of one linear system.

    Attributes:
        processes: one per row.
        bounds: of the rows.
        own: (k,d) rows of each process over its own velocities.
        velocity: (k,) at the configuration.
        mobility: W, (k,k): the change of the velocities by impulses is ``-W P``.
        push: (linear,k): that of the momenta is ``-push P``.
    """

    processes: list[Process]
    lower: Array
    upper: Array
    friction: Array
    normal: Index
    restitution: Array
    own: list[Array]
    velocity: Array
    mobility: Array
    push: Array


class BoundedForces:
    """The set-valued processes of a system, and steps in which they act.

    Args:
        equations: of the system.
        friction: of the same scheme; it puts heat into storages of entropy.
    """

    def __init__(self, equations: Equations, friction: StiffFriction) -> None:
        self._equations, self._friction = equations, friction
        self.processes: list[Process] = []
        layout = equations.layout
        for box, component in layout.components.items():
            if isinstance(component, SetValued):
                index = equations.processes.indices[box]
                held = layout.states[layout.junctions[f"{box}.s"]]
                self.processes.append(Process(box, component, index[:-1], held))

    def move(self, smooth: Smooth, x: Array, inputs: Inputs | None, t: float, dt: float) -> Move:
        """Return a step of ``dt`` s; ``smooth`` is that of all other forces."""
        total: Move | None = None
        left, impacts = dt, 0
        while left > 0.0:
            part, passed, hit = self._part(smooth, x, inputs, t, left, impacts < _IMPACTS)
            impacts += hit
            total = part if total is None else _joined(total, part)
            x, t, left = part.x, t + passed, left - passed
        assert total is not None  # a step has a duration
        return total

    def _part(
        self, smooth: Smooth, x: Array, inputs: Inputs | None, t: float, dt: float, bounces: bool
    ) -> tuple[Move, float, bool]:
        """Return a step that ends where a contact closes, its duration, and whether one did."""
        closed = {p.box for p in self.processes if self._gap(p, x) <= _CLOSED}
        open_ = [p for p in self.processes if p.box not in closed]
        here = self._acting(x, closed)
        force = self._predicted(here, x, inputs, t, dt)
        released: set[str] = set()
        for _ in range(len(self.processes) + 1):
            move = self._held(here, force, smooth, x, t, dt)
            works = self._works(here, force, move)
            wrong = {
                p.box
                for p, work in works
                if work < -_ROUNDING * (1.0 + max(abs(w) for _, w in works))
            }
            if not wrong:
                break
            released |= wrong
            force = np.where([p.box in released for p in here.processes], 0.0, force)
        pressed = {p.box for p, f in zip(here.processes, force, strict=True) if f}
        free = open_ + [p for p in self.processes if p.box in closed - pressed]
        passed, hit = dt, False
        if self._deepest(free, move.x) < -_CLOSED:
            hit = True
            early, late = 0.0, 1.0
            for _ in range(_BISECTIONS):
                share = 0.5 * (early + late)
                move = self._held(here, force, smooth, x, t, share * dt)
                depth = self._deepest(free, move.x)
                early, late = (early, share) if depth < -_CLOSED else (share, late)
                if abs(depth) <= _CLOSED and share > 0.25 * late and early > 0.0:
                    break
            passed = share * dt
        return self._settled(here, force, move, passed, hit and bounces), passed, hit

    def _held(
        self, here: Acting, force: Array, smooth: Smooth, x: Array, t: float, dt: float
    ) -> Move:
        """Return the smooth step with forces held."""
        processes = self._equations.processes
        held = {p.box: np.zeros(p.component.width) for p in self.processes}
        for p, row, f in zip(here.processes, here.own, force, strict=True):
            held[p.box][:-1] += f * row
        processes.held = held
        try:
            return smooth(x, t, dt)
        finally:
            processes.held = {}

    def _works(self, here: Acting, force: Array, move: Move) -> list[tuple[Process, float]]:
        """Return the work that every process takes, J."""
        found: dict[str, tuple[Process, float]] = {}
        for p, row, f in zip(here.processes, here.own, force, strict=True):
            before = found.get(p.box, (p, 0.0))[1]
            found[p.box] = (p, before + f * float(row @ move.supply.path[p.velocities]))
        return list(found.values())

    def _predicted(
        self, here: Acting, x: Array, inputs: Inputs | None, t: float, dt: float
    ) -> Array:
        """Return the forces that the velocities at the end of a step call for."""
        if not here.processes:
            return np.zeros(0)
        equations, n = self._equations, self._equations.layout.linear
        flow = equations.flow_of(acting(inputs, t, x))
        equations.processes.held = {p.box: np.zeros(p.component.width) for p in self.processes}
        try:
            rate = equations.tangent(x, flow)[0]
        finally:
            equations.processes.held = {}
        # Velocities per momentum along the constraints: W P = rows Q push P.
        rows = self._rows(here, x)
        ahead = here.velocity + dt * (rows[:, :n] @ (equations.storages.Q @ rate[:n]))
        none = np.zeros(ahead.size)
        return _impulses(here, ahead, dt, none, none) / dt

    def _settled(self, before: Acting, force: Array, move: Move, dt: float, bounces: bool) -> Move:
        """Return a step with the impulses at its end, and the heat of all forces."""
        heats = dict.fromkeys((p.box for p in self.processes), 0.0)
        for p, work in self._works(before, force, move):
            heats[p.box] += max(work, 0.0)
        lost = sum(work for _, work in self._works(before, force, move))
        closed = {p.box for p in self.processes if self._gap(p, move.x) <= _CLOSED}
        x, along = move.x.copy(), move.along.copy()
        here = self._acting(x, closed)
        if here.processes:
            given = _matched(before, force * dt, here)
            returned = here.restitution * np.maximum(-here.velocity, 0.0) * bounces
            total = _impulses(here, here.velocity, dt, given, returned)
            after = here.velocity - here.mobility @ (total - given)
            works = 0.5 * (total - given) * (here.velocity + after)
            if works.sum() < 0.0 and returned.any():
                total = _impulses(here, here.velocity, dt, given, 0.0 * returned)
                after = here.velocity - here.mobility @ (total - given)
                works = 0.5 * (total - given) * (here.velocity + after)
            n = self._equations.layout.linear
            change = -(here.push @ (total - given))
            x[:n] += change
            along[:n] += change
            lost += float(works.sum())
            for p, work in zip(here.processes, works, strict=True):
                heats[p.box] += max(float(work), 0.0)
        positive = sum(heats.values())
        for p in self.processes:
            heat = heats[p.box] * lost / positive if positive > 0.0 else 0.0
            if heat > 0.0:
                along[p.heat.tangent] += self._friction.warmed(x, p.heat, heat)
        return move._replace(x=x, along=along)

    def _gap(self, p: Process, x: Array) -> float:
        """Return the gap of a contact, m; dry friction always acts."""
        if not isinstance(p.component, Contact):
            return 0.0
        self._equations.states.look_at(x)
        return p.component.gap(self._equations.states.reads[p.box])

    def _deepest(self, processes: list[Process], x: Array) -> float:
        return min((self._gap(p, x) for p in processes), default=0.0)

    def _rows(self, here: Acting, x: Array) -> Array:
        e = self._equations.storages.efforts(x)
        a = self._equations.constraints.at(self._equations.states.reads)
        each = zip(here.processes, here.own, strict=True)
        return np.array([row @ self._columns(p, a) for p, row in each]).reshape(-1, e.size)

    def _columns(self, p: Process, a: Array) -> Array:
        """Return the velocities of a process as rows over stored efforts."""
        c, stored = self._equations.constraints, self._equations.layout.stored
        rows = np.zeros((p.velocities.size, stored))
        for k, index in enumerate(p.velocities):
            if index < stored:
                rows[k, index] = 1.0
            else:
                free = index - stored
                rows[k] = c.T[free] - (c.to_free[free] @ c.solve_rows) @ a
        return rows

    def _acting(self, x: Array, closed: set[str]) -> Acting:
        equations = self._equations
        e = equations.storages.efforts(x)
        a = equations.constraints.at(equations.states.reads)
        n = equations.layout.linear
        processes: list[Process] = []
        parts: list[Bounds] = []
        own: list[Array] = []
        rows: list[Array] = []
        normal: list[int] = []
        for p in self.processes:
            if p.box not in closed:
                continue
            states = equations.states.reads[p.box]
            component = p.component
            found = component.closed(states) if isinstance(component, Contact) else None
            bounds = component.bounds(states) if found is None else found
            if bounds is None:
                continue
            columns = self._columns(p, a)
            normal += [int(k) + len(own) if k >= 0 else -1 for k in bounds.normal]
            parts.append(bounds)
            for row in bounds.rows:
                processes.append(p)
                own.append(row)
                rows.append(row @ columns)
        if not rows:
            none = np.zeros(0)
            empty = np.zeros((0, 0))
            index = np.zeros(0, dtype=np.intp)
            return Acting([], none, none, none, index, none, [], none, empty, np.zeros((n, 0)))
        stacked = np.array(rows)
        push = stacked[:, :n].T
        if equations.constraints.count:
            g = equations.constraints.acting(a)[:, :n]
            s, turned = g @ equations.storages.Q @ g.T, g @ equations.storages.Q @ push
            kappa = np.column_stack([equations.solve(s, column) for column in turned.T])
            push = push - g.T @ kappa
        return Acting(
            processes,
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            np.concatenate([part.friction for part in parts]),
            np.array(normal, dtype=np.intp),
            np.concatenate([part.restitution for part in parts]),
            own,
            stacked @ e,
            stacked[:, :n] @ equations.storages.Q @ push,
            push,
        )


def _impulses(here: Acting, velocity: Array, dt: float, given: Array, returned: Array) -> Array:
    """Return the impulses within bounds by the projected Gauss-Seidel method, (k,).

    Args:
        here: the processes.
        velocity: (k,) with the impulses that are already given.
        dt: duration that multiplies the bounds of forces, s.
        given: (k,) impulses.
        returned: (k,) velocities at which contacts leave.
    """
    total = given.copy()
    u = velocity.copy()
    diagonal = np.maximum(np.diagonal(here.mobility), 1e-300)
    for _ in range(_SWEEPS):
        largest = 0.0
        for k in range(total.size):
            wanted = total[k] + (u[k] - returned[k]) / diagonal[k]
            if here.normal[k] >= 0:
                # All rows of one normal share its cone: what the others take is not left.
                limit = here.friction[k] * max(-total[here.normal[k]], 0.0)
                others = [j for j in np.flatnonzero(here.normal == here.normal[k]) if j != k]
                limit = float(np.sqrt(max(limit**2 - float((total[others] ** 2).sum()), 0.0)))
                bounded = min(max(wanted, -limit), limit)
            else:
                bounded = min(max(wanted, here.lower[k] * dt), here.upper[k] * dt)
            change = bounded - total[k]
            if change:
                u -= here.mobility[:, k] * change
                total[k] = bounded
                largest = max(largest, abs(change) * diagonal[k])
        if largest <= _CONVERGED * (1.0 + float(np.abs(u).max(initial=0.0))):
            break
    return total


def _matched(before: Acting, impulses: Array, after: Acting) -> Array:
    """Return the impulses of the rows that act before a step, by the rows that act after it."""
    known: dict[str, list[float]] = {}
    for p, impulse in zip(before.processes, impulses, strict=True):
        known.setdefault(p.box, []).append(float(impulse))
    found = [known[p.box].pop(0) if known.get(p.box) else 0.0 for p in after.processes]
    return np.array(found)


def _joined(first: Move, second: Move) -> Move:
    first.supply.append(second.supply)
    along = first.along + second.along
    return Move(second.x, along, first.supply, first.iterations + second.iterations)
