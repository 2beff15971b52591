# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Patterns: ports, interfaces, junctions and their composition [C 2].

A port is written ``"box.port"``, an outer port by its name alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from .errors import PatternError
from .quantities import Quantity

Kind = Literal["power", "state"]


@dataclass(frozen=True)
class Port:
    """A port: a quantity that a box shares.

    Attributes:
        quantity: what is shared.
        kind: a power port has state, flow and effort; a state port only the state.
    """

    quantity: Quantity
    kind: Kind = "power"

    def __str__(self) -> str:
        return f"{self.kind} port of {self.quantity}"


Interface = Mapping[str, Port]


def power(quantity: Quantity) -> Port:
    """Return a power port."""
    return Port(quantity, "power")


def state(quantity: Quantity) -> Port:
    """Return a state port."""
    return Port(quantity, "state")


def width(interface: Interface) -> int:
    """Return the total number of flows of the power ports of an interface."""
    return sum(p.quantity.space.dimension for p in interface.values() if p.kind == "power")


def split(end: str) -> tuple[str, str]:
    """Return box and port of ``"box.port"``; the box of an outer port is empty."""
    box, _, port = end.rpartition(".")
    return box, port


@dataclass(frozen=True)
class Pattern:
    """How systems share energy domains. The constructor checks all connections.

    Attributes:
        boxes: the interface of every inner box.
        junctions: the ports at every junction, outer ones by their name alone.
        outer: the interface of the whole.

    Raises:
        PatternError: a port is unknown, unconnected or at two junctions, ports of different
            quantities share a junction, or an outer port does not fit its junction.
    """

    boxes: Mapping[str, Interface]
    junctions: Mapping[str, tuple[str, ...]]
    outer: Interface

    def __init__(
        self,
        boxes: Mapping[str, Interface],
        junctions: Mapping[str, Iterable[str]],
        outer: Interface | Iterable[str] = (),
    ) -> None:
        frozen_boxes = {name: MappingProxyType(dict(i)) for name, i in boxes.items()}
        object.__setattr__(self, "boxes", MappingProxyType(frozen_boxes))
        wires = {name: _ends(name, ends) for name, ends in junctions.items()}
        object.__setattr__(self, "junctions", MappingProxyType(wires))
        ports = dict(outer) if isinstance(outer, Mapping) else self._infer_outer(outer)
        object.__setattr__(self, "outer", MappingProxyType(ports))
        self._check()

    def port(self, end: str) -> Port:
        """Return the port of an end.

        Raises:
            PatternError: there is no port of this name.
        """
        box, port = split(end)
        if not box:
            if port not in self.outer:
                raise PatternError(
                    f"there is no outer port '{port}'; the outer ports are {_names(self.outer)}"
                )
            return self.outer[port]
        if box not in self.boxes:
            raise PatternError(f"there is no box '{box}'; the boxes are {_names(self.boxes)}")
        interface = self.boxes[box]
        if port not in interface:
            raise PatternError(
                f"box '{box}' has no port '{port}'; its ports are {_names(interface)}"
            )
        return interface[port]

    def quantity(self, junction: str) -> Quantity:
        """Return the quantity of a junction.

        Raises:
            PatternError: there is no such junction.
        """
        if junction not in self.junctions:
            raise PatternError(
                f"there is no junction '{junction}'; the junctions are {_names(self.junctions)}"
            )
        return self.port(self.junctions[junction][0]).quantity

    def junction_of(self, end: str) -> str:
        """Return the junction of a port.

        Raises:
            PatternError: there is no port of this name.
        """
        for name, ends in self.junctions.items():
            if end in ends:
                return name
        raise PatternError(f"port '{end}' is at no junction")

    def _infer_outer(self, names: Iterable[str]) -> dict[str, Port]:
        """Assign outer ports the quantity of their junction, as power ports if power can pass."""
        inferred: dict[str, Port] = {}
        for name in names:
            for ends in self.junctions.values():
                inner = [self.port(end) for end in ends if split(end)[0]]
                if name in ends and inner:
                    passes = any(p.kind == "power" for p in inner)
                    inferred[name] = Port(inner[0].quantity, "power" if passes else "state")
            if name not in inferred:
                raise PatternError(
                    f"outer port '{name}' is at no junction with an inner port; "
                    "add its name to a junction"
                )
        return inferred

    def _check(self) -> None:
        junction_of_end: dict[str, str] = {}
        for junction, ends in self.junctions.items():
            for end in ends:
                self.port(end)
                if end in junction_of_end:
                    raise PatternError(
                        f"port '{end}' is connected to the junctions '{junction_of_end[end]}' and "
                        f"'{junction}'; every port belongs to one"
                    )
                junction_of_end[end] = junction
            self._check_quantities(junction, ends)
            self._check_outer(junction, ends)
        ports = [f"{box}.{port}" for box, i in self.boxes.items() for port in i] + list(self.outer)
        for end in ports:
            if end not in junction_of_end:
                raise PatternError(
                    f"port '{end}', a {self.port(end)}, is connected to nothing; add it to a "
                    f"junction (there are {_names(self.junctions)})"
                )

    def _check_quantities(self, junction: str, ends: tuple[str, ...]) -> None:
        first = self.port(ends[0]).quantity
        for end in ends[1:]:
            other = self.port(end).quantity
            if other != first:
                raise PatternError(
                    f"junction '{junction}' joins port '{ends[0]}' of quantity {first} with port "
                    f"'{end}' of quantity {other}; all ports of a junction share one quantity"
                )

    def _check_outer(self, junction: str, ends: tuple[str, ...]) -> None:
        inner = [end for end in ends if split(end)[0]]
        if not inner:
            raise PatternError(f"junction '{junction}' has no inner port")
        if any(self.port(end).kind == "power" for end in inner):
            return
        for end in ends:
            if self.port(end).kind == "power":
                raise PatternError(
                    f"outer power port '{end}' meets only state ports at junction '{junction}', "
                    "which pass no power; make it a state port"
                )


def _ends(junction: str, ends: Iterable[str]) -> tuple[str, ...]:
    if isinstance(ends, str):
        raise PatternError(
            f"junction '{junction}' must be a list of ports such as ('a.p', 'b.p'); "
            f"given: the text {ends!r}"
        )
    names = tuple(ends)
    if not names:
        raise PatternError(f"junction '{junction}' has no ports")
    return names


def _names(items: Iterable[str]) -> str:
    return ", ".join(items) or "none"


# A junction of the outer pattern, with an empty box, or of the one inside a box.
Key = tuple[str, str]


def same_interface(label: str, required: Interface, actual: Interface) -> None:
    """Raise an error if an interface differs from that of a box.

    Raises:
        PatternError: it does; the message names the first port that differs.
    """
    for name, port in required.items():
        if name not in actual:
            raise PatternError(
                f"box '{label}' has a port '{name}', a {port}, which its filling lacks; the "
                f"filling has {', '.join(actual) or 'no ports'}"
            )
        if actual[name] != port:
            raise PatternError(
                f"port '{name}' of box '{label}' is a {port}, but its filling has a {actual[name]}"
            )
    for name, port in actual.items():
        if name not in required:
            raise PatternError(
                f"the filling of box '{label}' has a port '{name}', a {port}, which the box lacks"
            )


def substitute(pattern: Pattern, inner: Mapping[str, Pattern]) -> Pattern:
    """Return a pattern with some boxes replaced by the patterns that fill them.

    A box ``b`` of the pattern that fills ``a`` becomes ``a.b``. Junctions that share an outer port
    of an inner pattern become one, under the name of the outermost.

    Args:
        pattern: the outer one.
        inner: the pattern for each box to be replaced; the others stay.

    Raises:
        PatternError: there is no such box, the interface differs, or power would have to pass
            through a state port.
    """
    for box, filling in inner.items():
        if box not in pattern.boxes:
            raise PatternError(f"there is no box '{box}'; the boxes are {', '.join(pattern.boxes)}")
        same_interface(box, pattern.boxes[box], filling.outer)
    boxes: dict[str, Interface] = {}
    for box, interface in pattern.boxes.items():
        if box in inner:
            boxes |= {f"{box}.{name}": i for name, i in inner[box].boxes.items()}
        else:
            boxes[box] = interface
    # A port joins two junctions: the one around the box and the one inside it.
    groups: dict[Key, list[str]] = {}
    owner: dict[str, Key] = {}
    for junction, ends in pattern.junctions.items():
        groups["", junction] = [end for end in ends if split(end)[0] not in inner]
        owner |= {end: ("", junction) for end in ends if split(end)[0] in inner}
    for box, filling in inner.items():
        for junction, ends in filling.junctions.items():
            key: Key = (box, junction)
            groups[key] = [f"{box}.{end}" for end in ends if split(end)[0]]
            for end in ends:
                if not split(end)[0]:
                    _check_power(pattern, filling, box, end, junction)
                    key = _merge(groups, owner, owner[f"{box}.{end}"], key)
    return Pattern(boxes, _named(groups), pattern.outer)


def _merge(groups: dict[Key, list[str]], owner: dict[str, Key], target: Key, merged: Key) -> Key:
    if target == merged:
        return target
    groups[target] += groups.pop(merged)
    for end, key in owner.items():
        if key == merged:
            owner[end] = target
    return target


def _named(groups: dict[Key, list[str]]) -> dict[str, tuple[str, ...]]:
    """Prefix inner junctions with the name of their box; outer names take precedence."""
    names = {name for box, name in groups if not box}
    wires: dict[str, tuple[str, ...]] = {}
    for (box, junction), ends in groups.items():
        name = f"{box}.{junction}" if box else junction
        while box and (name in names or name in wires):
            name += "_"
        wires[name] = tuple(ends)
    return wires


def _check_power(outer: Pattern, inner: Pattern, box: str, port: str, junction: str) -> None:
    """Check that a state port, which passes no power, has no power ports on both sides."""
    if inner.outer[port].kind == "power":
        return
    ends = outer.junctions[outer.junction_of(f"{box}.{port}")]
    others = [end for end in ends if end != f"{box}.{port}" and outer.port(end).kind == "power"]
    inside = [
        end
        for end in inner.junctions[junction]
        if split(end)[0] and inner.port(end).kind == "power"
    ]
    if others and inside:
        raise PatternError(
            f"state port '{box}.{port}' passes no power, but the power ports '{others[0]}' outside "
            f"and '{inside[0]}' inside would meet through it; make it a power port"
        )
