# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds of boxes that a file may name, with the types of their parameters."""

from typing import Annotated, Any

from .. import library as library  # registers the kinds of its parts
from ..components import NumberSpec, kind
from ..components.component import ParameterSpec
from ..multibody.friction import Coulomb, Dry, Viscous
from ..multibody.joint import Heat, Spring, joint
from ..multibody.pairs import LowerPair
from ..patterns import Interface
from ..quantities import Quantity, Space
from ..systems import System

_VALUE_TYPES: dict[Any, str] = {
    Interface: "ports",
    LowerPair: "pair",
    Quantity: "quantity",
    Space: "space",
    bool: "flag",
    int: "integer",
    str: "text",
}


def value_type_of(parameter: ParameterSpec) -> str:
    """Return how a parameter is written: as a number, or array, pair, ports, text and so on."""
    return "number" if parameter.is_number else _VALUE_TYPES.get(parameter.type, "array")


@kind("joint", "a pair with offsets, friction, spring and heat; ports p_1, p_2, p_r if driven")
def joint_of_numbers(
    pair: LowerPair,
    offset_1: Any = None,
    offset_2: Any = None,
    viscous: Viscous = 0.0,
    dry: Dry = 0.0,
    stiffness: Annotated[float, NumberSpec("N/m or N m/rad")] = 0.0,
    rest: Annotated[float, NumberSpec("m or rad")] = 0.0,
    armature: Annotated[float, NumberSpec("kg or kg m^2")] = 0.0,
    driven: bool = False,
    capacity: Annotated[float | None, NumberSpec("J/K")] = None,
    conductance: Annotated[float, NumberSpec("W/K")] = 0.0,
    theta_0: Annotated[float, NumberSpec("K")] = 298.15,
) -> System:
    """Return a :func:`.joint` with friction of Coulomb, a linear spring and a capacity of heat."""
    friction = Coulomb(viscous, dry) if dry else viscous or None
    return joint(
        pair,
        offset_1,
        offset_2,
        potential=Spring(pair, stiffness, rest) if stiffness else None,
        friction=friction,
        heat=None if friction is None else Heat(capacity, conductance, theta_0),
        armature=armature,
        driven=driven,
    )
