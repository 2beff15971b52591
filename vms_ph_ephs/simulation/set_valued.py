# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Dry friction and unilateral contact: forces within bounds, found together with the motion.

In a step the forces that keep joints at rest and contacts closed are held: they follow from the
velocities that the other forces would lead to. What then remains at its end, such as the velocity
of a joint that comes to rest within the step or of an impact, is taken by impulses. Their work,
``P . (u + u_after) / 2``, is the exact change of kinetic energy and never negative; all of it
becomes heat. A contact closes at the instant at which its gap does: the step is cut there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from vms_ph_dynamics import Array

from ..components.set_valued import Bounds, ConstantForce, Contact, SetValued
from ..equations import Equations
from ..equations.states import Index
from .impulses import Acting, Process, impulses
from .steps import Inputs, Move, acting
from .stiff_friction import StiffFriction

# A contact is closed at a gap below this, m; impacts are located to the same.
_CLOSED = 1e-9
_BISECTIONS = 60

# Impacts of one step after which approach velocities no longer return: a bounce that dies away.
_IMPACTS = 8

# Iterations for the forces of a step, and the velocity to which they are found, m/s.
_CORRECTIONS, _SOLVED = 12, 1e-13
_AT_REST = 1e-9

# Parts of a step that are shorter, s, have forces by velocities alone: the rounding of gaps over
# the square of their duration would be a large acceleration, what gaps change in them is not.
_SHORT = 1e-7

# Contacts that close within one step, after which the step is no longer cut.
_CUTS = 64

# Of the largest work in a step: what rounding may leave of a work that should be zero.
_ROUNDING = 1e-12

Smooth = Callable[[Array, float, float], Move]
"""The step of a scheme from a state, at a time, over a duration."""


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
                entry = layout.states[layout.junctions[f"{box}.s"]]
                self.processes.append(Process(box, component, index[:-1], entry))
        self._none = {p.box: np.zeros(p.component.width) for p in self.processes}

    def move(self, smooth: Smooth, x: Array, inputs: Inputs | None, t: float, dt: float) -> Move:
        """Return a step of ``dt`` s; ``smooth`` is that of all other forces."""
        total: Move | None = None
        left, impacts = dt, 0
        while left > 0.0:
            part, passed, hit = self._part(smooth, x, inputs, t, left, impacts)
            impacts += hit
            total = part if total is None else total.then(part)
            x, t, left = part.x, t + passed, left - passed
        assert total is not None  # a step has a duration
        return total

    def _part(
        self, smooth: Smooth, x: Array, inputs: Inputs | None, t: float, dt: float, impacts: int
    ) -> tuple[Move, float, bool]:
        """Return a step that ends where a contact closes, its duration, and whether one did."""
        closed = {p.box for p in self.processes if self._gap(p, x) <= _CLOSED}
        open_ = [p for p in self.processes if p.box not in closed]
        here = self._acting(x, closed)
        force, move = self._solved(here, self._predicted(here, x, inputs, t, dt), smooth, x, t, dt)
        bounces = impacts < _IMPACTS
        if impacts >= _CUTS or self._deepest(open_, move.x) >= -_CLOSED:
            return self._settled(here, force, move, dt, bounces), dt, False
        early, late = 0.0, 1.0
        for _ in range(_BISECTIONS):
            share = 0.5 * (early + late)
            move = self._move_with_forces(here, force, smooth, x, t, share * dt)
            depth = self._deepest(open_, move.x)
            early, late = (early, share) if depth < -_CLOSED else (share, late)
            if abs(depth) <= _CLOSED:
                break
        passed = share * dt
        force, move = self._solved(here, force, smooth, x, t, passed)
        return self._settled(here, force, move, passed, bounces), passed, True

    def _solved(
        self, here: Acting, force: Array, smooth: Smooth, x: Array, t: float, dt: float
    ) -> tuple[Array, Move]:
        """Return the forces of a step, (k,), and the step with them.

        Closed contacts do not open or close, and what rests does not slide, as far as bounds allow.
        """
        sticking = self._sticking(here)
        gaps = self._gaps(here, x)
        for _ in range(_CORRECTIONS if dt > _SHORT else 0):
            move = self._move_with_forces(here, force, smooth, x, t, dt)
            predicted = np.where(sticking, (2.0 / dt) * self._slid(here, move), 0.0)
            if not sticking.all():
                sliding = np.where(sticking, 0.0, self._velocity(here, move.x))
                predicted = predicted + sliding
            is_normal = np.isfinite(gaps)
            predicted[is_normal] = (2.0 / dt) * (self._gaps(here, move.x) - gaps)[is_normal]
            none = np.zeros(force.size)
            better = impulses(here, predicted, dt, force * dt, none) / dt
            change = np.abs(better - force) * np.diagonal(here.mobility) * dt
            if np.max(change, initial=0.0) <= _SOLVED * (1.0 + np.abs(predicted).max(initial=0.0)):
                break
            force = better
        else:
            move = self._move_with_forces(here, force, smooth, x, t, dt)
        wrong = self._wrong(here, force, move)
        if wrong.any():
            # Friction that a motion turns back within a step would give energy.
            force = np.where(wrong, 0.0, force)
            move = self._move_with_forces(here, force, smooth, x, t, dt)
        return force, move

    def _move_with_forces(
        self, here: Acting, force: Array, smooth: Smooth, x: Array, t: float, dt: float
    ) -> Move:
        """Return the smooth step with forces held."""
        held = {
            box: ConstantForce(process.component, force[indices])
            for box, (process, indices) in self._by_box(here).items()
        }
        with self._equations.processes.imposing({**self._none, **held}):
            return smooth(x, t, dt)

    @staticmethod
    def _by_box(here: Acting) -> dict[str, tuple[Process, Index]]:
        """Return every process with the places of its rows."""
        processes_by_box: dict[str, tuple[Process, Index]] = {}
        for k, p in enumerate(here.processes):
            none = np.zeros(0, dtype=np.intp)
            before = processes_by_box[p.box][1] if p.box in processes_by_box else none
            processes_by_box[p.box] = (p, np.append(before, k))
        return processes_by_box

    @staticmethod
    def _sticking(here: Acting) -> Any:
        """Return which rows do not move, with all rows of friction at their contact, (k,)."""
        sticking = np.abs(here.velocity) <= _AT_REST
        for n in np.unique(here.normal[here.normal >= 0]):
            indices = here.normal == n
            sticking[indices] = sticking[indices].all()
        return sticking

    def _gaps(self, here: Acting, x: Array) -> Array:
        """Return the gaps at the rows of contacts, m; not a number at other rows."""
        gaps = np.full(len(here.processes), np.nan)
        for process, indices in self._by_box(here).values():
            if isinstance(process.component, Contact):
                gaps[indices[0]] = self._gap(process, x)
        return gaps

    def _slid(self, here: Acting, move: Move) -> Array:
        """Return the paths along the rows in a step, (k,)."""
        distances = np.zeros(len(here.processes))
        for box, (_, indices) in self._by_box(here).items():
            distances[indices] = move.supply.slid[box]
        return distances

    def _velocity(self, here: Acting, x: Array) -> Array:
        """Return the velocities along the rows at another state, (k,)."""
        equations = self._equations
        e = equations.storages.efforts(x)
        a = equations.constraints.at(equations.states.reads)
        velocities = np.zeros(len(here.processes))
        for box, (process, indices) in self._by_box(here).items():
            rows = process.component.directions(equations.states.reads[box])
            columns = equations.constraints.velocity_rows(process.velocities, a)
            velocities[indices] = rows @ (columns @ e)
        return velocities

    def _wrong(self, here: Acting, force: Array, move: Move) -> Any:
        """Return which rows have friction that gives energy in a step, (k,)."""
        works = force * self._slid(here, move)
        rounding = _ROUNDING * (1.0 + np.abs(works).max(initial=0.0))
        is_normal = np.isinf(here.lower)
        return (works < -rounding) & ~is_normal

    def _predicted(
        self, here: Acting, x: Array, inputs: Inputs | None, t: float, dt: float
    ) -> Array:
        """Return the forces that the velocities at the end of a step call for."""
        if not here.processes:
            return np.zeros(0)
        equations, n = self._equations, self._equations.layout.linear
        flow = equations.flow_of(acting(inputs, t, x))
        with equations.processes.imposing(self._none):
            rate = equations.tangent(x, flow)[0]
        predicted = here.velocity + dt * (here.rows[:, :n] @ (equations.storages.Q @ rate[:n]))
        none = np.zeros(predicted.size)
        return impulses(here, predicted, dt, none, none) / dt

    def _settled(self, before: Acting, force: Array, move: Move, dt: float, bounces: bool) -> Move:
        """Return a step with the impulses at its end, and the heat of all forces.

        Those of what acted in the step correct its forces; where contacts have closed, an impact
        follows, whose impulses are its own.
        """
        heats = dict.fromkeys((p.box for p in self.processes), 0.0)
        dissipated = force * self._slid(before, move)
        for p, work in zip(before.processes, dissipated, strict=True):
            heats[p.box] += max(float(work), 0.0)
        lost = float(dissipated.sum())
        closed = {p.box for p in self.processes if self._gap(p, move.x) <= _CLOSED}
        acted = closed & {p.box for p in before.processes}
        x, along = move.x.copy(), move.along.copy()
        stages = [(acted, dt)] if acted else []
        stages += [(closed, 0.0)] if closed - acted else []
        for boxes, duration in stages:
            here = self._acting(x, boxes)
            if duration:
                impulse, returned = _matched(before, force * dt, here), 0.0 * here.velocity
            else:
                impulse = 0.0 * here.velocity
                returned = here.restitution * np.maximum(-here.velocity, 0.0) * bounces
            change, works = _struck(here, duration, impulse, returned)
            if works.sum() < 0.0 and returned.any():
                change, works = _struck(here, duration, impulse, 0.0 * returned)
            n = self._equations.layout.linear
            pushed = -(here.push @ change)
            x[:n] += pushed
            along[:n] += pushed
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

    def _acting(self, x: Array, closed: set[str]) -> Acting:
        equations = self._equations
        e = equations.storages.efforts(x)
        a = equations.constraints.at(equations.states.reads)
        n = equations.layout.linear
        processes: list[Process] = []
        parts: list[Bounds] = []
        rows: list[Array] = []
        normal: list[int] = []
        for p in self.processes:
            if p.box not in closed:
                continue
            states = equations.states.reads[p.box]
            component = p.component
            bounds = component.closed(states) if isinstance(component, Contact) else None
            bounds = component.bounds(states) if bounds is None else bounds
            if bounds is None:
                continue
            columns = equations.constraints.velocity_rows(p.velocities, a)
            normal += [int(k) + len(rows) if k >= 0 else -1 for k in bounds.normal]
            parts.append(bounds)
            for row in bounds.rows:
                processes.append(p)
                rows.append(row @ columns)
        stacked = np.reshape(rows, (len(rows), e.size))
        none = [np.zeros(0)]
        push, kappa = equations.pushed(stacked, a)
        velocity = stacked @ e
        if kappa.size:
            # Of the velocities that impulses act on, also where a scheme leaves the constraints.
            velocity = velocity - kappa.T @ (equations.constraints.acting(a)[:, :n] @ e[:n])
        return Acting(
            processes,
            np.concatenate([*none, *(part.lower for part in parts)]),
            np.concatenate([*none, *(part.upper for part in parts)]),
            np.concatenate([*none, *(part.friction for part in parts)]),
            np.array(normal, dtype=np.intp),
            np.concatenate([*none, *(part.restitution for part in parts)]),
            stacked,
            velocity,
            stacked[:, :n] @ equations.storages.Q @ push,
            push,
        )


def _struck(here: Acting, dt: float, impulse: Array, returned: Array) -> tuple[Array, Array]:
    """Return the impulses beyond those given, and their works, J, (k,) each."""
    change = impulses(here, here.velocity, dt, impulse, returned) - impulse
    after = here.velocity - here.mobility @ change
    return change, 0.5 * change * (here.velocity + after)


def _matched(before: Acting, impulses: Array, after: Acting) -> Array:
    """Return the impulses of the rows that act before a step, by the rows that act after it."""
    by_box: dict[str, list[float]] = {}
    for p, impulse in zip(before.processes, impulses, strict=True):
        by_box.setdefault(p.box, []).append(float(impulse))
    matched = [by_box[p.box].pop(0) if by_box.get(p.box) else 0.0 for p in after.processes]
    return np.array(matched)
