# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The relation between flows and efforts at the outer ports of any system, at a state.

A storage fixes its effort and leaves its flow open; a reversible part is the Dirac structure at the
state; an irreversible one the graph of its Onsager matrix at the efforts that occur. Each is an
affine relation, and so is their composition. It is computed level by level, box by box, as the
source defines it [C 2], independently of the assembled equations, which must agree with it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen
from vms_ph_ephs import (
    Component,
    Equations,
    Interface,
    Irreversible,
    Pattern,
    PatternError,
    Rates,
    Reversible,
    Storage,
    System,
)
from vms_ph_ephs.patterns import split, width

# Singular values of orthonormal bases and junction equations below this are rounding errors.
_RANK = 1e-9


@dataclass(frozen=True)
class AffineRelation:
    """The pairs of flows and efforts ``(f, e) = offset + basis @ c``.

    Attributes:
        interface: power ports, in the order of the rows.
        offset: (2n,), orthogonal to the basis.
        basis: (2n,k) orthonormal; the first n rows are flows, the others efforts.
    """

    interface: Interface
    offset: Array
    basis: Array

    @property
    def projector(self) -> Array:
        """The orthogonal projector on the subspace: equal for equal relations without offset."""
        return self.basis @ self.basis.T

    def power(self) -> float:
        """Return the largest ``e . f`` of unit members: zero for Dirac structures."""
        n = self.basis.shape[0] // 2
        product = self.basis[n:].T @ self.basis[:n]
        values = np.linalg.eigvalsh(product + product.T)
        return 0.5 * float(np.abs(values).max(initial=0.0))

    def distance(self, flows: Array, efforts: Array) -> float:
        """Return the distance of a pair of flows and efforts from the relation."""
        gap = np.concatenate([flows, efforts]) - self.offset
        return float(np.linalg.norm(gap - self.basis @ (self.basis.T @ gap)))


def relation_at(
    system: System, equations: Equations, x: Array, inputs: Mapping[str, Array] | None = None
) -> AffineRelation:
    """Return the relation at the outer power ports of a system at a state.

    Args:
        system: of any depth, with parts of any kind.
        equations: those assembled from it, which give states and efforts.
        x: (size,) state vector.
        inputs: flows at outer ports, at whose efforts Onsager matrices are taken.

    Raises:
        PatternError: the equations are those of another system.
        SimulationError: as for the rates.
    """
    rates = equations.rates(x, inputs)
    equations.states.set_state(x)
    return _relation(system, lambda box, part: _of_component(equations, box, part, rates))


def relation(system: System) -> AffineRelation:
    """Return the relation at the outer ports of a system of constant Dirac structures."""

    def basis(box: str, part: Component) -> Array:
        assert isinstance(part, Reversible)  # of such systems
        return _with_last(_dirac(part, ()))

    return _relation(system, basis)


def _relation(system: System, of: Callable[[str, Component], Array]) -> AffineRelation:
    # Parents before children, so that in reverse every box within a system is known.
    order: list[tuple[str, System]] = [("", system)]
    for prefix, level in order:
        order += [
            (f"{prefix}{box}.", f) for box, f in level.fillings.items() if isinstance(f, System)
        ]
    columns: dict[str, Array] = {}
    for prefix, level in reversed(order):
        inner = {
            box: columns[f"{prefix}{box}."]
            if isinstance(filling, System)
            else of(f"{prefix}{box}", filling)
            for box, filling in level.fillings.items()
        }
        columns[prefix] = _composed(level.pattern, inner)
    return _affine(system.interface, columns[""])


def _of_component(equations: Equations, box: str, component: Component, rates: Rates) -> Array:
    """Return a basis of ``(f, e, h)``: the relation is where h is one."""
    if box not in equations.layout.components:
        raise PatternError(f"the equations have no box '{box}'; assemble them from this system")
    n = component.width
    e = rates.efforts[equations.processes.indices[box]]
    states = equations.states.views[box]
    if isinstance(component, Storage):
        fixed = np.concatenate([np.zeros(n), e, [1.0]])
        return np.column_stack([np.vstack([np.eye(n), np.zeros((n + 1, n))]), fixed])
    if isinstance(component, Irreversible):
        m = component.matrix(states, e, equations.theta_0) / equations.theta_0
        return _with_last(np.vstack([m, np.eye(n)]))
    assert isinstance(component, Reversible)  # there are no other kinds
    return _with_last(_dirac(component, states))


def _dirac(component: Reversible, states: tuple[Array, ...]) -> Array:
    """Return a basis of ``(J e + C^T lambda, e)`` with C e = 0."""
    n, c = component.width, component.constraint(*states)
    basis = _null_space(c) if component.row_count else np.eye(n)
    efforts = np.vstack([component.skew(*states) @ basis, basis])
    return np.hstack([efforts, np.vstack([c.T, np.zeros((n, component.row_count))])])


def _with_last(graph: Array) -> Array:
    """Return the basis of a linear relation with that of h, which is free."""
    last = np.zeros(len(graph) + 1)
    last[-1] = 1.0
    return np.column_stack([np.vstack([graph, np.zeros((1, graph.shape[1]))]), last])


def _composed(pattern: Pattern, inner: Mapping[str, Array]) -> Array:
    """Return the basis at the outer ports of a pattern, from those of its boxes."""
    columns, at = 0, {}
    for box, basis in inner.items():
        at[box] = slice(columns, columns + basis.shape[1])
        columns += basis.shape[1]
    n = width(pattern.outer)
    total = columns + 2 * n + 1
    rows = []
    for box, basis in inner.items():
        same = np.zeros(total)
        same[at[box]], same[-1] = basis[-1], -1.0
        rows.append(same[None])
    for ends in pattern.junctions.values():
        open_ = [end for end in ends if pattern.port(end).kind == "power"]
        if not open_:
            continue
        pairs = [_variables(pattern, inner, at, total, columns, end) for end in open_]
        rows += [effort - pairs[0][1] for _, effort in pairs[1:]]
        signs = [1.0 if split(end)[0] else -1.0 for end in open_]
        balance = [s * f for s, (f, _) in zip(signs, pairs, strict=True)]
        rows.append(np.sum(balance, axis=0))
    return _orthonormal(_null_space(np.vstack(rows))[columns:])


def _variables(
    pattern: Pattern,
    inner: Mapping[str, Array],
    at: Mapping[str, slice],
    total: int,
    columns: int,
    end: str,
) -> tuple[Array, Array]:
    """Return flow and effort of a port as rows over all unknowns."""
    box, port = split(end)
    interface = pattern.boxes[box] if box else pattern.outer
    first, half = 0, width(interface)
    for name, p in interface.items():
        if name == port:
            break
        first += p.quantity.space.dimension if p.kind == "power" else 0
    d = interface[port].quantity.space.dimension
    flow, effort = np.zeros((d, total)), np.zeros((d, total))
    if box:
        flow[:, at[box]] = inner[box][first : first + d]
        effort[:, at[box]] = inner[box][half + first : half + first + d]
    else:
        flow[:, columns + first : columns + first + d] = np.eye(d)
        effort[:, columns + half + first : columns + half + first + d] = np.eye(d)
    return flow, effort


def _affine(interface: Interface, basis: Array) -> AffineRelation:
    """Return the part of a subspace in which the last coordinate is one."""
    last = basis[-1]
    inside = basis @ _null_space(last[None])
    point = basis @ (last / float(last @ last))
    directions = _orthonormal(inside[:-1])
    offset = point[:-1] - directions @ (directions.T @ point[:-1])
    return AffineRelation(interface, frozen(offset), frozen(directions))


def _null_space(matrix: Array) -> Array:
    scale = np.linalg.norm(matrix, axis=1)
    rows = matrix / np.where(scale > 0.0, scale, 1.0)[:, None]
    _, values, vt = np.linalg.svd(rows)
    return np.asarray(vt[int((values > _RANK).sum()) :].T)


def _orthonormal(matrix: Array) -> Array:
    u, values, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(u[:, : int((values > _RANK).sum())])
