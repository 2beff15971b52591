# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
