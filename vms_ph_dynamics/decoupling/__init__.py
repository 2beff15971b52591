# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Decoupling of base and joints: transforms, invariance, integrability [B, chapter 3]."""

from .frames import (
    Alignment,
    Conservation,
    Frame,
    base_pose,
    centre_of_mass,
    centre_of_mass_frame,
    conservation,
    inertial_frame,
)
from .integrability import Curvature, aligned_orientation, curvature
from .transform import (
    BodyCoriolis,
    DecouplingTransform,
    TransformedDynamics,
    external_velocity,
    hamel_coriolis,
    mass_rate,
    momentum_map,
    passive_coriolis,
)
from .velocities import ExternalInternal, internal_jacobian, internal_jacobian_rate

__all__ = [
    "Alignment", "BodyCoriolis", "Conservation", "Curvature", "DecouplingTransform",
    "ExternalInternal", "Frame", "TransformedDynamics", "aligned_orientation", "base_pose",
    "centre_of_mass", "centre_of_mass_frame", "conservation", "curvature", "external_velocity",
    "hamel_coriolis", "inertial_frame", "internal_jacobian", "internal_jacobian_rate",
    "mass_rate", "momentum_map", "passive_coriolis",
]  # fmt: skip
