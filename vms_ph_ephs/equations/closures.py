# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The integrals of velocity constraints as relations between poses.

The patterns of source C wire velocities only, and its constraints are on velocities. Each is the
derivative of a relation between poses, which is needed to keep joints closed. It is found from the
components themselves: in a coupling a pose is the integral of a velocity, an offset transforms it,
the ground fixes it, and a joint relates two poses.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..patterns import split
from ..systems import System
from .layout import Held, Layout


@runtime_checkable
class Integrating(Protocol):
    """A coupling: the state of one port is the integral of the effort of another."""

    @property
    def integrates(self) -> tuple[str, str]:
        """Name of the port with the state, and of that with its velocity."""


@runtime_checkable
class Moving(Protocol):
    """An offset: the pose at one port is that at another, times a constant pose."""

    @property
    def moves(self) -> tuple[str, str, Array]:
        """Names of the first and the second port, and the (4,4) pose between them."""


@runtime_checkable
class Fixing(Protocol):
    """The ground: the pose at a port is a constant."""

    @property
    def fixes(self) -> tuple[str, Array]:
        """Name of the port and its (4,4) pose."""


@runtime_checkable
class Closing(Protocol):
    """A joint: relates the poses at two ports and its own configuration."""

    @property
    def closes(self) -> tuple[str, str, str]:
        """Name of the ports of its configuration, the first and the second pose."""

    def residual(self, q_r: Array, first: Array, second: Array) -> Array:
        """Return the step by which the relation is violated, (rows,); its rate is ``C e``."""


@dataclass(frozen=True)
class Place:
    """A pose: a constant, or a state times a constant."""

    state: Held | None
    then: Array

    def value(self, x: Array) -> Array:
        """Return the pose, (4,4), at a state vector."""
        if self.state is None:
            return self.then
        return x[self.state.at].reshape(4, 4) @ self.then


@dataclass(frozen=True)
class Closure:
    """The relation of which a joint's constraint is the derivative."""

    box: str
    component: Closing
    q_r: Held
    first: Place
    second: Place

    def residual(self, x: Array) -> Array:
        """Return the violation of the relation at a state vector."""
        q_r = x[self.q_r.at].reshape(self.q_r.space.shape)
        return self.component.residual(q_r, self.first.value(x), self.second.value(x))


def couplings(layout: Layout) -> list[tuple[Held, slice]]:
    """Return the states that are integrals of efforts, with the entries of those efforts."""
    found = []
    for box, component in layout.components.items():
        if isinstance(component, Integrating):
            state, velocity = component.integrates
            held = layout.states.get(layout.junctions[f"{box}.{state}"])
            if held is not None:
                found.append((held, layout.efforts[layout.junctions[f"{box}.{velocity}"]]))
    return found


def closures(flat: System, layout: Layout) -> dict[str, Closure]:
    """Return the relation of every joint whose two poses are known functions of the state."""
    places: dict[str, Place] = {}
    for box, component in layout.components.items():
        if isinstance(component, Integrating):
            state, velocity = component.integrates
            held = layout.states.get(layout.junctions[f"{box}.{state}"])
            if held is not None and held.space.shape == (4, 4):
                places[layout.junctions[f"{box}.{velocity}"]] = Place(held, np.eye(4))
        elif isinstance(component, Fixing):
            port, pose = component.fixes
            places[layout.junctions[f"{box}.{port}"]] = Place(None, pose)
    waiting = [
        (layout.junctions[f"{box}.{c.moves[0]}"], layout.junctions[f"{box}.{c.moves[1]}"], c)
        for box, c in layout.components.items()
        if isinstance(c, Moving)
    ]
    while waiting:
        left = []
        for start, end, component in waiting:
            if start in places:
                known = places[start]
                places[end] = Place(known.state, known.then @ component.moves[2])
            else:
                left.append((start, end, component))
        if len(left) == len(waiting):
            break
        waiting = left
    found = {}
    for box, component in layout.components.items():
        if isinstance(component, Closing):
            state, first, second = (layout.junctions[f"{box}.{p}"] for p in component.closes)
            if state in layout.states and first in places and second in places:
                found[box] = Closure(
                    box, component, layout.states[state], places[first], places[second]
                )
    return found


def parent_of(box: str) -> str:
    """Return the system that a box is part of, for messages: joints are named, not their parts."""
    return split(box)[0] or box
