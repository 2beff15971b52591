# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators and fluids in the robot description, as the plugins of ros2_control read them.

The elements have numbers only, the same for every kind of actuator and of body, so that files of
actuators and fluids are read, and checked, in one place: here.
"""

import xml.etree.ElementTree as ET
from math import inf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vms_ph_dynamics import Fluid
    from vms_ph_dynamics.actuation.allocation import Actuators

ALLOCATION_TAG = "vms_ph_allocation"
FLUID_TAG = "vms_ph_fluid"
REACTION_WHEEL = "reaction_wheel"

# Of an input, where they are known.
_CONSTANTS = (
    "thrust_constant", "time_constant", "dead_zone", "loss_ratio", "friction", "largest_rate",
    "torque_constant", "resistance",
)  # fmt: skip


def numbers(values: "Iterable[float]") -> str:
    """Return numbers as text that is read as the same numbers."""
    return " ".join(repr(float(value)) for value in values)


def allocation_tag(actuators: "Actuators") -> ET.Element:
    """Return actuators as an element with an input for each of theirs.

    An input has its column of B, limits, lag, losses and spin, and, for a column that turns, the
    parts of ``column_fixed + cos(angle) column_cos + sin(angle) column_sin``; ``column``
    is that at the start, without tilt.
    """
    allocation = actuators.allocation
    element = ET.Element(
        ALLOCATION_TAG, base=actuators.base, weights=numbers(actuators.weights.tolist())
    )
    for i, name in enumerate(actuators.names):
        tag = ET.SubElement(element, "input", name=name, column=numbers(allocation.matrix[:, i]))
        tag.set("lower", numbers([allocation.lower[i]]))
        tag.set("upper", numbers([allocation.upper[i]]))
        if i in actuators.reaction_wheels:
            tag.set("kind", REACTION_WHEEL)
        for key in _CONSTANTS:
            value = getattr(actuators, key)[i]
            if 0.0 < value < inf:
                tag.set(key, numbers([value]))
        _add_spin(actuators, i, tag)
        _add_column_rotation(actuators, i, tag)
    return element


def _add_spin(actuators: "Actuators", i: int, tag: ET.Element) -> None:
    """Add the momentum of spinning parts, and the rate at the start, to an input."""
    if actuators.start_rates[i]:
        tag.set("rate", numbers([actuators.start_rates[i]]))
    if not actuators.inertia[i]:
        return
    tag.set("inertia", numbers([actuators.inertia[i]]))
    spin_columns = actuators.spin_columns
    tag.set("spin_axis", numbers((spin_columns.fixed + spin_columns.cosine)[:, i]))
    if i in actuators.tilting_rotors:
        tag.set("spin_axis_sin", numbers(spin_columns.sine[:, i]))


def _add_column_rotation(actuators: "Actuators", i: int, tag: ET.Element) -> None:
    """Add the input that tilts the column of another one, and the parts of the column."""
    columns = actuators.columns
    angle_input = int(columns.angle_input[i])
    if angle_input < 0:
        return
    attributes = (("column_cos", columns.cosine), ("column_sin", columns.sine))
    for key, part in (("column_fixed", columns.fixed), *attributes):
        if part[:, i].any():
            tag.set(key, numbers(part[:, i]))
    if i in actuators.tilting_rotors:
        for key in ("tilt_lower", "tilt_upper", "tilt_rate"):
            tag.set(key, numbers([getattr(actuators, key)[i]]))
        return
    tag.set("steering", actuators.names[angle_input])
    if angle_input == i:  # the angle is at the wheel, which comes before its steering
        tag.set("angle", numbers([actuators.start_angles[i - 1]]))


def fluid_tag(fluid: "Fluid") -> ET.Element:
    """Return a fluid as an element with the coefficients of each body; matrices row by row."""
    element = ET.Element(FLUID_TAG, density=numbers([fluid.density]))
    for body in fluid.bodies:
        tag = ET.SubElement(element, "body", link=body.link)
        for name in ("volume", "centre_of_buoyancy", "added_mass", "linear_drag", "quadratic_drag"):
            tag.set(name, numbers(np.ravel(getattr(body, name))))
    return element
