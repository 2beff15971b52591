"""Systems: components, or patterns whose boxes are filled by systems."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..components import Component
from ..errors import PatternError
from ..patterns import Interface, Pattern, same_interface, substitute


@dataclass(frozen=True)
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
    inner: dict[str, Pattern] = {}
    fillings: dict[str, System | Component] = {}
    for box, filling in system.fillings.items():
        if isinstance(filling, System):
            flat = flatten(filling)
            inner[box] = flat.pattern
            fillings |= {f"{box}.{name}": c for name, c in flat.fillings.items()}
        else:
            fillings[box] = filling
    return System(substitute(system.pattern, inner), fillings)
