# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What determines every effort of a system, its index, and what is determined twice or not at all.

A junction has one effort. A storage gives it; otherwise constraints do, or the balance of flows, as
between a spring and a damper in series, or it is the multiplier of a constraint, as at the free
side of a gyrator. Where two storages share a junction, or constraints repeat each other, something
is determined twice.
"""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array

from .components import Component, Reversible, Storage
from .equations import Equations, assemble
from .equations.constraints import null_space, reduce_rows
from .errors import PatternError, SimulationError
from .multibody.placement import consistent_state
from .patterns import split
from .simulation import closed
from .systems import System, compose, flatten

# Of orthonormal combinations of constraints: smaller shares are rounding.
_SHARE = 1e-6


@dataclass(frozen=True)
class Causality:
    """What determines the efforts of a system.

    Attributes:
        determined: by junction, what gives its effort: ``"storage a.p"``, ``"constraints of a"``,
            ``"balance of flows"`` or ``"multiplier"``.
        index: of the differential-algebraic equations: 0 for states alone, 1 with efforts that a
            balance determines, 2 with constraints on velocities, 3 where these have been integrated
            to relations of poses; None where the equations cannot be assembled.
        over: what is determined more than once, each as a sentence that names boxes and ports.
        under: what is not determined, likewise.
        redundant: the boxes of constraints that repeat each other, in sets.
    """

    determined: dict[str, str]
    index: int | None
    over: tuple[str, ...]
    under: tuple[str, ...]
    redundant: tuple[frozenset[str], ...]

    def text(self) -> str:
        """Return the report as text."""
        lines = [f"index {'unknown' if self.index is None else self.index}"]
        lines += [f"over-determined: {name}" for name in self.over]
        lines += [f"not determined: {name}" for name in self.under]
        lines += [f"{name}: {by}" for name, by in self.determined.items()]
        return "\n".join(lines)


def causality(system: System | Component, x: Array | None = None) -> Causality:
    """Return what determines the efforts of a system; it need not be one that can be assembled.

    Args:
        system: of any depth.
        x: state at which repetitions of constraints are sought; joints at their origins, with loops
            closed, when None.
    """
    if isinstance(system, Component):
        ports = {name: (f"component.{name}", name) for name in system.interface}
        system = compose({"component": system}, ports, system.interface)
    flat = flatten(system)
    over = _shared_storages(flat)
    under = _states_without_storage(flat)
    if over or under:
        return Causality(_by_storages(flat), None, tuple(over), tuple(under), ())
    try:
        equations = assemble(flat, check=False, native=False)
    except PatternError as error:
        return Causality(_by_storages(flat), None, (), (str(error),), ())
    redundant, texts = _repetitions(equations, _state(equations) if x is None else x)
    index = 3 if equations.closures else 2 if equations.constraints.count else 0
    if not index and equations.constraints.undetermined.shape[1]:
        index = 1
    return Causality(_all(equations), index, tuple(texts), tuple(_loose(equations)), redundant)


def _shared_storages(flat: System) -> list[str]:
    shared = []
    for junction, ends in flat.pattern.junctions.items():
        storages = _of_kind(flat, ends, Storage)
        if len(storages) > 1:
            shared.append(
                f"the storages at {', '.join(storages)} meet at junction '{junction}' and would "
                "share one state; put them in one, or join them by a constraint"
            )
    return shared


def _states_without_storage(flat: System) -> list[str]:
    unresolved = []
    for junction, ends in flat.pattern.junctions.items():
        readers = []
        for end in ends:
            box, port = split(end)
            filling = flat.fillings.get(box)
            if isinstance(filling, Component) and port in filling.reads:
                readers.append(end)
        if readers and not _of_kind(flat, ends, Storage):
            unresolved.append(
                f"the state that {', '.join(readers)} read at junction '{junction}', where no "
                "storage holds one"
            )
    return unresolved


def _of_kind(flat: System, ends: tuple[str, ...], kind: type) -> list[str]:
    return [end for end in ends if split(end)[0] and isinstance(flat.fillings[split(end)[0]], kind)]


def _by_storages(flat: System) -> dict[str, str]:
    causes = {}
    for junction, ends in flat.pattern.junctions.items():
        storages = _of_kind(flat, ends, Storage)
        causes[junction] = f"storage {', '.join(storages)}" if storages else "not known"
    return causes


def _all(equations: Equations) -> dict[str, str]:
    layout, c = equations.layout, equations.constraints
    causes = {name: f"storage {entry.end}" for name, entry in layout.states.items()}
    n = layout.stored
    for junction, at in layout.efforts.items():
        if junction in causes:
            continue
        rows = slice(at.start - n, at.stop - n)
        if np.abs(c.multiplying[rows]).max(initial=0.0) > 0.0:
            causes[junction] = "multiplier"
        elif np.abs(c.undetermined[rows]).max(initial=0.0) > 0.0:
            causes[junction] = "balance of flows"
        else:
            boxes = [
                split(end)[0]
                for end in equations.system.pattern.junctions[junction]
                if split(end)[0] and _constrains(layout.components[split(end)[0]])
            ]
            causes[junction] = f"constraints of {', '.join(boxes)}"
    return causes


def _constrains(component: Component) -> bool:
    return isinstance(component, Reversible) and component.rows > 0


def _loose(equations: Equations) -> list[str]:
    """Return the junctions whose effort would follow from a balance that does not contain it."""
    c, n = equations.constraints, equations.layout.stored
    touched = equations.processes.touched_free - n
    z, k = c.undetermined, c.multiplying.shape[1]
    slope = np.vstack([z.T @ equations.processes.skew[n:, n:] @ z, z[touched]])
    # A multiplier of a constraint that acts on no storage is not determined either.
    idle = null_space(c.fixed_rows[c.fixed_rows.shape[0] - k :].T)
    lost = np.hstack([z @ null_space(slope), c.multiplying @ idle])
    unresolved = []
    for junction, at in equations.layout.efforts.items():
        if at.start >= n and np.abs(lost[at.start - n : at.stop - n]).max(initial=0.0) > _SHARE:
            ends = equations.system.pattern.junctions[junction]
            unresolved.append(
                f"the effort at junction '{junction}' ({', '.join(ends)}), on which no flow "
                "depends; join a storage, a constraint or friction there"
            )
    return unresolved


def _state(equations: Equations) -> Array:
    if not equations.closures:
        return equations.states.vector()
    x = consistent_state(equations)
    try:
        return closed(equations, x)
    except SimulationError:
        return x  # a loop that does not close from here; repetitions are sought as it stands


def _repetitions(equations: Equations, x: Array) -> tuple[tuple[frozenset[str], ...], list[str]]:
    """Return the sets of boxes whose constraints are dependent, and a sentence for each."""
    if not equations.constraints.count:
        return (), []
    g = equations.constraint_matrix(x)
    scale = np.linalg.norm(g, axis=1)
    rows = g / np.where(scale > 0.0, scale, 1.0)[:, None]
    counts: dict[frozenset[str], int] = {}
    for weights in _sparse(null_space(rows.T)):
        shares = equations.constraints.shares(weights / np.where(scale > 0.0, scale, 1.0))
        most = max(shares.values())
        boxes = frozenset(box for box, share in shares.items() if share > _SHARE * most)
        counts[boxes] = counts.get(boxes, 0) + 1
    texts = []
    for boxes, count in counts.items():
        names = [box for box in equations.layout.components if box in boxes] or sorted(boxes)
        ports = [
            f"{box}.{port}"
            for box in names
            if box in equations.layout.components
            for port in equations.layout.components[box].slices
        ]
        texts.append(
            f"the constraints of {', '.join(names)} repeat each other {count} times here, so that "
            f"as many forces are not determined (ports {', '.join(ports)})"
        )
    return tuple(counts), texts


def _sparse(basis: Array) -> list[Array]:
    """Return combinations that span the same space and name as few constraints as row reduction."""
    if not basis.shape[1]:
        return []
    reduction = reduce_rows(basis.T)
    return list(reduction.reduced[: len(reduction.pivots)])
