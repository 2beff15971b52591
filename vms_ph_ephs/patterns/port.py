# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Ports and interfaces [C 2]."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..quantities import Quantity

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
