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

from .components import Component
from .errors import PatternError
from .patterns import Interface, Pattern, check_interface, substitute

Value = TypeVar("Value")


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
            check_interface(box, interface, fillings[box].interface)
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
    pattern = Pattern({name: system.interface for name, system in boxes.items()}, junctions, outer)
    return System(pattern, boxes)


def flatten(system: System) -> System:
    """Return the same system as one pattern of components; box b in box a is named ``a.b``."""
    return fold(system, _flattened)


def _flattened(system: System, flat_systems: Mapping[str, System]) -> System:
    inner_patterns = {box: filling.pattern for box, filling in flat_systems.items()}
    fillings: dict[str, System | Component] = {}
    for box, filling in system.fillings.items():
        if box in flat_systems:
            fillings |= {f"{box}.{name}": c for name, c in flat_systems[box].fillings.items()}
        else:
            fillings[box] = filling
    return System(substitute(system.pattern, inner_patterns), fillings)


def fold(system: System, combine: Callable[[System, Mapping[str, Value]], Value]) -> Value:
    """Return the value of a system from those of the systems within it, at any depth of nesting.

    Args:
        system: the outermost.
        combine: takes a system and the values of its boxes that hold systems.
    """
    values: dict[int, Value] = {}
    stack = [system]
    while stack:
        parent = stack[-1]
        children = {b: f for b, f in parent.fillings.items() if isinstance(f, System)}
        open_systems = [child for child in children.values() if id(child) not in values]
        if open_systems:
            stack += open_systems
            continue
        stack.pop()
        # A system may fill several boxes; its value is computed once.
        if id(parent) not in values:
            values[id(parent)] = combine(parent, {b: values[id(f)] for b, f in children.items()})
    return values[id(system)]
