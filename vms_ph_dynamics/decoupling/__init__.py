# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Decoupling of base and joints: transforms, invariance, integrability [B, chapter 3]."""

from .frames import (
    Alignment,
    Conservation,
    Curvature,
    Frame,
    aligned_orientation,
    base_pose,
    centre_of_mass,
    centre_of_mass_frame,
    conservation,
    curvature,
    inertial_frame,
)
from .transform import (
    BodyCoriolis,
    DecouplingTransform,
    ExternalInternal,
    TransformedDynamics,
    external_velocity,
    internal_jacobian,
    internal_jacobian_rate,
    mass_rate,
    momentum_map,
)

__all__ = [
    "Alignment", "BodyCoriolis", "Conservation", "Curvature", "DecouplingTransform",
    "ExternalInternal", "Frame", "TransformedDynamics", "aligned_orientation", "base_pose",
    "centre_of_mass", "centre_of_mass_frame", "conservation", "curvature", "external_velocity",
    "inertial_frame", "internal_jacobian", "internal_jacobian_rate", "mass_rate", "momentum_map",
]  # fmt: skip
