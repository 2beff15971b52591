# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds of boxes that a file may name, with their parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..components import Component, DryFriction, Environment, Quadratic, Reversible
from ..library import (
    PARTS,
    AirDrag,
    Battery,
    Inverter,
    LinearSpring,
    MeshFriction,
    Parameter,
    PointWeight,
    Resistance,
    SeriesResistance,
    Signal,
    Thrust,
)
from ..multibody.body import Coupling, Gravity, Ground, LiePoisson, rigid_body
from ..multibody.environment import FluidDrag, Foot, FootContact, Weights
from ..multibody.friction import Conduction, Friction, HeatCapacity, coulomb
from ..multibody.joint import Heat, HolonomicConstraint, NoPotential, Offset, Spring, joint
from ..quantities import SE3_SPACE
from ..systems import System


@dataclass(frozen=True)
class Kind:
    """A kind of box.

    Attributes:
        name: in files.
        meaning: in a few words.
        make: takes the parameters, converted by their form, by keyword.
        parameters: their units, and whether they are required.
        forms: of parameters that are no numbers: ``array``, ``pair``, ``ports``, ``quantity``,
            ``text``, ``flag``.
    """

    name: str
    meaning: str
    make: Callable[..., System | Component]
    parameters: tuple[Parameter, ...]
    forms: Mapping[str, str]


def _kind(
    name: str, meaning: str, make: Callable[..., System | Component], *parameters: str
) -> Kind:
    """Return a kind; a parameter is ``name! unit`` if required, or ``name:form``."""
    lines, forms = [], {}
    for text in parameters:
        word, _, unit = text.partition(" ")
        required = word.endswith("!")
        word, _, form = word.removesuffix("!").partition(":")
        if form:
            forms[word] = form
        lines.append(
            Parameter(word, unit, word.replace("_", " "), required=required, number=not form)
        )
    return Kind(name, meaning, make, tuple(lines), MappingProxyType(forms))


def _quadratic(ports: Any, matrix: Any) -> Quadratic:
    return Quadratic(ports, matrix)


def _gravity(weight: Any) -> Gravity:
    return Gravity(1.0, [-float(w) for w in weight], SE3_SPACE)


def _coupling(quantity: Any, pose: str = "q", velocity: str = "p") -> Coupling:
    return Coupling(quantity, pose, velocity)


def _friction(
    pair: Any,
    tensor: Any = None,
    viscous: float = 0.0,
    dry: float = 0.0,
    slip: float = 0.01,
    softening: float = 0.0,
    reference: float = 298.15,
) -> Friction:
    law = coulomb(viscous, dry, slip, softening, reference) if tensor is None else tensor
    return Friction(law, pair)


def _joint(
    pair: Any,
    offset_1: Any = None,
    offset_2: Any = None,
    viscous: float = 0.0,
    dry: float = 0.0,
    stiffness: float = 0.0,
    rest: float = 0.0,
    armature: float = 0.0,
    driven: bool = False,
    capacity: float | None = None,
    conductance: float = 0.0,
    theta_0: float = 298.15,
) -> System:
    friction = coulomb(viscous, dry) if dry else viscous or None
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


def _reversible(ports: Any, skew: Any = None, constraint: Any = None) -> Reversible:
    return Reversible(ports, skew=skew, constraint=constraint)


def _dry(limit: Any, pair: Any, port: str = "p_r") -> DryFriction:
    return DryFriction(limit, pair, port)


_PRIMITIVE = (
    _kind("quadratic", "energy x^T Q x / 2", _quadratic, "ports:ports!", "matrix:array!"),
    _kind(
        "reversible",
        "f = J e + C^T lambda, 0 = C e with constants",
        _reversible,
        "ports:ports!",
        "skew:array",
        "constraint:array",
    ),
    _kind("environment", "takes heat", Environment, "theta_0 K", "port:text"),
    _kind("heat_capacity", "stores heat", HeatCapacity, "capacity! J/K", "theta_1 K"),
    _kind("conduction", "of heat", Conduction, "conductance! W/K"),
    _kind("gravity", "of a pose in SE(3)", _gravity, "weight:array! N"),
    _kind("point_weight", "of a point", PointWeight, "weight:array! N"),
    _kind("weights", "constant forces", Weights, "forces:array! N", "points:array! m"),
    _kind(
        "fluid_drag",
        "of a twist",
        FluidDrag,
        "linear:array! N s/m, N m s",
        "quadratic:array! N s^2/m^2, N m s^2",
    ),
    _kind("lie_poisson", "gyroscopic forces in SE(3)", lambda: LiePoisson(SE3_SPACE)),
    _kind(
        "coupling",
        "potential and kinetic energy",
        _coupling,
        "quantity:quantity!",
        "pose:text",
        "velocity:text",
    ),
    _kind("ground", "a body at rest", Ground, "pose:array"),
    _kind(
        "offset",
        "from body to joint frame",
        Offset,
        "pose:array!",
        "body_port:text",
        "joint_port:text",
    ),
    _kind("joint_constraint", "kinematics of a pair", HolonomicConstraint, "pair:pair!"),
    _kind("no_potential", "holds a relative pose", NoPotential, "pair:pair!"),
    _kind(
        "joint_spring",
        "of a pair",
        Spring,
        "pair:pair!",
        "stiffness:array! N/m or N m/rad",
        "rest:array m or rad",
    ),
    _kind(
        "joint_friction",
        "of a pair",
        _friction,
        "pair:pair!",
        "tensor:array",
        "viscous N s/m or N m s/rad",
        "dry N or N m",
        "slip m/s or rad/s",
        "softening 1/K",
        "reference K",
    ),
    _kind("dry_friction", "that sticks", _dry, "limit:array! N or N m", "pair:space!", "port:text"),
    _kind(
        "foot",
        "a point of a body that cannot pass a plane",
        lambda **values: FootContact(Foot(**values)),
        "point:array m",
        "friction",
        "restitution",
        "height m",
        "normal:array",
    ),
    _kind("linear_spring", "energy", LinearSpring, "stiffness! N/m or N m/rad", "rest m or rad"),
    _kind("battery_cell", "energy", Battery, "full! C", "voltage:array! V"),
    _kind("series_resistance", "between voltages", SeriesResistance, "resistance! ohm"),
    _kind(
        "resistance",
        "of a winding",
        Resistance,
        "resistance! ohm",
        "coefficient 1/K",
        "reference K",
    ),
    _kind(
        "mesh_friction",
        "in proportion to the load",
        MeshFriction,
        "share!",
        "stiffness! N/m or N m/rad",
        "slip m/s or rad/s",
        "shaft:quantity",
    ),
    _kind("signal", "a state without energy", Signal),
    _kind("inverter_bridge", "a transformer that reads its ratio", Inverter),
    _kind(
        "thrust",
        "reversible part of a propeller",
        Thrust,
        "thrust! N s^2/rad^2",
        "inertia! kg m^2",
        "spin:integer",
    ),
    _kind(
        "air_drag",
        "irreversible part of a propeller",
        AirDrag,
        "torque! N m s^2/rad^2",
        "axial N s^2/(m rad)",
        "lateral N s^2/(m rad)",
    ),
)

_COMPOSITE = (
    _kind(
        "rigid_body",
        "with gravity; port p",
        rigid_body,
        "mass! kg",
        "inertia:array! kg m^2",
        "gravity:array m/s^2",
    ),
    _kind(
        "joint",
        "a pair with offsets, friction, spring and heat; ports p_1, p_2, p_r if driven",
        _joint,
        "pair:pair!",
        "offset_1:array",
        "offset_2:array",
        "viscous N s/m or N m s/rad",
        "dry N or N m",
        "stiffness N/m or N m/rad",
        "rest m or rad",
        "armature kg or kg m^2",
        "driven:flag",
        "capacity J/K",
        "conductance W/K",
        "theta_0 K",
    ),
)

_PART_FORMS = {
    "shaft": "quantity",
    "shaft_in": "quantity",
    "shaft_out": "quantity",
    "voltage": "array",
    "pose": "array",
    "gravity": "array",
    "normal": "array",
    "dimension": "integer",
    "grounded": "flag",
    "spin": "integer",
}

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        **{
            part.kind: Kind(
                part.kind, part.meaning, part.make, part.parameters, MappingProxyType(_PART_FORMS)
            )
            for part in PARTS.values()
        },
        **{kind.name: kind for kind in (*_COMPOSITE, *_PRIMITIVE)},
    }
)
"""Every kind of box by its name."""
