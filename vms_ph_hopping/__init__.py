# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Hopping legs: contact as a power port, runs with events located in time, and their law."""

from .hopper import ContactEvent, EventKind, Hopper
from .laws.hopping import HoppingController
from .leg import Floor, FloorForce, Leg, LegState, Phase
from .leg_on_floor import CHANNELS, LegEfforts, LegLaw, LegOnFloor, Push
from .runs import HoppingRun, hop

__all__ = [
    "CHANNELS", "ContactEvent", "EventKind", "Floor", "FloorForce", "Hopper", "HoppingController",
    "HoppingRun", "Leg", "LegEfforts", "LegLaw", "LegOnFloor", "LegState", "Phase", "Push", "hop",
]  # fmt: skip
