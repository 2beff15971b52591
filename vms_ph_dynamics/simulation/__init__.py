# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulation of robots with a controller in the loop."""

from .actuated import ActuatedSimulation
from .efforts import Actuation, Control, External, ToolWrench
from .held_mechanism import HeldMechanism
from .mechanism import Mechanism
from .payload import Payload
from .sample import Sample
from .simulation import Simulation
from .water_current import WaterCurrent

__all__ = [
    "ActuatedSimulation",
    "Actuation",
    "Control",
    "External",
    "HeldMechanism",
    "Mechanism",
    "Payload",
    "Sample",
    "Simulation",
    "ToolWrench",
    "WaterCurrent",
]
