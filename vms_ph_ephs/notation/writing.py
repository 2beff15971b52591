# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""From a system to data."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..components import Component, DryFriction, Environment, Quadratic, Reversible
from ..components.component import description_of
from ..errors import StructureError
from ..library import (
    AirDrag,
    Battery,
    Damper,
    Inverter,
    LinearSpring,
    MeshFriction,
    PlaneContact,
    PointWeight,
    Radiator,
    Resistance,
    SeriesResistance,
    Signal,
    Strut,
    Thrust,
)
from ..multibody.body import Coupling, Gravity, Ground, LiePoisson
from ..multibody.environment import FluidDrag, FootContact, Weights
from ..multibody.friction import Conduction, Friction, HeatCapacity
from ..multibody.joint import HolonomicConstraint, NoPotential, Offset, Spring
from ..patterns import Pattern
from ..quantities import Euclidean, Quantity, Space
from ..systems import System, fold
from .names import pair_name, port_name, quantity_name


def describe(system: System) -> dict[str, Any]:
    """Return the data from which :func:`.build` makes an equal system.

    Numbers keep all their digits. Systems in boxes are described by their own boxes.

    Raises:
        StructureError: a component is given by functions of the user, which data cannot hold.
    """
    return fold(system, _data)


def _data(system: System, within: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    boxes = {}
    for box, filling in system.fillings.items():
        if box in within:
            boxes[box] = within[box]
        else:
            assert isinstance(filling, Component)  # systems are within
            boxes[box] = component_data(box, filling)
    pattern = system.pattern
    junctions = {name: list(ends) for name, ends in pattern.junctions.items()}
    return {"boxes": boxes, "junctions": junctions, "outer": _outer(pattern)}


def _outer(pattern: Pattern) -> Any:
    names = list(pattern.outer)
    inferred = Pattern(pattern.boxes, pattern.junctions, names).outer
    if dict(inferred) == dict(pattern.outer):
        return names
    return {name: port_name(port) for name, port in pattern.outer.items()}


def component_data(box: str, component: Component) -> dict[str, Any]:
    """Return the kind and the parameters of a component.

    Raises:
        StructureError: it is given by functions of the user.
    """
    entry = _WRITERS.get(type(component))
    description = description_of(component)
    if entry is None or description is None:
        raise StructureError(
            f"box '{box}' is given by functions, which a file cannot hold; use one of the kinds of "
            "`vms-ph ephs parts`"
        )
    name, writer = entry
    return {
        "kind": name,
        **{key: _without_arrays(value) for key, value in writer(component, description).items()},
    }


def _without_arrays(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Quantity):
        return quantity_name(value)
    if isinstance(value, Space):
        return value.name if type(value) is Euclidean else pair_name(value)
    return value


_Writer = Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]


def _ports(component: Component) -> dict[str, str]:
    return {name: port_name(port) for name, port in component.interface.items()}


def _as_described(component: Component, description: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return all entries but the kind, for components that name them as their arguments."""
    return {key: value for key, value in description.items() if key != "kind"}


def _reversible(c: Reversible, description: Mapping[str, Any]) -> Mapping[str, Any]:
    rows = {} if c.constraint().size == 0 else {"constraint": c.constraint()}
    skew = {"skew": c.skew()} if c.skew().any() or not rows else {}
    return {"ports": _ports(c), **skew, **rows}


def _pair(c: Component) -> Space:
    """Return the pair whose relative pose or momentum a component has at its first port."""
    space = next(iter(c.interface.values())).quantity.space
    return getattr(space, "of", space)


def _friction(c: Friction, description: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"pair": _pair(c), **_as_described(c, description)}


_WRITERS: Mapping[type, tuple[str, _Writer]] = {
    Quadratic: ("quadratic", lambda c, f: {"ports": _ports(c), "matrix": c.matrix}),
    Reversible: ("reversible", _reversible),
    Environment: ("environment", lambda c, f: {"theta_0": c.theta_0, "port": next(iter(c.slices))}),
    HeatCapacity: ("heat_capacity", lambda c, f: {"capacity": c.capacity, "theta_1": c.theta_1}),
    Conduction: ("conduction", _as_described),
    Gravity: ("gravity", _as_described),
    PointWeight: ("point_weight", _as_described),
    Strut: ("strut", _as_described),
    PlaneContact: ("plane_contact", _as_described),
    FootContact: ("foot", _as_described),
    Weights: ("weights", _as_described),
    FluidDrag: ("fluid_drag", _as_described),
    LiePoisson: ("lie_poisson", _as_described),
    Coupling: (
        "coupling",
        lambda c, f: {
            "quantity": c.interface[f["pose"]].quantity,
            "pose": f["pose"],
            "velocity": f["velocity"],
        },
    ),
    Ground: ("ground", _as_described),
    Offset: (
        "offset",
        lambda c, f: {"pose": f["pose"], "body_port": f["body"], "joint_port": f["joint"]},
    ),
    HolonomicConstraint: ("joint_constraint", lambda c, f: {"pair": c.pair}),
    NoPotential: ("no_potential", lambda c, f: {"pair": _pair(c)}),
    Spring: ("joint_spring", lambda c, f: {"pair": _pair(c), **_as_described(c, f)}),
    Friction: ("joint_friction", _friction),
    DryFriction: ("dry_friction", _as_described),
    LinearSpring: ("linear_spring", _as_described),
    Battery: ("battery_cell", lambda c, f: {"full": c.full, "voltage": c.voltage}),
    SeriesResistance: ("series_resistance", _as_described),
    Resistance: ("resistance", _as_described),
    MeshFriction: ("mesh_friction", _as_described),
    Signal: ("signal", _as_described),
    Inverter: ("inverter_bridge", _as_described),
    Thrust: ("thrust", _as_described),
    AirDrag: ("air_drag", _as_described),
    Damper: ("damper", _as_described),
    Radiator: ("radiator", _as_described),
}
