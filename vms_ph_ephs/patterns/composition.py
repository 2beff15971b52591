# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Composition of patterns: every hierarchy has one flat pattern [C 2]."""

from collections.abc import Mapping

from ..errors import PatternError
from .pattern import Interface, Pattern, split

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
    around = outer.junctions[outer.junction_of(f"{box}.{port}")]
    others = [end for end in around if end != f"{box}.{port}" and outer.port(end).kind == "power"]
    within = [
        end
        for end in inner.junctions[junction]
        if split(end)[0] and inner.port(end).kind == "power"
    ]
    if others and within:
        raise PatternError(
            f"state port '{box}.{port}' passes no power, but the power ports '{others[0]}' outside "
            f"and '{within[0]}' inside would meet through it; make it a power port"
        )
