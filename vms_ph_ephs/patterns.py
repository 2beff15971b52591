# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Patterns: ports, interfaces, junctions and their composition [C 2].

A port has the path ``"box.port"``, an outer port its name alone.
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
    return sum(port.quantity.space.dimension for port in interface.values() if port.kind == "power")


def split(path: str) -> tuple[str, str]:
    """Return box and port of ``"box.port"``; the box of an outer port is empty."""
    box, _, port = path.rpartition(".")
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
        path_lists = {name: _checked_paths(name, paths) for name, paths in junctions.items()}
        object.__setattr__(self, "junctions", MappingProxyType(path_lists))
        ports = dict(outer) if isinstance(outer, Mapping) else self._infer_outer(outer)
        object.__setattr__(self, "outer", MappingProxyType(ports))
        self._check()

    def port(self, path: str) -> Port:
        """Return the port of a path.

        Raises:
            PatternError: there is no port of this name.
        """
        box, port = split(path)
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

    def junction_of(self, path: str) -> str:
        """Return the junction of a port.

        Raises:
            PatternError: there is no port of this name.
        """
        for name, paths in self.junctions.items():
            if path in paths:
                return name
        raise PatternError(f"port '{path}' is at no junction")

    def _infer_outer(self, names: Iterable[str]) -> dict[str, Port]:
        """Assign outer ports the quantity of their junction, as power ports if power can pass."""
        ports: dict[str, Port] = {}
        for name in names:
            for paths in self.junctions.values():
                inner = [self.port(path) for path in paths if split(path)[0]]
                if name in paths and inner:
                    passes_power = any(port.kind == "power" for port in inner)
                    ports[name] = Port(inner[0].quantity, "power" if passes_power else "state")
            if name not in ports:
                raise PatternError(
                    f"outer port '{name}' is at no junction with an inner port; "
                    "add its name to a junction"
                )
        return ports

    def _check(self) -> None:
        junction_of: dict[str, str] = {}
        for junction, paths in self.junctions.items():
            for path in paths:
                self.port(path)
                if path in junction_of:
                    raise PatternError(
                        f"port '{path}' is connected to the junctions '{junction_of[path]}' and "
                        f"'{junction}'; every port belongs to one"
                    )
                junction_of[path] = junction
            self._check_quantities(junction, paths)
            self._check_outer(junction, paths)
        ports = [f"{box}.{port}" for box, i in self.boxes.items() for port in i] + list(self.outer)
        for path in ports:
            if path not in junction_of:
                raise PatternError(
                    f"port '{path}', a {self.port(path)}, is connected to nothing; add it to a "
                    f"junction (there are {_names(self.junctions)})"
                )

    def _check_quantities(self, junction: str, paths: tuple[str, ...]) -> None:
        first = self.port(paths[0]).quantity
        for path in paths[1:]:
            other = self.port(path).quantity
            if other != first:
                raise PatternError(
                    f"junction '{junction}' joins port '{paths[0]}' of quantity {first} with port "
                    f"'{path}' of quantity {other}; all ports of a junction share one quantity"
                )

    def _check_outer(self, junction: str, paths: tuple[str, ...]) -> None:
        inner_paths = [path for path in paths if split(path)[0]]
        if not inner_paths:
            raise PatternError(f"junction '{junction}' has no inner port")
        if any(self.port(path).kind == "power" for path in inner_paths):
            return
        for path in paths:
            if self.port(path).kind == "power":
                raise PatternError(
                    f"outer power port '{path}' meets only state ports at junction '{junction}', "
                    "which pass no power; make it a state port"
                )


def _checked_paths(junction: str, paths: Iterable[str]) -> tuple[str, ...]:
    if isinstance(paths, str):
        raise PatternError(
            f"junction '{junction}' must be a list of ports such as ('a.p', 'b.p'); "
            f"given: the text {paths!r}"
        )
    names = tuple(paths)
    if not names:
        raise PatternError(f"junction '{junction}' has no ports")
    return names


def _names(items: Iterable[str]) -> str:
    return ", ".join(items) or "none"


# A junction of the outer pattern, with an empty box, or of the one inside a box.
Key = tuple[str, str]


def check_interface(box: str, required_ports: Interface, interface: Interface) -> None:
    """Raise an error if an interface differs from that of a box.

    Raises:
        PatternError: it does; the message names the first port that differs.
    """
    for name, port in required_ports.items():
        if name not in interface:
            raise PatternError(
                f"box '{box}' has a port '{name}', a {port}, which its filling lacks; the "
                f"filling has {', '.join(interface) or 'no ports'}"
            )
        if interface[name] != port:
            raise PatternError(
                f"port '{name}' of box '{box}' is a {port}, but its filling has a {interface[name]}"
            )
    for name, port in interface.items():
        if name not in required_ports:
            raise PatternError(
                f"the filling of box '{box}' has a port '{name}', a {port}, which the box lacks"
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
        check_interface(box, pattern.boxes[box], filling.outer)
    boxes: dict[str, Interface] = {}
    for box, interface in pattern.boxes.items():
        if box in inner:
            boxes |= {f"{box}.{name}": i for name, i in inner[box].boxes.items()}
        else:
            boxes[box] = interface
    # A port joins two junctions: the one around the box and the one inside it.
    paths_at: dict[Key, list[str]] = {}
    junction_of: dict[str, Key] = {}
    for junction, paths in pattern.junctions.items():
        paths_at["", junction] = [path for path in paths if split(path)[0] not in inner]
        junction_of |= {path: ("", junction) for path in paths if split(path)[0] in inner}
    for box, filling in inner.items():
        for junction, paths in filling.junctions.items():
            key: Key = (box, junction)
            paths_at[key] = [f"{box}.{path}" for path in paths if split(path)[0]]
            for path in paths:
                if not split(path)[0]:
                    _check_power(pattern, filling, box, path, junction)
                    key = _merge(paths_at, junction_of, junction_of[f"{box}.{path}"], key)
    return Pattern(boxes, _with_final_names(paths_at), pattern.outer)


def _merge(paths: dict[Key, list[str]], keys: dict[str, Key], kept_key: Key, old_key: Key) -> Key:
    if kept_key == old_key:
        return kept_key
    paths[kept_key] += paths.pop(old_key)
    for path, key in keys.items():
        if key == old_key:
            keys[path] = kept_key
    return kept_key


def _with_final_names(paths_at: dict[Key, list[str]]) -> dict[str, tuple[str, ...]]:
    """Prefix inner junctions with the name of their box; outer names take precedence."""
    names = {name for box, name in paths_at if not box}
    junctions: dict[str, tuple[str, ...]] = {}
    for (box, junction), paths in paths_at.items():
        name = f"{box}.{junction}" if box else junction
        while box and (name in names or name in junctions):
            name += "_"
        junctions[name] = tuple(paths)
    return junctions


def _check_power(outer: Pattern, inner: Pattern, box: str, port: str, junction: str) -> None:
    """Check that a state port, which passes no power, has no power ports on both sides."""
    if inner.outer[port].kind == "power":
        return
    paths = outer.junctions[outer.junction_of(f"{box}.{port}")]
    outer_paths = [p for p in paths if p != f"{box}.{port}" and outer.port(p).kind == "power"]
    inside = [p for p in inner.junctions[junction] if split(p)[0] and inner.port(p).kind == "power"]
    if outer_paths and inside:
        raise PatternError(
            f"state port '{box}.{port}' passes no power, but the power ports '{outer_paths[0]}' "
            f"outside and '{inside[0]}' inside would meet through it; make it a power port"
        )
