# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulation of robots with a controller in the loop."""

from .efforts import Actuation, Control, WorldFramePorts, in_world_axes
from .engine import Engine, FormEngine
from .held_mechanism import HeldMechanism
from .mechanism import Mechanism
from .payload import Payload
from .simulation import Sample, Simulation
from .surroundings import Pushes, WaterCurrent, Wind

__all__ = [
    "Actuation", "Control", "Engine", "FormEngine", "HeldMechanism", "Mechanism", "Payload",
    "Pushes", "Sample", "Simulation", "WaterCurrent", "Wind", "WorldFramePorts", "in_world_axes",
]  # fmt: skip
