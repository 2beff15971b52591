# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Impulses within bounds: the smallest that the velocities along their rows call for."""

from typing import NamedTuple

import numpy as np

from vms_ph_dynamics import Array

from ..components.set_valued import SetValued
from ..equations.layout import StateEntry
from ..equations.states import Index
from ..errors import SimulationError

# Sweeps, the change of a velocity in one that ends them, and the largest accepted after all, m/s.
_MAX_SWEEPS, _TOLERANCE, _MAX_CHANGE = 2000, 1e-14, 1e-9

# Sweeps after which the linear system is tried, and the velocity to which it must hold, m/s.
_EXACT_SWEEPS, _EXACT_TOLERANCE = frozenset((1, 3, 7, 15, 30, 60, 120, 240, 480, 960, 1920)), 1e-13


class BoundedProcess(NamedTuple):
    """A component with bounded forces, the place of its velocities, and where its heat goes."""

    box: str
    component: SetValued
    velocity_indices: Index
    heat_state: StateEntry


class ActiveRows(NamedTuple):
    """The processes that may act at a configuration, as rows of one linear system.

    Attributes:
        processes: one per row.
        lower, upper, friction, normal_index, restitution: as :class:`.Bounds`, of the rows.
        rows: (k,stored) of the velocities over stored efforts.
        velocity: (k,) at the configuration.
        mobility: W, (k,k): the change of the velocities by impulses is ``-W P``.
        momentum_response: (linear,k), N: that of the momenta is ``-N P``.
    """

    processes: list[BoundedProcess]
    lower: Array
    upper: Array
    friction: Array
    normal_index: Index
    restitution: Array
    rows: Array
    velocity: Array
    mobility: Array
    momentum_response: Array


def impulses(active: ActiveRows, velocity: Array, dt: float, guess: Array, rebound: Array) -> Array:
    """Return the impulses within bounds that the velocities call for, (k,).

    The projected Gauss-Seidel method finds which contacts press, stick and slide; what presses and
    sticks is then a linear system, whose solution is taken if it is within all bounds. The rows of
    friction at one contact are found together, so that friction is against the sliding in whatever
    direction that is.

    Args:
        active: the processes.
        velocity: (k,) with the impulses that are already given.
        dt: duration that multiplies the bounds of forces, s.
        guess: (k,) impulses.
        rebound: (k,) velocities at which contacts leave.

    Raises:
        SimulationError: they are not found.
    """
    problem = _ImpulseProblem(active, velocity - rebound + active.mobility @ guess, dt)
    impulse = guess.copy()
    if not impulse.size:
        return impulse
    for sweep in range(_MAX_SWEEPS):
        change = problem.sweep(impulse)
        if change <= _TOLERANCE:
            return impulse
        if sweep in _EXACT_SWEEPS:
            exact_impulse = problem.solve_directly(impulse)
            if exact_impulse is not None:
                return exact_impulse
    if not change <= _MAX_CHANGE:
        boxes = ", ".join(dict.fromkeys(f"'{process.box}'" for process in active.processes))
        raise SimulationError(
            f"the impulses of contacts and dry friction in {boxes} are not found: velocities of up "
            f"to {np.abs(velocity).max():.3g} m/s still change by {change:.2g} after {_MAX_SWEEPS} "
            "sweeps; a shorter step, less friction or masses nearer to each other may help"
        )
    return impulse


class _ImpulseProblem:
    """Impulses P with the velocities ``u = u_0 - W P``.

    Args:
        active: the processes.
        u_0: (k,) velocities without impulses, less those at which contacts leave.
        dt: duration that multiplies the bounds of forces, s.
    """

    def __init__(self, active: ActiveRows, u_0: Array, dt: float) -> None:
        self._u_0, self._mobility, self._friction = u_0, active.mobility, active.friction
        # A stop is without bound also in an impact, which takes no time.
        self._lower, self._upper = (
            np.where(np.isinf(b), b, np.where(np.isinf(b), 0.0, b) * dt)
            for b in (active.lower, active.upper)
        )
        self._normals = np.flatnonzero(active.normal_index < 0)
        self._diagonal = np.maximum(np.diagonal(active.mobility), 1e-300)
        normals = np.unique(active.normal_index[active.normal_index >= 0])
        self._cones = [(int(row), np.flatnonzero(active.normal_index == row)) for row in normals]
        # Steps of the largest mobility converge in every direction of a cone.
        blocks = (active.mobility[np.ix_(indices, indices)] for _, indices in self._cones)
        self._cone_norms = [max(float(np.linalg.eigvalsh(block)[-1]), 1e-300) for block in blocks]

    def sweep(self, impulse: Array) -> float:
        """Improve the impulses, (k,), in place; return the largest change of a velocity.

        It is relative to the largest velocity where that is above 1 m/s.
        """
        u = self._u_0 - self._mobility @ impulse
        largest_change = 0.0
        for k in self._normals:
            free_impulse = impulse[k] + u[k] / self._diagonal[k]
            change = min(max(free_impulse, self._lower[k]), self._upper[k]) - impulse[k]
            if change:
                u -= self._mobility[:, k] * change
                impulse[k] += change
                largest_change = max(largest_change, abs(change) * self._diagonal[k])
        for (row, indices), mobility in zip(self._cones, self._cone_norms, strict=True):
            cone_impulse = self._project_on_cone(
                impulse[indices] + u[indices] / mobility, self._cone_radius(row, indices, impulse)
            )
            change = cone_impulse - impulse[indices]
            if change.any():
                u -= self._mobility[:, indices] @ change
                impulse[indices] = cone_impulse
                largest_change = max(largest_change, float(np.abs(change).max()) * mobility)
        return largest_change / (1.0 + float(np.abs(u).max()))

    def solve_directly(self, impulse: Array) -> Array | None:
        """Return the impulses of what presses, sticks and slides as these do, if there are any."""
        k = impulse.size
        # P = fixed + basis z, with u = 0 along the free rows.
        is_free = np.zeros(k, dtype=bool)
        is_free[self._normals] = (impulse > self._lower)[self._normals] & (impulse < self._upper)[
            self._normals
        ]
        fixed_impulse = np.where(is_free, 0.0, impulse)
        basis = np.eye(k)
        for row, indices in self._cones:
            radius = self._cone_radius(row, indices, impulse)
            impulse_norm = float(np.sqrt(impulse[indices] @ impulse[indices]))
            if impulse_norm < radius * (1.0 - 1e-9):
                is_free[indices], fixed_impulse[indices] = True, 0.0
            elif impulse_norm > 0.0:
                fixed_impulse[indices] = 0.0
                basis[indices, row] = -self._friction[indices[0]] * impulse[indices] / impulse_norm
        basis = basis[:, is_free]
        rows = self._mobility[is_free]
        right_side = self._u_0[is_free] - rows @ fixed_impulse
        solution = fixed_impulse + basis @ np.linalg.lstsq(rows @ basis, right_side, rcond=1e-12)[0]
        u = self._u_0 - self._mobility @ solution
        # The rounding of u is that of the terms that cancel in it.
        scale = 1.0 + float((np.abs(self._u_0) + np.abs(self._mobility) @ np.abs(solution)).max())
        if np.abs(u[is_free]).max(initial=0.0) > _EXACT_TOLERANCE * scale:
            return None
        tolerance = _EXACT_TOLERANCE * scale / self._diagonal
        normals = self._normals
        bounded_impulse = np.clip(solution[normals], self._lower[normals], self._upper[normals])
        next_impulse = solution[normals] + u[normals] / self._diagonal[normals]
        next_impulse = np.clip(next_impulse, self._lower[normals], self._upper[normals])
        if (np.abs(next_impulse - bounded_impulse) > tolerance[normals]).any():
            return None
        if (np.abs(solution[normals] - bounded_impulse) > tolerance[normals]).any():
            return None
        for (row, indices), mobility in zip(self._cones, self._cone_norms, strict=True):
            cone_impulse = self._project_on_cone(
                solution[indices] + u[indices] / mobility, self._cone_radius(row, indices, solution)
            )
            if np.abs(cone_impulse - solution[indices]).max() > _EXACT_TOLERANCE * scale / mobility:
                return None
        solution[normals] = bounded_impulse
        return solution

    def _cone_radius(self, row: int, indices: Index, impulse: Array) -> float:
        return float(self._friction[indices[0]]) * max(-float(impulse[row]), 0.0)

    @staticmethod
    def _project_on_cone(impulse: Array, radius: float) -> Array:
        impulse_norm = float(np.sqrt(impulse @ impulse))
        return impulse * (radius / impulse_norm) if impulse_norm > radius else impulse
