# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The inertia of a link and its place in a Pinocchio model."""

from dataclasses import dataclass
from typing import Any

import pinocchio as pin

from ..arrays import Array


@dataclass(frozen=True)
class LinkInertia:
    """The inertia of a link.

    Attributes:
        link: its name.
        joint: index of the Pinocchio joint that moves it.
        placement: ``pinocchio.SE3`` of the link in the axes of that joint.
        mass: kg.
        centre: (3,) centre of mass in the link, m.
        rotational: (3,3) about the centre of mass, in the axes of the link, kg m^2.
    """

    link: str
    joint: int
    placement: Any
    mass: float
    centre: Array
    rotational: Array

    def in_joint(self, mass: float, rotational: Array) -> Any:
        """Return another inertia about the same centre, in the axes of the joint."""
        inertia = pin.Inertia.Zero()  # the constructor refuses what is no body's
        inertia.mass, inertia.lever, inertia.inertia = mass, self.centre, rotational
        return self.placement.act(inertia)
