# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The order of states, efforts and flows of a flat system in the vectors of its equations.

Every junction has one effort. Where a storage is joined, the effort is that of its state: these
come first, quadratic storages before other vectors before groups, so that state and tangent vectors
agree in the leading ``quadratic_size`` and ``vector_size`` entries. Then come the free efforts of
junctions without storage, which constraints and balances determine.

The patterns of source C wire velocities only, and its constraints are on velocities. Each is the
derivative of a relation between poses, which is needed to keep joints closed. It is found from the
components themselves: in a coupling a pose is the integral of a velocity, an offset transforms it,
the ground fixes it, and a joint relates two poses.
"""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array

from ..components import Component, Environment, Quadratic, Storage
from ..errors import PatternError
from ..patterns import split
from ..quantities import Space
from ..systems import System


@dataclass(frozen=True)
class StateEntry:
    """A state: its place in the vectors, and the storage that holds it.

    Attributes:
        junction: at which it is shared.
        port: ``"box.port"`` of the storage.
        space: space of its values.
        indices: its entries in the state vector.
        tangent: its entries in vectors of flows and efforts.
    """

    junction: str
    port: str
    space: Space
    indices: slice
    tangent: slice


@dataclass(frozen=True)
class Layout:
    """The order of all states and efforts.

    Attributes:
        components: of the flat system by box.
        states: every state by its junction, in the order of the state vector.
        entries: the entries of every junction's effort, stored and free.
        size: of the state vector.
        stored_size: number of stored efforts, the size of tangent vectors.
        total_size: number of all efforts.
        quadratic_size: number of leading entries that belong to quadratic storages.
        vector_size: number of leading entries that belong to storages of vectors.
        outer: the junction of every outer port, by name.
        junctions: the junction of every port, by its path.
    """

    components: dict[str, Component]
    states: dict[str, StateEntry]
    entries: dict[str, slice]
    size: int
    stored_size: int
    total_size: int
    quadratic_size: int
    vector_size: int
    outer: dict[str, str]
    junctions: dict[str, str]

    def find(self, name: str) -> StateEntry:
        """Return the state of a junction, or of a storage given as ``"box.port"``.

        Raises:
            PatternError: there is no state of this name.
        """
        if name in self.states:
            return self.states[name]
        for entry in self.states.values():
            if entry.port == name:
                return entry
        raise PatternError(f"there is no state '{name}'; the states are {', '.join(self.states)}")

    def rate_indices(self, box: str) -> npt.NDArray[np.intp]:
        """Return the places of the rates of all states that a component reads, in their order."""
        states = [self.states[self.junctions[f"{box}.{p}"]] for p in self.components[box].reads]
        return np.array(
            [i for entry in states for i in range(entry.tangent.start, entry.tangent.stop)],
            dtype=np.intp,
        )


def lay_out(flat: System) -> Layout:
    """Return the layout of a flat system.

    Raises:
        PatternError: two storages share a junction, or a state that is read belongs to no storage.
    """
    pattern = flat.pattern
    components = {n: c for n, c in flat.fillings.items() if isinstance(c, Component)}
    storage_of: dict[str, str] = {}
    free_junctions: list[str] = []
    for junction, paths in pattern.junctions.items():
        inner_paths = [path for path in paths if split(path)[0]]
        storages = [path for path in inner_paths if isinstance(components[split(path)[0]], Storage)]
        if len(storages) > 1:
            raise PatternError(
                f"junction '{junction}' joins the storages '{storages[0]}' and '{storages[1]}', "
                "which would have to share one state and one effort; put them in one storage, or "
                "join them by a constraint"
            )
        if storages:
            storage_of[junction] = storages[0]
        elif any(pattern.port(path).kind == "power" for path in inner_paths):
            free_junctions.append(junction)
    junctions = {path: name for name, paths in pattern.junctions.items() for path in paths}
    _check_reads(components, junctions, storage_of)
    order = sorted(storage_of, key=lambda j: _storage_order(components[split(storage_of[j])[0]]))
    states, entries = {}, {}
    size = stored_size = quadratic_size = vector_size = 0
    for junction in _group_by_storage(order, storage_of, components):
        space = pattern.quantity(junction).space
        element_size = math.prod(space.shape)
        entry = StateEntry(
            junction,
            storage_of[junction],
            space,
            slice(size, size + element_size),
            slice(stored_size, stored_size + space.dimension),
        )
        states[junction], entries[junction] = entry, entry.tangent
        size, stored_size = size + element_size, stored_size + space.dimension
        if isinstance(components[split(entry.port)[0]], Quadratic):
            quadratic_size = stored_size
        if _storage_order(components[split(entry.port)[0]]) < 2:
            vector_size = stored_size
    total_size = stored_size
    for junction in free_junctions:
        dimension = pattern.quantity(junction).space.dimension
        entries[junction] = slice(total_size, total_size + dimension)
        total_size += dimension
    return Layout(
        components, states, entries, size, stored_size, total_size, quadratic_size, vector_size,
        {name: junctions[name] for name in pattern.outer}, junctions,
    )  # fmt: skip


def _storage_order(component: Component) -> int:
    if isinstance(component, Quadratic):
        return 0
    spaces = [port.quantity.space for port in component.interface.values()]
    if isinstance(component, Environment):
        return 1
    return 1 if all(space.is_vector_space for space in spaces) else 2


def _group_by_storage(
    sorted_junctions: list[str], storage_of: dict[str, str], components: dict[str, Component]
) -> list[str]:
    """Order the ports of one storage contiguously, as in its interface."""
    junction_of = {path: junction for junction, path in storage_of.items()}
    grouped_junctions: list[str] = []
    for junction in sorted_junctions:
        box = split(storage_of[junction])[0]
        for port in components[box].interface:
            port_junction = junction_of[f"{box}.{port}"]
            if port_junction not in grouped_junctions:
                grouped_junctions.append(port_junction)
    return grouped_junctions


def _check_reads(
    components: dict[str, Component], junctions: dict[str, str], storage_of: dict[str, str]
) -> None:
    for box, component in components.items():
        if isinstance(component, Storage):
            continue
        for port in component.reads:
            junction = junctions[f"{box}.{port}"]
            if junction not in storage_of:
                raise PatternError(
                    f"port '{box}.{port}' reads the state of junction '{junction}', but no storage "
                    "is joined there to hold it"
                )


@runtime_checkable
class HasIntegral(Protocol):
    """A coupling: the state of one port is the integral of the effort of another."""

    @property
    def integral_ports(self) -> tuple[str, str]:
        """Name of the port with the state, and of that with its velocity."""


@runtime_checkable
class HasOffset(Protocol):
    """An offset: the pose at one port is that at another, times a constant pose."""

    @property
    def offset(self) -> tuple[str, str, Array]:
        """Names of the first and the second port, and the (4,4) pose between them."""


@runtime_checkable
class HasFixedFrame(Protocol):
    """The ground: the pose at a port is a constant."""

    @property
    def fixed_frame(self) -> tuple[str, Array]:
        """Name of the port and its (4,4) pose."""


@runtime_checkable
class HasClosure(Protocol):
    """A joint: relates the poses at two ports and its own configuration."""

    @property
    def closure_ports(self) -> tuple[str, str, str]:
        """Name of the ports of its configuration, the first and the second pose."""

    def residual(self, q_r: Array, first_motion: Array, second_motion: Array) -> Array:
        """Return the step by which the relation is violated, (rows,); its rate is ``C e``."""


@dataclass(frozen=True)
class AttachedFrame:
    """A pose: a constant, or a state times a constant."""

    state: StateEntry | None
    offset: Array

    def pose(self, x: Array) -> Array:
        """Return the pose, (4,4), at a state vector."""
        if self.state is None:
            return self.offset
        return x[self.state.indices].reshape(4, 4) @ self.offset


@dataclass(frozen=True)
class Closure:
    """The relation of which a joint's constraint is the derivative."""

    box: str
    component: HasClosure
    q_r: StateEntry
    first: AttachedFrame
    second: AttachedFrame

    def residual(self, x: Array) -> Array:
        """Return the violation of the relation at a state vector."""
        q_r = x[self.q_r.indices].reshape(self.q_r.space.shape)
        return self.component.residual(q_r, self.first.pose(x), self.second.pose(x))


def couplings(layout: Layout) -> list[tuple[StateEntry, slice]]:
    """Return the states that are integrals of efforts, with the entries of those efforts."""
    pairs = []
    for box, component in layout.components.items():
        if isinstance(component, HasIntegral):
            state_port, rate_port = component.integral_ports
            entry = layout.states.get(layout.junctions[f"{box}.{state_port}"])
            if entry is not None:
                pairs.append((entry, layout.entries[layout.junctions[f"{box}.{rate_port}"]]))
    return pairs


def joint_closures(flat: System, layout: Layout) -> dict[str, Closure]:
    """Return the relation of every joint whose two poses are known functions of the state."""
    frames: dict[str, AttachedFrame] = {}
    for box, component in layout.components.items():
        if isinstance(component, HasIntegral):
            state_port, rate_port = component.integral_ports
            entry = layout.states.get(layout.junctions[f"{box}.{state_port}"])
            if entry is not None and entry.space.shape == (4, 4):
                frames[layout.junctions[f"{box}.{rate_port}"]] = AttachedFrame(entry, np.eye(4))
        elif isinstance(component, HasFixedFrame):
            port, pose = component.fixed_frame
            frames[layout.junctions[f"{box}.{port}"]] = AttachedFrame(None, pose)
    offsets = [
        (layout.junctions[f"{box}.{c.offset[0]}"], layout.junctions[f"{box}.{c.offset[1]}"], c)
        for box, c in layout.components.items()
        if isinstance(c, HasOffset)
    ]
    while known_offsets := [w for w in offsets if w[0] in frames and w[1] not in frames]:
        for known_junction, new_junction, component in known_offsets:
            frame = frames[known_junction]
            frames[new_junction] = AttachedFrame(frame.state, frame.offset @ component.offset[2])
    closures = {}
    for box, component in layout.components.items():
        if isinstance(component, HasClosure):
            junctions = [layout.junctions[f"{box}.{p}"] for p in component.closure_ports]
            if junctions[0] in layout.states and all(j in frames for j in junctions[1:]):
                attached_frames = [frames[j] for j in junctions[1:]]
                q_r = layout.states[junctions[0]]
                closures[box] = Closure(box, component, q_r, *attached_frames)
    return closures


def parent_of(box: str) -> str:
    """Return the system that a box is part of, for messages: joints are named, not their parts."""
    return split(box)[0] or box
