# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction that is faster than a step.

Friction d on an inertia m stops a motion within m / d. Explicit stages and fixed-point iterations
need steps below some m / d, which for dry friction on a light link are microseconds. Over a longer
step the force of such friction is held at its mean over the step. The mean follows from the motion
of the joints with the other forces held, ``udot = a - W f(u)``, by the Radau IIA scheme of third
order, which is stable for any friction. The work of the held force in the scheme becomes heat, so
the first law holds as in the scheme itself; where the work would be negative, the step is halved.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from vms_ph_dynamics import Array

from ..components import Irreversible, SetValued, Storage
from ..equations import Equations
from ..equations.layout import StateEntry
from ..equations.states import Index
from ..errors import SimulationError
from .steps import Supply

_RADAU_A = np.array([[5.0, -1.0], [9.0, 3.0]]) / 12.0
_RADAU_B = np.array([0.75, 0.25])

# Relative to the velocities; the remainder becomes an error of the force, not of the laws.
_TOLERANCE = 1e-12
_MAX_ITERATIONS, _MAX_HALVINGS = 40, 10

# Heat that is far more than a capacity had takes some halvings of the change of entropy.
_MAX_HEATINGS = 200

# Share of the heat of a step that may come from joints which reverse.
_REVERSAL_SHARE = 1e-3


class HeldProcess(NamedTuple):
    """An irreversible component whose force can be held, and where its heat goes."""

    box: str
    component: Irreversible
    indices: Index
    mechanical: Index
    entropy_index: int
    heat_state: StateEntry


class StiffProcesses(NamedTuple):
    """The components to hold in a step, and the linear motion of their velocities.

    Attributes:
        processes: to hold.
        slices: of each among the stacked velocities.
        velocity: (k,) at the beginning.
        mobility: W, (k,k): minus the acceleration per force of friction.
        acceleration: (k,) by all other forces.
    """

    processes: list[HeldProcess]
    slices: list[slice]
    velocity: Array
    mobility: Array
    acceleration: Array


class StiffFriction:
    """Finds the friction that is faster than a step, its mean force, and its heat.

    Args:
        equations: of the system.
        max_ratio: ratio of the step to the time in which friction acts, above which it is held.
    """

    def __init__(self, equations: Equations, max_ratio: float) -> None:
        self._equations, self._max_ratio = equations, max_ratio
        self._processes: list[HeldProcess] = []
        constraints, layout = equations.constraints, equations.layout
        if constraints.undetermined_basis.shape[1] or constraints.multiplier_basis.shape[1]:
            return  # velocities without mass follow from friction itself
        for box, component in layout.components.items():
            if isinstance(component, Irreversible) and not isinstance(component, SetValued):
                ports = [
                    p
                    for p, indices in component.slices.items()
                    if component.is_entropy[indices].any()
                ]
                entry = layout.states.get(layout.junctions[f"{box}.{ports[0]}"]) if ports else None
                if len(ports) == 1 and entry is not None and component.width > 1:
                    ids = equations.processes.indices[box]
                    mechanical = np.flatnonzero(component.is_entropy == 0.0)
                    s = component.slices[ports[0]].start
                    self._processes.append(HeldProcess(box, component, ids, mechanical, s, entry))
        self._slices = _slices([process.mechanical.size for process in self._processes])
        indices_list = [p.indices[p.mechanical] for p in self._processes]
        self._velocity_indices = np.concatenate([np.zeros(0, dtype=np.intp), *indices_list])

    def find_stiff(self, x: Array, dt: float) -> StiffProcesses | None:
        """Return the friction that is too fast for a step of ``dt`` s from a state, or None."""
        if not self._processes:
            return None
        equations = self._equations
        core = equations.core
        if core is not None and dt * core.friction_decay_rate(x) <= self._max_ratio:
            return None
        e = equations.storages.efforts(x)
        a = equations.constraints.variable_rows(equations.states.views)
        columns = equations.constraints.velocity_rows(self._velocity_indices, a)
        velocities = columns @ e
        slices = self._slices
        tensors = [
            self._friction_tensor(process, e, velocities[indices])
            for process, indices in zip(self._processes, slices, strict=True)
        ]
        n = equations.layout.quadratic_size
        velocity_per_impulse = columns[:, :n] @ equations.storages.Q
        free_mobility = velocity_per_impulse @ columns[:, :n].T
        # Constraints only add inertia, so that without them the ratio is an upper bound.
        if dt * _stopping_rate(free_mobility, slices, tensors) <= self._max_ratio:
            return None
        mobility = velocity_per_impulse @ equations.impulse_response(columns, a)[0]
        # What is left has at most the limit, the sum of the ratios being that of the rates.
        single_limit = self._max_ratio / len(slices)
        stiff_processes = [
            k
            for k, (indices, d) in enumerate(zip(slices, tensors, strict=True))
            if dt * _stopping_rate(mobility, [indices], [d]) > single_limit
        ]
        if not stiff_processes:
            return None
        rows = np.concatenate([np.arange(slices[k].start, slices[k].stop) for k in stiff_processes])
        held_parts = [self._processes[stiff_process] for stiff_process in stiff_processes]
        with equations.processes.imposing({p.box: np.zeros(p.component.width) for p in held_parts}):
            rate = equations.tangent(x, None)[0]
        return StiffProcesses(
            held_parts,
            _slices([held_part.mechanical.size for held_part in held_parts]),
            velocities[rows],
            mobility[np.ix_(rows, rows)],
            velocity_per_impulse[rows] @ rate[:n],
        )

    def velocity(self, stiff: StiffProcesses, x: Array) -> Array:
        """Return the velocities at the ports of the held components at a state, (k,)."""
        e = self._equations.storages.efforts(x)
        a = self._equations.constraints.variable_rows(self._equations.states.views)
        indices = np.concatenate([p.indices[p.mechanical] for p in stiff.processes])
        return self._equations.constraints.velocity_rows(indices, a) @ e

    def mean_force(self, stiff: StiffProcesses, x: Array, dt: float, acceleration: Array) -> Array:
        """Return the mean force of friction over a step in which other forces are held, (k,).

        Raises:
            SimulationError: the iteration does not converge.
        """
        equations = self._equations
        equations.states.set_state(x)
        efforts = equations.storages.efforts(x)
        for halvings in range(_MAX_HALVINGS):
            substeps = 2**halvings
            u, mean_force = stiff.velocity, np.zeros(stiff.velocity.size)
            for _ in range(substeps):
                radau_result = self._radau(stiff, efforts, u, dt / substeps, acceleration)
                if radau_result is None:
                    break
                force, u = radau_result
                mean_force += force / substeps
            else:
                return mean_force
        raise SimulationError(
            f"the force of friction in '{stiff.processes[0].box}' cannot be found over a step of "
            f"{dt:g} s; use a shorter one"
        )

    def flows(self, stiff: StiffProcesses, force: Array) -> dict[str, Array]:
        """Return the flows into the held components: their force, and no heat yet."""
        flows_by_box: dict[str, Array] = {}
        for process, indices in zip(stiff.processes, stiff.slices, strict=True):
            flows_by_box[process.box] = np.zeros(process.component.width)
            flows_by_box[process.box][process.mechanical] = force[indices]
        return flows_by_box

    def heat(
        self, stiff: StiffProcesses, force: Array, supply: Supply
    ) -> list[tuple[StateEntry, float]] | None:
        """Return the work of the held forces by where its heat goes, J; None if it is negative.

        Where a joint reverses, its mean force and its path may differ in sign by little; that
        little is taken from the heat of the others, so that none is negative and the sum is exact.
        """
        process_works = np.array(
            [
                force[indices] @ supply.effort_integral[process.indices[process.mechanical]]
                for process, indices in zip(stiff.processes, stiff.slices, strict=True)
            ]
        )
        heats = np.maximum(process_works, 0.0)
        total_heat, positive_heat = float(process_works.sum()), float(heats.sum())
        if total_heat < (1.0 - _REVERSAL_SHARE) * positive_heat:
            return None
        if positive_heat > 0.0:
            heats *= total_heat / positive_heat
        return [(p.heat_state, float(heat)) for p, heat in zip(stiff.processes, heats, strict=True)]

    def add_heat(self, x: Array, entry: StateEntry, heat: float) -> float:
        """Return the entropy by which heat, J, raises a state of entropy in x, in place, J/K."""
        equations = self._equations
        box, _, port = entry.port.rpartition(".")
        storage = equations.layout.components[box]
        assert isinstance(storage, Storage)  # states belong to storages
        indices = storage.slices[port]
        equations.states.set_state(x)
        views_before = tuple(view.copy() for view in equations.states.views[box])
        step = np.zeros(storage.width)
        # Temperatures rise with entropy: the change is between zero and that at the first one.
        change, low, high = 0.0, 0.0, np.inf
        for _ in range(_MAX_HEATINGS):
            halfway, end_states = (
                tuple(
                    b + share * step[storage.slices[name]] if name == port else b
                    for name, b in zip(storage.interface, views_before, strict=True)
                )
                for share in (0.5, 1.0)
            )
            with np.errstate(over="ignore", invalid="ignore"):
                theta = float(storage.discrete(views_before, halfway, end_states, step)[indices][0])
            last, change = change, heat / theta
            if abs(change - last) <= 1e-16 * abs(change):
                break
            if heat > 0.0:
                low, high = (max(low, last), high) if change > last else (low, min(high, last))
                high = change if last == 0.0 else high
                if not low < change < high and last > 0.0:
                    change = 0.5 * (low + high)
            step[indices] = change
        x[entry.indices] += change
        return change

    def _friction_tensor(self, p: HeldProcess, stored_efforts: Array, velocity: Array) -> Array:
        """Return the force per velocity, the larger of that at rest and that at present, (d,d)."""
        e, e_0 = np.zeros(p.component.width), np.zeros(p.component.width)
        e[p.entropy_index] = e_0[p.entropy_index] = stored_efforts[p.heat_state.tangent.start]
        e[p.mechanical] = velocity
        theta_0, indices = self._equations.theta_0, np.ix_(p.mechanical, p.mechanical)
        states = self._equations.states.views[p.box]
        rest_tensor, present_tensor = (
            p.component.matrix(states, efforts, theta_0)[indices] / theta_0 for efforts in (e_0, e)
        )
        return rest_tensor if np.trace(rest_tensor) >= np.trace(present_tensor) else present_tensor

    def _radau(
        self, stiff: StiffProcesses, efforts: Array, u: Array, dt: float, acceleration: Array
    ) -> tuple[Array, Array] | None:
        """Return mean force and final velocity of a step, or None if Newton does not converge."""
        k = u.size
        # Sliding joints begin at their deceleration, stopping ones at rest: from there Newton's
        # method does not overshoot the steep part of dry friction.
        slowed_velocity = u - dt * np.diagonal(stiff.mobility) * self._force(stiff, efforts, u)
        stages = np.tile(np.where(slowed_velocity * u > 0.0, slowed_velocity, 0.0), (2, 1))

        def residual(stages: Array) -> tuple[Array, Array]:
            forces = np.array([self._force(stiff, efforts, stage) for stage in stages])
            rates = acceleration - forces @ stiff.mobility
            return stages - u - dt * (_RADAU_A @ rates), forces

        r, forces = residual(stages)
        for _ in range(_MAX_ITERATIONS):
            jacobian = np.eye(2 * k)
            for j in range(2):
                product = dt * stiff.mobility @ self._force_slope(stiff, efforts, stages[j])
                for i in range(2):
                    jacobian[i * k : (i + 1) * k, j * k : (j + 1) * k] += _RADAU_A[i, j] * product
            try:
                change = np.linalg.solve(jacobian, r.ravel()).reshape(2, k)
            except np.linalg.LinAlgError:
                return None
            residual_norm, step_factor = float(np.linalg.norm(r)), 1.0
            while step_factor > 1e-4:
                r, forces = residual(stages - step_factor * change)
                if np.linalg.norm(r) <= (1.0 - 1e-3 * step_factor) * residual_norm:
                    break
                step_factor *= 0.5
            stages = stages - step_factor * change
            scale = 1.0 + float(np.abs(stages).max())
            if float(np.abs(step_factor * change).max()) <= _TOLERANCE * scale:
                return _RADAU_B @ forces, stages[1]
        return None

    def _force(self, stiff: StiffProcesses, efforts: Array, u: Array) -> Array:
        force = np.empty(u.size)
        for p, indices in zip(stiff.processes, stiff.slices, strict=True):
            force[indices] = self._flow(p, efforts, u[indices])
        return force

    def _force_slope(self, stiff: StiffProcesses, e: Array, u: Array) -> Array:
        d = np.zeros((u.size, u.size))
        for p, indices in zip(stiff.processes, stiff.slices, strict=True):
            for i in range(indices.stop - indices.start):
                step = np.zeros(indices.stop - indices.start)
                step[i] = 1e-7 * (1e-2 + abs(u[indices.start + i]))
                forward, backward = (self._flow(p, e, u[indices] + s * step) for s in (1.0, -1.0))
                d[indices, indices.start + i] = (forward - backward) / (2.0 * step[i])
        return d

    def _flow(self, p: HeldProcess, efforts: Array, u: Array) -> Array:
        e = np.empty(p.component.width)
        e[p.mechanical] = u
        e[p.entropy_index] = efforts[p.heat_state.tangent.start]
        theta_0 = self._equations.theta_0
        return p.component.flows(self._equations.states.views[p.box], e, theta_0)[p.mechanical]


def _slices(sizes: list[int]) -> list[slice]:
    return [slice(a, b) for a, b in pairwise(np.cumsum([0, *sizes]).tolist())]


def _stopping_rate(mobility: Array, slices: list[slice], tensors: list[Array]) -> float:
    """Return the sum of the rates at which friction of the given slopes stops motions, 1/s."""
    return float(
        sum(
            np.sum(mobility[indices, indices] * tensor.T)
            for indices, tensor in zip(slices, tensors, strict=True)
        )
    )
