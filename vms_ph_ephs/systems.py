# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Systems: patterns whose boxes are filled.

A pattern composes the structures of its boxes to one structure. It is computed here as the source
defines it, level by level, from relations between port variables. Assembling equations is an
independent computation with which it must agree.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from .components import Component, Reversible
from .errors import PatternError, StructureError
from .patterns import Interface, Pattern, same_interface, split, substitute, width

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class System:
    """A pattern with a system in every box.

    Attributes:
        pattern: how they are joined.
        fillings: the system or component of every box.

    Raises:
        PatternError: a box has no filling, or one with another interface.
    """

    pattern: Pattern
    fillings: Mapping[str, "System | Component"]

    def __init__(self, pattern: Pattern, fillings: Mapping[str, "System | Component"]) -> None:
        for box, interface in pattern.boxes.items():
            if box not in fillings:
                raise PatternError(f"box '{box}' is empty; fill it with a system or a component")
            same_interface(box, interface, fillings[box].interface)
        for box in fillings:
            if box not in pattern.boxes:
                raise PatternError(
                    f"there is no box '{box}' to fill; the boxes are {', '.join(pattern.boxes)}"
                )
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "fillings", MappingProxyType(dict(fillings)))

    def __repr__(self) -> str:
        """Return the names of boxes and outer ports; what fills the boxes may be nested deeply."""
        boxes, ports = (", ".join(names) for names in (self.pattern.boxes, self.pattern.outer))
        return f"System(boxes: {boxes}; outer ports: {ports or 'none'})"

    @property
    def interface(self) -> Interface:
        """The outer interface of its pattern."""
        return self.pattern.outer

    @property
    def is_flat(self) -> bool:
        """Whether all boxes hold components."""
        return all(isinstance(filling, Component) for filling in self.fillings.values())


def compose(
    boxes: Mapping[str, System | Component],
    junctions: Mapping[str, Iterable[str]],
    outer: Interface | Iterable[str] = (),
) -> System:
    """Return the composition of systems that are joined at junctions.

    Args:
        boxes: the system or component of every box.
        junctions: the ports that meet at each, as ``("a.p", "b.p", "p")``; outer ones by name.
        outer: names of the outer ports, or their interface.

    Raises:
        PatternError: a connection is invalid.
    """
    pattern = Pattern({name: s.interface for name, s in boxes.items()}, junctions, outer)
    return System(pattern, boxes)


def flatten(system: System) -> System:
    """Return the same system as one pattern of components; box b in box a is named ``a.b``."""
    return fold(system, _flattened)


def _flattened(system: System, flat: Mapping[str, System]) -> System:
    inner = {box: filling.pattern for box, filling in flat.items()}
    fillings: dict[str, System | Component] = {}
    for box, filling in system.fillings.items():
        if box in flat:
            fillings |= {f"{box}.{name}": c for name, c in flat[box].fillings.items()}
        else:
            fillings[box] = filling
    return System(substitute(system.pattern, inner), fillings)


def fold(system: System, combine: Callable[[System, Mapping[str, T]], T]) -> T:
    """Return the value of a system from those of the systems within it, at any depth of nesting.

    Args:
        system: the outermost.
        combine: takes a system and the values of its boxes that hold systems.
    """
    done: dict[int, T] = {}
    waiting = [system]
    while waiting:
        current = waiting[-1]
        within = {b: f for b, f in current.fillings.items() if isinstance(f, System)}
        missing = [f for f in within.values() if id(f) not in done]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        # A system may fill several boxes; its value is computed once.
        if id(current) not in done:
            done[id(current)] = combine(current, {b: done[id(f)] for b, f in within.items()})
    return done[id(system)]


# Singular values of stacked orthonormal bases and junction equations below this are rounding
# errors.
_RANK = 1e-10


@dataclass(frozen=True)
class Relation:
    """A subspace of flows and efforts, ``(f, e) = basis @ c``.

    Attributes:
        interface: its power ports, in the order of the rows.
        basis: (2n,k) orthonormal; the first n rows are flows, the others efforts.
    """

    interface: Interface
    basis: Array

    @property
    def projector(self) -> Array:
        """The orthogonal projector on the subspace: equal for equal relations."""
        return self.basis @ self.basis.T

    def power(self) -> float:
        """Return the largest ``e . f`` of unit members: zero for Dirac structures."""
        n = self.basis.shape[0] // 2
        product = self.basis[n:].T @ self.basis[:n]
        values = np.linalg.eigvalsh(product + product.T)
        return 0.5 * float(np.abs(values).max(initial=0.0))


def relation(system: System | Component) -> Relation:
    """Return the relation at the outer power ports of a system of constant Dirac structures.

    Raises:
        StructureError: a component is not reversible or depends on the state.
    """
    return fold(system, _relation) if isinstance(system, System) else _of_component(system)


def _relation(system: System, inner: Mapping[str, Relation]) -> Relation:
    components = {b: _of_component(c) for b, c in system.fillings.items() if b not in inner}
    return _composed(system.pattern, {**components, **inner})


def _of_component(system: System | Component) -> Relation:
    if not isinstance(system, Reversible) or system.reads:
        raise StructureError(
            "the relation of a system is for reversible components with constant structures"
        )
    n = system.width
    # (f, e) = (J e + C^T lambda, e) with C e = 0.
    null = _null_space(system.constraint()) if system.rows else np.eye(n)
    efforts = np.vstack([system.skew() @ null, null])
    forces = np.vstack([system.constraint().T, np.zeros((n, system.rows))])
    return Relation(system.interface, _orthonormal(np.hstack([efforts, forces])))


def _composed(pattern: Pattern, inner: dict[str, Relation]) -> Relation:
    at, columns = {}, 0
    for box, r in inner.items():
        at[box] = slice(columns, columns + r.basis.shape[1])
        columns += r.basis.shape[1]
    n = width(pattern.outer)
    rows = []
    for ends in pattern.junctions.values():
        ends = tuple(end for end in ends if pattern.port(end).kind == "power")
        if not ends:
            continue
        variables = [_variables(pattern, inner, at, columns, n, end) for end in ends]
        for _, effort in variables[1:]:
            rows.append(effort - variables[0][1])
        balance = sum(
            f if split(end)[0] else -f for end, (f, _) in zip(ends, variables, strict=True)
        )
        rows.append(np.asarray(balance))
    free = _null_space(np.vstack(rows)) if rows else np.eye(columns + 2 * n)
    return Relation(pattern.outer, _orthonormal(free[columns:]))


def _variables(
    pattern: Pattern,
    inner: dict[str, Relation],
    at: dict[str, slice],
    columns: int,
    n: int,
    end: str,
) -> tuple[Array, Array]:
    """Return flow and effort of a port as rows over the unknowns: coefficients, then outer."""
    box, port = split(end)
    d = pattern.port(end).quantity.space.dimension
    flow, effort = np.zeros((d, columns + 2 * n)), np.zeros((d, columns + 2 * n))
    interface = inner[box].interface if box else pattern.outer
    first = 0
    for name, p in interface.items():
        if name == port:
            break
        first += p.quantity.space.dimension if p.kind == "power" else 0
    if box:
        basis = inner[box].basis
        half = basis.shape[0] // 2
        flow[:, at[box]] = basis[first : first + d]
        effort[:, at[box]] = basis[half + first : half + first + d]
    else:
        flow[:, columns + first : columns + first + d] = np.eye(d)
        effort[:, columns + n + first : columns + n + first + d] = np.eye(d)
    return flow, effort


def _null_space(matrix: Array) -> Array:
    _, values, vt = np.linalg.svd(matrix)
    return vt[int((values > _RANK).sum()) :].T


def _orthonormal(matrix: Array) -> Array:
    u, values, _ = np.linalg.svd(matrix, full_matrices=False)
    return frozen(u[:, : int((values > _RANK).sum())].copy())
