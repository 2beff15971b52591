# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Decoupling of base and joints: transforms, invariance, integrability [B, chapter 3]."""

from .conservation import Conservation, conservation
from .coriolis import BodyCoriolis, hamel_coriolis, mass_rate, passive_coriolis
from .frames import (
    Alignment,
    Frame,
    base_pose,
    centre_of_mass,
    centre_of_mass_frame,
    inertial_frame,
)
from .integrability import Curvature, aligned_orientation, curvature
from .transform import DecouplingTransform, TransformedDynamics, external_velocity, momentum_map
from .velocities import ExternalInternal, internal_jacobian, internal_jacobian_rate

__all__ = [
    "Alignment",
    "BodyCoriolis",
    "Conservation",
    "Curvature",
    "DecouplingTransform",
    "ExternalInternal",
    "Frame",
    "TransformedDynamics",
    "aligned_orientation",
    "base_pose",
    "centre_of_mass",
    "centre_of_mass_frame",
    "conservation",
    "curvature",
    "external_velocity",
    "hamel_coriolis",
    "inertial_frame",
    "internal_jacobian",
    "internal_jacobian_rate",
    "mass_rate",
    "momentum_map",
    "passive_coriolis",
]
