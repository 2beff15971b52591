# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The linear port-Hamiltonian system ``zeta_dot = (J - R) Q zeta + G u`` about a state."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from .constraints import null_space
from .equations import Equations

# Central differences of fourth order; states, rates and efforts are of order one to a thousand.
_STEP = 1e-3
_WEIGHTS = ((1.0, 8.0 / 12.0), (-1.0, -8.0 / 12.0), (2.0, -1.0 / 12.0), (-2.0, 1.0 / 12.0))

# Of what differences leave of a zero.
_ROUNDING = 1e-7


@dataclass(frozen=True)
class Linearisation:
    """The linear port-Hamiltonian system about a state.

    ``zeta`` are coordinates of the states that constraints leave: a small step from the state is
    ``basis @ zeta``. At an equilibrium Q is the Hessian of the exergy on the constraints, J is skew
    and R symmetric and positive semidefinite, as both laws demand. Elsewhere ``A = (J - R) Q``
    holds as far as ``remainder`` says, R need not be semidefinite, and the state itself moves at
    the rate ``drift``. ``G^T Q zeta`` are the changes of the efforts at the outer ports.

    Attributes:
        J: (k,k) skew.
        R: (k,k) symmetric.
        Q: (k,k) symmetric.
        G: (k,m) of the flows at outer power ports, in the order of ``inputs``.
        A: (k,k) the derivative of the rates.
        basis: (stored,k) orthonormal.
        drift: (k,) rates of the state.
        inputs: outer power port of every column of G.
    """

    J: Array
    R: Array
    Q: Array
    G: Array
    A: Array
    basis: Array
    drift: Array
    inputs: tuple[str, ...]

    @property
    def remainder(self) -> float:
        """The largest entry of ``A - (J - R) Q``, by that of A."""
        scale = float(np.abs(self.A).max(initial=0.0)) or 1.0
        return float(np.abs(self.A - (self.J - self.R) @ self.Q).max(initial=0.0)) / scale

    @property
    def is_equilibrium(self) -> bool:
        """Whether the state rests."""
        scale = 1.0 + float(np.abs(self.A).max(initial=0.0))
        return float(np.abs(self.drift).max(initial=0.0)) <= _ROUNDING * scale


def linearise(
    equations: Equations, x: Array, inputs: Mapping[str, Array] | None = None
) -> Linearisation:
    """Return the linear port-Hamiltonian system of an assembled system about a state.

    A and Q are derivatives of rates and efforts by central differences of fourth order, along the
    directions that the constraints leave.

    Args:
        equations: of the system.
        x: (size,) state vector on the constraints.
        inputs: the flows at outer power ports that are held.

    Raises:
        SimulationError: as for the rates.
    """
    basis = _directions(equations, x)
    back = np.linalg.pinv(basis)
    k = basis.shape[1]

    def rate(y: Array) -> Array:
        return back @ equations.rates(y, inputs).tangent

    def slope(y: Array) -> Array:
        # The differential of the exergy along fields that extend the basis on the constraints.
        fields = _directions(equations, y, k)
        e = equations.storages.efforts(y)
        return np.asarray(((e @ fields) @ fields.T) @ basis)

    a, q = np.zeros((k, k)), np.zeros((k, k))
    for j in range(k):
        for multiple, weight in _WEIGHTS:
            y = equations.states.step(x, multiple * _STEP * basis[:, j])
            a[:, j] += weight / _STEP * rate(y)
            q[:, j] += weight / _STEP * slope(y)
    q = 0.5 * (q + q.T)
    names, columns = _input_columns(equations, x, inputs, back)
    skew, loss = _split(a, q)
    return Linearisation(
        frozen(skew),
        frozen(loss),
        frozen(q),
        frozen(columns),
        frozen(a),
        frozen(basis),
        frozen(rate(x)),
        names,
    )


def _split(a: Array, q: Array) -> tuple[Array, Array]:
    """Return J and R with ``A = (J - R) Q``, where the kernel of Q lies in that of A.

    ``A Q^+`` is J - R on the range of Q. Its part from there to the kernel, as the rate of a free
    position, is reversible: J has it with the opposite sign in the other corner.
    """
    values, vectors = np.linalg.eigh(q)
    large = np.abs(values) > _ROUNDING * float(np.abs(values).max(initial=0.0))
    inverse = (vectors[:, large] / values[large]) @ vectors[:, large].T
    product = a @ inverse
    range_of = vectors[:, large] @ vectors[:, large].T
    corner = product - range_of @ product
    structure = product - corner.T
    return 0.5 * (structure - structure.T), -0.5 * (structure + structure.T)


def _input_columns(
    equations: Equations, x: Array, inputs: Mapping[str, Array] | None, back: Array
) -> tuple[tuple[str, ...], Array]:
    """Return the names and the effects of unit flows, in which the rates are linear."""
    base = equations.rates(x, inputs).tangent
    names: list[str] = []
    columns = [np.zeros((back.shape[0], 0))]
    for name, port in equations.system.pattern.outer.items():
        if port.kind != "power":
            continue
        constant = np.asarray((inputs or {}).get(name, 0.0), dtype=np.float64)
        for unit in np.eye(port.quantity.space.dimension):
            tangent = equations.rates(x, {**(inputs or {}), name: constant + unit}).tangent
            columns.append((back @ (tangent - base))[:, None])
            names.append(name)
    return tuple(names), np.hstack(columns)


def _directions(equations: Equations, x: Array, count: int | None = None) -> Array:
    """Return an orthonormal basis of the steps that stay on the constraints, (stored,k).

    Velocities satisfy ``G e = 0``; poses move along velocities that do.

    Args:
        equations: of the system.
        x: state vector.
        count: number of directions, where it is known.
    """
    n, c = equations.layout.stored, equations.constraints
    if not c.count:
        return np.eye(n)
    g = equations.constraint_matrix(x)
    e = equations.storages.efforts(x)
    rows = [g @ equations.storages.slope() + _turning(equations, x, e)]
    a = c.at(equations.states.reads)
    every = c.velocity_rows(np.arange(equations.layout.total), a)
    pose_rates = np.zeros((n, n))
    for entry, velocity in equations.couplings:
        pose_rates[entry.tangent] = every[velocity]
    poses = np.flatnonzero(np.abs(pose_rates).sum(axis=1) > 0.0)
    reached = pose_rates[poses] @ null_space(g)
    u, values, _ = np.linalg.svd(reached)
    rank = int((values > 1e-9 * float(values.max(initial=0.0))).sum())
    outside = np.zeros((poses.size - rank, n))
    outside[:, poses] = u[:, rank:].T
    stacked = np.vstack([rows[0], outside])
    scale = np.linalg.norm(stacked, axis=1)
    stacked = stacked[scale > 0.0] / scale[scale > 0.0, None]
    _, values, vt = np.linalg.svd(stacked)
    rank = int((values > 1e-9).sum()) if count is None else n - count
    return np.asarray(vt[rank:].T)


def _turning(equations: Equations, x: Array, e: Array) -> Array:
    """Return the derivative of ``G(x) e`` by the state at constant e, (count,stored)."""
    n = equations.layout.stored
    out = np.zeros((equations.constraints.count, n))
    if not np.abs(e[equations.constraints.columns]).max(initial=0.0):
        return out
    for block in equations.constraints.blocks:
        for port in block.component.reads:
            at = equations.layout.states[equations.layout.junctions[f"{block.box}.{port}"]].tangent
            for i in range(at.start, at.stop):
                unit = np.zeros(n)
                unit[i] = 1.0
                for multiple, weight in _WEIGHTS:
                    y = equations.states.step(x, multiple * _STEP * unit)
                    out[:, i] += weight / _STEP * (equations.constraint_matrix(y) @ e)
    equations.states.look_at(x)
    return out
