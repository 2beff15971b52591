"""Legs on floors: contact as a port, and runs whose events are located in time."""

from .floor import Floor, FloorForce, Phase
from .hopping import ContactEvent, EventKind, HoppingRun, hop
from .leg import Leg, LegState
from .system import PORTS, LegEfforts, LegLaw, LegOnFloor

__all__ = [
    "PORTS",
    "ContactEvent",
    "EventKind",
    "Floor",
    "FloorForce",
    "HoppingRun",
    "Leg",
    "LegEfforts",
    "LegLaw",
    "LegOnFloor",
    "LegState",
    "Phase",
    "hop",
]
