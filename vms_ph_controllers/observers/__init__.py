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

"""Observers of external forces, contacts and payloads, from momentum and energy."""

from .contact_detector import ContactDetector, ContactReport
from .external_wrench import WrenchEstimate, WrenchMap
from .impulse_balance import ExternalImpulse, ImpulseBalance
from .momentum_observer import ExternalForce, MomentumObserver
from .noise import NoiseModel
from .payload_observer import Payload, PayloadObserver

__all__ = [
    "ContactDetector",
    "ContactReport",
    "ExternalForce",
    "ExternalImpulse",
    "ImpulseBalance",
    "MomentumObserver",
    "NoiseModel",
    "Payload",
    "PayloadObserver",
    "WrenchEstimate",
    "WrenchMap",
]
