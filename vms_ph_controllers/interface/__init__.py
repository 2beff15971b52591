"""The interface of control laws: base class, inputs, outputs and gains."""

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
