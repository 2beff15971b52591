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
from .impulses import ActiveRows, BoundedProcess, impulses
from .steps import Inputs, Step, flows_at
from .stiff_friction import StiffFriction

# A contact is closed at a gap below this, m; impacts are located to the same.
_CONTACT_GAP = 1e-9
_MAX_BISECTIONS = 60

# Impacts of one step after which approach velocities no longer return: a bounce that dies away.
_MAX_IMPACTS = 8

# Iterations for the forces of a step, and the velocity to which they are found, m/s.
_MAX_CORRECTIONS, _FORCE_TOLERANCE = 12, 1e-13
_REST_SPEED = 1e-9

# In parts of a step that are shorter, s, the forces follow from velocities alone: the rounding of a
# gap, divided by the square of the duration, would act as a large acceleration.
_SHORTEST_STEP = 1e-7

# Contacts that close within one step, after which the step is no longer cut.
_MAX_CUTS = 64

# Of the largest work in a step: what rounding may leave of a work that should be zero.
_ROUNDING = 1e-12

Scheme = Callable[[Array, float, float], Step]
"""The step of a scheme from a state, at a time, over a duration."""


class BoundedForces:
    """The set-valued processes of a system, and steps in which they act.

    Args:
        equations: of the system.
        friction: of the same scheme; it puts heat into storages of entropy.
    """

    def __init__(self, equations: Equations, friction: StiffFriction) -> None:
        self._equations, self._friction = equations, friction
        self.processes: list[BoundedProcess] = []
        layout = equations.layout
        for box, component in layout.components.items():
            if isinstance(component, SetValued):
                box_indices = equations.processes.indices[box]
                entry = layout.states[layout.junctions[f"{box}.s"]]
                self.processes.append(BoundedProcess(box, component, box_indices[:-1], entry))
        self._zero_forces = {p.box: np.zeros(p.component.width) for p in self.processes}

    def step(self, scheme: Scheme, x: Array, inputs: Inputs | None, t: float, dt: float) -> Step:
        """Return a step of ``dt`` s; ``scheme`` is that of all other forces."""
        combined_step: Step | None = None
        remaining_time, impact_count = dt, 0
        while remaining_time > 0.0:
            step, duration, is_impact = self._step_to_contact(
                scheme, x, inputs, t, remaining_time, impact_count
            )
            impact_count += is_impact
            combined_step = step if combined_step is None else combined_step.followed_by(step)
            x, t, remaining_time = step.x, t + duration, remaining_time - duration
        assert combined_step is not None  # a step has a duration
        return combined_step

    def _step_to_contact(
        self, scheme: Scheme, x: Array, inputs: Inputs | None, t: float, dt: float, impacts: int
    ) -> tuple[Step, float, bool]:
        """Return a step that ends where a contact closes, its duration, and whether one did."""
        closed_boxes = {p.box for p in self.processes if self._gap(p, x) <= _CONTACT_GAP}
        open_contacts = [process for process in self.processes if process.box not in closed_boxes]
        active = self._active_rows(x, closed_boxes)
        force, step = self._solve_forces(
            active, self._predict_forces(active, x, inputs, t, dt), scheme, x, t, dt
        )
        can_bounce = impacts < _MAX_IMPACTS
        if impacts >= _MAX_CUTS or self._smallest_gap(open_contacts, step.x) >= -_CONTACT_GAP:
            return self._apply_impulses(active, force, step, dt, can_bounce), dt, False
        low, high = 0.0, 1.0
        for _ in range(_MAX_BISECTIONS):
            fraction = 0.5 * (low + high)
            step = self._move_with_forces(active, force, scheme, x, t, fraction * dt)
            gap = self._smallest_gap(open_contacts, step.x)
            low, high = (low, fraction) if gap < -_CONTACT_GAP else (fraction, high)
            if abs(gap) <= _CONTACT_GAP:
                break
        duration = fraction * dt
        force, step = self._solve_forces(active, force, scheme, x, t, duration)
        return self._apply_impulses(active, force, step, duration, can_bounce), duration, True

    def _solve_forces(
        self, active: ActiveRows, force: Array, scheme: Scheme, x: Array, t: float, dt: float
    ) -> tuple[Array, Step]:
        """Return the forces of a step, (k,), and the step with them.

        Closed contacts do not open or close, and what rests does not slide, as far as bounds allow.
        """
        is_at_rest = self._rows_at_rest(active)
        gaps = self._gaps(active, x)
        for _ in range(_MAX_CORRECTIONS if dt > _SHORTEST_STEP else 0):
            step = self._move_with_forces(active, force, scheme, x, t, dt)
            velocity = np.where(is_at_rest, (2.0 / dt) * self._path_lengths(active, step), 0.0)
            if not is_at_rest.all():
                sliding_velocity = np.where(is_at_rest, 0.0, self._velocity(active, step.x))
                velocity = velocity + sliding_velocity
            is_normal = np.isfinite(gaps)
            velocity[is_normal] = (2.0 / dt) * (self._gaps(active, step.x) - gaps)[is_normal]
            zeros = np.zeros(force.size)
            next_force = impulses(active, velocity, dt, force * dt, zeros) / dt
            velocity_change = np.abs(next_force - force) * np.diagonal(active.mobility) * dt
            if np.max(velocity_change, initial=0.0) <= _FORCE_TOLERANCE * (
                1.0 + np.abs(velocity).max(initial=0.0)
            ):
                break
            force = next_force
        else:
            step = self._move_with_forces(active, force, scheme, x, t, dt)
        gains_energy = self._has_energy_gain(active, force, step)
        if gains_energy.any():
            # Friction that a motion turns back within a step would give energy.
            force = np.where(gains_energy, 0.0, force)
            step = self._move_with_forces(active, force, scheme, x, t, dt)
        return force, step

    def _move_with_forces(
        self, active: ActiveRows, force: Array, scheme: Scheme, x: Array, t: float, dt: float
    ) -> Step:
        """Return the smooth step with forces held."""
        forces_by_box = {
            box: ConstantForce(process.component, force[indices])
            for box, (process, indices) in self._rows_by_box(active).items()
        }
        with self._equations.processes.imposing({**self._zero_forces, **forces_by_box}):
            return scheme(x, t, dt)

    @staticmethod
    def _rows_by_box(active: ActiveRows) -> dict[str, tuple[BoundedProcess, Index]]:
        """Return every process with the places of its rows."""
        processes_by_box: dict[str, tuple[BoundedProcess, Index]] = {}
        for k, p in enumerate(active.processes):
            no_rows = np.zeros(0, dtype=np.intp)
            indices = processes_by_box[p.box][1] if p.box in processes_by_box else no_rows
            processes_by_box[p.box] = (p, np.append(indices, k))
        return processes_by_box

    @staticmethod
    def _rows_at_rest(active: ActiveRows) -> Any:
        """Return which rows do not move, with all rows of friction at their contact, (k,)."""
        is_at_rest = np.abs(active.velocity) <= _REST_SPEED
        for normal_row in np.unique(active.normal_index[active.normal_index >= 0]):
            indices = active.normal_index == normal_row
            is_at_rest[indices] = is_at_rest[indices].all()
        return is_at_rest

    def _gaps(self, active: ActiveRows, x: Array) -> Array:
        """Return the gaps at the rows of contacts, m; not a number at other rows."""
        gaps = np.full(len(active.processes), np.nan)
        for process, indices in self._rows_by_box(active).values():
            if isinstance(process.component, Contact):
                gaps[indices[0]] = self._gap(process, x)
        return gaps

    def _path_lengths(self, active: ActiveRows, step: Step) -> Array:
        """Return the paths along the rows in a step, (k,)."""
        paths = np.zeros(len(active.processes))
        for box, (_, indices) in self._rows_by_box(active).items():
            paths[indices] = step.supply.row_integrals[box]
        return paths

    def _velocity(self, active: ActiveRows, x: Array) -> Array:
        """Return the velocities along the rows at another state, (k,)."""
        equations = self._equations
        e = equations.storages.efforts(x)
        A = equations.constraints.variable_rows(equations.states.views)
        velocities = np.zeros(len(active.processes))
        for box, (process, indices) in self._rows_by_box(active).items():
            rows = process.component.directions(equations.states.views[box])
            columns = equations.constraints.velocity_rows(process.velocity_indices, A)
            velocities[indices] = rows @ (columns @ e)
        return velocities

    def _has_energy_gain(self, active: ActiveRows, force: Array, step: Step) -> Any:
        """Return which rows have friction that gives energy in a step, (k,)."""
        row_works = force * self._path_lengths(active, step)
        rounding = _ROUNDING * (1.0 + np.abs(row_works).max(initial=0.0))
        is_normal = np.isinf(active.lower)
        return (row_works < -rounding) & ~is_normal

    def _predict_forces(
        self, active: ActiveRows, x: Array, inputs: Inputs | None, t: float, dt: float
    ) -> Array:
        """Return the forces that the velocities at the end of a step call for."""
        if not active.processes:
            return np.zeros(0)
        equations, n = self._equations, self._equations.layout.quadratic_size
        flow = equations.flow_vector(flows_at(inputs, t, x))
        with equations.processes.imposing(self._zero_forces):
            rate = equations.tangent(x, flow)[0]
        velocity = active.velocity + dt * (active.rows[:, :n] @ (equations.storages.Q @ rate[:n]))
        zeros = np.zeros(velocity.size)
        return impulses(active, velocity, dt, zeros, zeros) / dt

    def _apply_impulses(
        self, step_rows: ActiveRows, force: Array, step: Step, dt: float, can_bounce: bool
    ) -> Step:
        """Return a step with the impulses at its end, and the heat of all forces.

        Impulses of rows that acted in the step correct its forces; where contacts have closed, an
        impact with its own impulses follows.
        """
        heats = dict.fromkeys((process.box for process in self.processes), 0.0)
        step_works = force * self._path_lengths(step_rows, step)
        for p, work in zip(step_rows.processes, step_works, strict=True):
            heats[p.box] += max(float(work), 0.0)
        dissipated_energy = float(step_works.sum())
        closed_boxes = {p.box for p in self.processes if self._gap(p, step.x) <= _CONTACT_GAP}
        active_boxes = closed_boxes & {p.box for p in step_rows.processes}
        x, increment = step.x.copy(), step.increment.copy()
        impact_stages = [(active_boxes, dt)] if active_boxes else []
        impact_stages += [(closed_boxes, 0.0)] if closed_boxes - active_boxes else []
        for boxes, duration in impact_stages:
            active = self._active_rows(x, boxes)
            if duration:
                impulse, rebound = (
                    _match_impulses(step_rows, force * dt, active),
                    0.0 * active.velocity,
                )
            else:
                impulse = 0.0 * active.velocity
                rebound = active.restitution * np.maximum(-active.velocity, 0.0) * can_bounce
            impulse_change, row_works = _impact(active, duration, impulse, rebound)
            if row_works.sum() < 0.0 and rebound.any():
                impulse_change, row_works = _impact(active, duration, impulse, 0.0 * rebound)
            n = self._equations.layout.quadratic_size
            momentum_change = -(active.momentum_response @ impulse_change)
            x[:n] += momentum_change
            increment[:n] += momentum_change
            dissipated_energy += float(row_works.sum())
            for p, work in zip(active.processes, row_works, strict=True):
                heats[p.box] += max(float(work), 0.0)
        heat_sum = sum(heats.values())
        for p in self.processes:
            heat = heats[p.box] * dissipated_energy / heat_sum if heat_sum > 0.0 else 0.0
            if heat > 0.0:
                increment[p.heat_state.tangent] += self._friction.add_heat(x, p.heat_state, heat)
        return step._replace(x=x, increment=increment)

    def _gap(self, process: BoundedProcess, x: Array) -> float:
        """Return the gap of a contact, m; dry friction always acts."""
        if not isinstance(process.component, Contact):
            return 0.0
        self._equations.states.set_state(x)
        return process.component.gap(self._equations.states.views[process.box])

    def _smallest_gap(self, processes: list[BoundedProcess], x: Array) -> float:
        return min((self._gap(process, x) for process in processes), default=0.0)

    def _active_rows(self, x: Array, closed_boxes: set[str]) -> ActiveRows:
        equations = self._equations
        e = equations.storages.efforts(x)
        A = equations.constraints.variable_rows(equations.states.views)
        n = equations.layout.quadratic_size
        processes: list[BoundedProcess] = []
        bounds_list: list[Bounds] = []
        rows: list[Array] = []
        normal_index: list[int] = []
        for process in self.processes:
            if process.box not in closed_boxes:
                continue
            states = equations.states.views[process.box]
            component = process.component
            bounds = component.closed_bounds(states) if isinstance(component, Contact) else None
            bounds = component.bounds(states) if bounds is None else bounds
            if bounds is None:
                continue
            columns = equations.constraints.velocity_rows(process.velocity_indices, A)
            normal_index += [int(k) + len(rows) if k >= 0 else -1 for k in bounds.normal_index]
            bounds_list.append(bounds)
            for row in bounds.rows:
                processes.append(process)
                rows.append(row @ columns)
        jacobian = np.reshape(rows, (len(rows), e.size))
        no_values = [np.zeros(0)]
        momentum_response, reactions = equations.impulse_response(jacobian, A)
        velocity = jacobian @ e
        if reactions.size:
            # Of the velocities that impulses act on, also where a scheme leaves the constraints.
            velocity = velocity - reactions.T @ (equations.constraints.matrix(A)[:, :n] @ e[:n])
        return ActiveRows(
            processes,
            np.concatenate([*no_values, *(b.lower for b in bounds_list)]),
            np.concatenate([*no_values, *(b.upper for b in bounds_list)]),
            np.concatenate([*no_values, *(b.friction for b in bounds_list)]),
            np.array(normal_index, dtype=np.intp),
            np.concatenate([*no_values, *(b.restitution for b in bounds_list)]),
            jacobian,
            velocity,
            jacobian[:, :n] @ equations.storages.Q @ momentum_response,
            momentum_response,
        )


def _impact(active: ActiveRows, dt: float, impulse: Array, rebound: Array) -> tuple[Array, Array]:
    """Return the impulses beyond those given, and their works, J, (k,) each."""
    impulse_change = impulses(active, active.velocity, dt, impulse, rebound) - impulse
    velocity_after = active.velocity - active.mobility @ impulse_change
    return impulse_change, 0.5 * impulse_change * (active.velocity + velocity_after)


def _match_impulses(before: ActiveRows, impulses: Array, after: ActiveRows) -> Array:
    """Return the impulses of the rows that act before a step, by the rows that act after it."""
    by_box: dict[str, list[float]] = {}
    for p, impulse in zip(before.processes, impulses, strict=True):
        by_box.setdefault(p.box, []).append(float(impulse))
    matched_impulses = [by_box[p.box].pop(0) if by_box.get(p.box) else 0.0 for p in after.processes]
    return np.array(matched_impulses)
