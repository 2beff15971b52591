# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""All parts with their parameters, as data."""

from collections.abc import Mapping
from types import MappingProxyType

from ..errors import StructureError
from .electrics import BATTERY, INVERTER, MOTOR, WINDING, battery, inverter, motor, winding
from .mechanics import (
    DAMPER,
    PLANE_CONTACT,
    POINT_MASS,
    SPRING,
    STRUT,
    damper,
    plane_contact,
    point_mass,
    spring,
    strut,
)
from .parameters import Part
from .propulsion import GEAR, PROPELLER, RADIATOR, gear, propeller, radiator

_ALL = (
    Part("battery", "stores charge, behind a resistance; ports q, s", battery, BATTERY),
    Part("inverter", "a supply to a motor, at a commanded ratio; ports q, phi", inverter, INVERTER),
    Part("winding", "inductance and warm resistance; ports phi, s", winding, WINDING),
    Part("motor", "winding, gyrator, bearing, rotor; ports phi, p, perhaps s", motor, MOTOR),
    Part(
        "gear", "a ratio, rigid or elastic, with losses; ports p_in, p_out, perhaps s", gear, GEAR
    ),
    Part("spring", "between two bodies or to the ground; ports p_1, p_2 or p", spring, SPRING),
    Part("damper", "viscous and dry friction with heat; ports p, s", damper, DAMPER),
    Part("propeller", "thrust and drag on a body; ports p, b, s", propeller, PROPELLER),
    Part("point_mass", "a mass without extent; ports q (read), p", point_mass, POINT_MASS),
    Part("strut", "the distance of two points; ports q_1, q_2, p_1, p_2, p", strut, STRUT),
    Part(
        "plane_contact",
        "a point that cannot pass a plane; ports q (read), p, s",
        plane_contact,
        PLANE_CONTACT,
    ),
    Part("radiator", "convection and radiation; ports a, b", radiator, RADIATOR),
)

PARTS: Mapping[str, Part] = MappingProxyType({entry.kind: entry for entry in _ALL})
"""Every part by its kind."""


def part(kind: str) -> Part:
    """Return a part.

    Raises:
        StructureError: there is none of this kind.
    """
    if kind not in PARTS:
        raise StructureError(f"there is no part {kind!r}; the parts are {', '.join(PARTS)}")
    return PARTS[kind]
