# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies, joints, friction and heat as systems [C 4, 5]."""

from typing import TYPE_CHECKING, Any

from .body import Coupling, Gravity, Ground, LiePoisson, rigid_body
from .environment import FluidDrag, Foot, FootContact, Weights, immersed_body, with_feet
from .friction import Conduction, Coulomb, Friction, HeatCapacity
from .joint import Heat, HolonomicConstraint, Offset, Spring, joint, potential
from .mechanism import GROUND, Between, Gear, Tool, mechanism
from .pairs import Cylindrical, LowerPair, Planar, Prismatic, Revolute, Screw, Spherical
from .placement import consistent_state, joint_positions, joint_velocities

if TYPE_CHECKING:
    from .bridge import configuration_of, state_of
    from .urdf import from_urdf

__all__ = [
    "GROUND", "Between", "Conduction", "Coulomb", "Coupling", "Cylindrical",
    "FluidDrag", "Foot", "FootContact", "Friction", "Gear", "Gravity", "Ground", "Heat",
    "HeatCapacity", "HolonomicConstraint", "LiePoisson", "LowerPair", "Offset", "Planar",
    "Prismatic", "Revolute", "Screw", "Spherical", "Spring", "Tool", "Weights",
    "configuration_of", "consistent_state", "from_urdf", "immersed_body", "joint",
    "joint_positions", "joint_velocities", "mechanism", "potential", "rigid_body",
    "state_of", "with_feet",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Pinocchio takes a tenth of a second to import; only URDFs need it.
    if name == "from_urdf":
        from .urdf import from_urdf

        return from_urdf
    if name in ("configuration_of", "state_of"):
        from . import bridge

        return getattr(bridge, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
