"""Legs on floors: contact as a port, and runs whose events are located in time."""

from .floor import Floor, FloorForce, Phase
from .hopper import ContactEvent, EventKind, Hopper
from .leg import Leg, LegState
from .leg_on_floor import PORTS, LegEfforts, LegLaw, LegOnFloor, Push
from .runs import HoppingRun, hop

__all__ = [
    "PORTS",
    "ContactEvent",
    "EventKind",
    "Floor",
    "FloorForce",
    "Hopper",
    "HoppingRun",
    "Leg",
    "LegEfforts",
    "LegLaw",
    "LegOnFloor",
    "LegState",
    "Phase",
    "Push",
    "hop",
]
