# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
