"""What every control law shares: its base class, its inputs and outputs, its gains."""

from .command import Command, ControlEnergy, Status
from .controller import Controller
from .gains import gain, switch
from .reference import Reference, usable
from .robot_state import RobotState

__all__ = [
    "Command",
    "ControlEnergy",
    "Controller",
    "Reference",
    "RobotState",
    "Status",
    "gain",
    "switch",
    "usable",
]
