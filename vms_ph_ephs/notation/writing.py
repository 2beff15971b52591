# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""From a system to data."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..components import Component
from ..errors import StructureError
from ..patterns import Pattern
from ..quantities import Quantity, Space
from ..systems import System, fold
from .names import port_name, quantity_name, space_name


def describe(system: System) -> dict[str, Any]:
    """Return the data from which :func:`.build` makes an equal system.

    Numbers keep all their digits. A system in a box is written with its own boxes.

    Raises:
        StructureError: a component is given by user-defined functions, which data cannot hold.
    """
    return fold(system, _system_data)


def _system_data(system: System, inner_data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    boxes = {}
    for box, filling in system.fillings.items():
        if box in inner_data:
            boxes[box] = inner_data[box]
        else:
            assert isinstance(filling, Component)  # systems are within
            boxes[box] = component_data(box, filling)
    pattern = system.pattern
    junctions = {name: list(paths) for name, paths in pattern.junctions.items()}
    return {"boxes": boxes, "junctions": junctions, "outer": _outer_ports(pattern)}


def _outer_ports(pattern: Pattern) -> Any:
    names = list(pattern.outer)
    inferred_ports = Pattern(pattern.boxes, pattern.junctions, names).outer
    if dict(inferred_ports) == dict(pattern.outer):
        return names
    return {name: port_name(port) for name, port in pattern.outer.items()}


def component_data(box: str, component: Component) -> dict[str, Any]:
    """Return the kind and the parameters of a component.

    Raises:
        StructureError: it is given by user-defined functions.
    """
    description = component.to_parameters()
    if description is None:
        raise StructureError(
            f"box '{box}' is given by functions, which a file cannot hold; use one of the kinds of "
            "`vms-ph ephs parts`"
        )
    return {key: _plain_value(value) for key, value in description.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Quantity):
        return quantity_name(value)
    if isinstance(value, Space):
        return space_name(value)
    if isinstance(value, Mapping):
        return {name: port_name(port) for name, port in value.items()}
    return value
