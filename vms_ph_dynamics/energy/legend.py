# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What ports, stores and losses are called, and how they are drawn: in plots, pages and markers.

The colours are those of Okabe and Ito, which colour-blind readers tell apart, without black and
yellow, which are lost on dark and on light ground, and with a grey. Ports of efforts are blue
(joints), orange (base) and purple (end effector and tools). Stores are green, kinetic energies
light blue, losses grey; what is unaccounted for is vermilion.
"""

from collections.abc import Iterable, Mapping
from itertools import cycle, product
from typing import NamedTuple

BLUE, SKY, GREEN = "#0072b2", "#56b4e9", "#009e73"
ORANGE, VERMILION, PURPLE, GREY = "#e69f00", "#d55e00", "#cc79a7", "#8c8c8c"

Dashes = tuple[int, ...]
_SOLID: Dashes = ()
_DASHED, _DOTTED, _DOT_DASHED = (8, 4), (2, 3), (8, 3, 2, 3)


class Style(NamedTuple):
    """How a quantity is written and drawn.

    Attributes:
        label: label in legends.
        colour: red, green and blue as "#rrggbb".
        dashes: lengths of strokes and gaps of a line, pixels; empty for a solid line.
    """

    label: str
    colour: str
    dashes: Dashes = _SOLID

    @property
    def rgb(self) -> tuple[int, int, int]:
        """Red, green and blue, from 0 to 255."""
        return rgb(self.colour)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue, from 0 to 255, of a colour "#rrggbb"."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


LEGEND: Mapping[str, Style] = {
    # Ports of the robot and of engines.
    "torque": Style("joint torques", BLUE),
    "wrench_base": Style("base", ORANGE),
    "wrench_end_effector": Style("end effector", PURPLE),
    "contact": Style("contact", SKY),
    "joint_stops": Style("joint stops", GREY, _DOTTED),
    "mimic_joints": Style("mimic joints", GREY, _DOT_DASHED),
    "ground": Style("ground", ORANGE, _DOTTED),
    "payload": Style("payload", PURPLE, _DOT_DASHED),
    "driver_weight": Style("weight by the driver", ORANGE, _DASHED),
    "supply": Style("battery", BLUE, _DASHED),
    "supplied": Style("supplied", BLUE),
    # Ports of a law and of a guard.
    "reference": Style("reference", BLUE, _DASHED),
    "pushes": Style("pushes", PURPLE),
    "tank": Style("tank", GREEN, _DOTTED),
    # Stores.
    "stored": Style("stored", GREEN),
    "total": Style("total", GREEN),
    "potential": Style("potential", GREEN, _DASHED),
    "shaped_potential": Style("shaped potential", GREEN, _DASHED),
    "kinetic": Style("kinetic", SKY),
    "kinetic_task": Style("kinetic, task", SKY),
    "kinetic_null": Style("kinetic, null space", SKY, _DASHED),
    "kinetic_base": Style("kinetic, base", SKY),
    "kinetic_shape": Style("kinetic, shape", SKY, _DASHED),
    "heat": Style("heat", ORANGE, _DASHED),
    # Losses.
    "dissipated": Style("friction and drag", GREY),
    "joints_and_drag": Style("friction and drag", GREY),
    "friction": Style("friction", GREY),
    "drag": Style("drag", GREY, _DASHED),
    "fluid": Style("drag of actuators", GREY, _DASHED),
    "fluid_drag": Style("drag of the fluid", GREY, _DASHED),
    "damping": Style("damping", GREY),
    "winding": Style("copper losses", GREY),
    "rotor_winding": Style("copper, rotors", GREY),
    "rotor_wake": Style("wake of rotors", GREY),
    "rotor_drag": Style("drag of blades", GREY),
    "battery": Style("inner resistance", GREY),
    "electronics": Style("electronics", GREY),
    "brake_resistor": Style("brake resistor", GREY),
    "conduction": Style("heat conduction", GREY),
    "winding_to_housing": Style("heat to housings", GREY),
    "housing_to_air": Style("heat to air", GREY),
    "battery_to_air": Style("heat of battery", GREY),
    "rotor_to_air": Style("heat of rotors", GREY),
    # What is left.
    "unaccounted": Style("unaccounted", VERMILION),
    "residual": Style("residual", VERMILION),
    "rest": Style("rest", VERMILION),
    "gaps": Style("in gaps, not accounted", VERMILION, _DASHED),
}
"""By the name that a port, a store or a loss has in records, messages and results."""

# Joints are parts of the joint torques; tools are like the end effector. No two lines are alike.
_JOINT_LINES = tuple(product((_SOLID, _DASHED, _DOTTED, _DOT_DASHED), (BLUE, GREEN, SKY, GREY)))
_TOOL_LINES = tuple(product((_DASHED, _DOTTED), (PURPLE, BLUE, GREEN)))


def styles(names: Iterable[str]) -> dict[str, Style]:
    """Return the styles of the curves of one plot.

    Names that are not in :data:`LEGEND` are those of tools if ``torque``, the port of all joints,
    is among the names; otherwise they are those of joints or links.
    """
    names = (*names,)
    lines = cycle(_TOOL_LINES if "torque" in names else _JOINT_LINES)
    return {name: LEGEND.get(name) or Style(name, *next(lines)[::-1]) for name in names}


def label_of(name: str) -> str:
    """Return what a port, a store or a loss is called; the name where it has no other."""
    return LEGEND[name].label if name in LEGEND else name
