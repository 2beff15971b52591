# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Observers of external forces, contacts and payloads, from momentum and energy."""

from .contact_detector import ContactDetector, ContactReport
from .external_wrench import ExternalForce, MomentumObserver, WrenchEstimate, WrenchMap
from .impulse_balance import ExternalImpulse, ImpulseBalance
from .noise import NoiseModel
from .payload_observer import Payload, PayloadObserver

__all__ = [
    "ContactDetector", "ContactReport", "ExternalForce", "ExternalImpulse", "ImpulseBalance",
    "MomentumObserver", "NoiseModel", "Payload", "PayloadObserver", "WrenchEstimate", "WrenchMap",
]  # fmt: skip
