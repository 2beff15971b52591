# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Actuators and fluids in the robot description, as the plugins of ros2_control read them.

The elements have numbers only, the same for every kind of actuator and of body, so that files of
actuators and fluids are read, and checked, in one place: here.
"""

import xml.etree.ElementTree as ET
from math import inf
from typing import TYPE_CHECKING

from vms_ph_dynamics.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vms_ph_dynamics.effects.actuators import Actuators
    from vms_ph_dynamics.effects.fluid import Fluid

ALLOCATION_TAG = "vms_ph_allocation"
FLUID_TAG = "vms_ph_fluid"

# Of an input, where they are known.
_CONSTANTS = (
    "thrust_constant",
    "time_constant",
    "dead_zone",
    "loss_ratio",
    "friction",
    "largest_rate",
    "torque_constant",
    "resistance",
)


def allocation_tag(actuators: "Actuators") -> ET.Element:
    """Return actuators as an element with a column of B, limits, lag and losses for each input.

    Reaction wheels are those without lag and losses: their spin is not in the plugins.

    Raises:
        ModelError: they tilt or are steered, so that B depends on their angles.
    """
    if actuators.tilting.size or actuators.steered.size:
        raise ModelError(
            "tilting rotors and casters are not in the plugins of ros2_control, whose actuators "
            "are fixed to the base; choose actuators:=ideal, or use the simulator of the nodes"
        )
    found = actuators.allocation
    element = ET.Element(
        ALLOCATION_TAG, base=actuators.base, weights=_numbers(actuators.weights.tolist())
    )
    for i, name in enumerate(actuators.names):
        item = ET.SubElement(element, "input", name=name, column=_numbers(found.matrix[:, i]))
        item.set("lower", _numbers([found.lower[i]]))
        item.set("upper", _numbers([found.upper[i]]))
        if i in actuators.reaction:
            continue
        for key in _CONSTANTS:
            value = getattr(actuators, key)[i]
            if 0.0 < value < inf:
                item.set(key, _numbers([value]))
    return element


def fluid_tag(fluid: "Fluid") -> ET.Element:
    """Return a fluid as an element with the coefficients of each body; matrices row by row."""
    element = ET.Element(FLUID_TAG, density=_numbers([fluid.density]))
    for body in fluid.bodies:
        ET.SubElement(
            element,
            "body",
            link=body.link,
            volume=_numbers([body.volume]),
            centre_of_buoyancy=_numbers(body.centre_of_buoyancy),
            added_mass=_numbers(body.added_mass.ravel()),
            linear_drag=_numbers(body.linear_drag),
            quadratic_drag=_numbers(body.quadratic_drag),
        )
    return element


def _numbers(values: "Iterable[float]") -> str:
    return " ".join(repr(float(value)) for value in values)
