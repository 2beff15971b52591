"""The interface of control laws: base class, inputs, outputs and gains."""

from .command import Command, ControlEnergy, Status
from .controller import Controller
from .gains import gain, switch
from .reference import Reference, usable
from .robot_state import LONGEST_SAMPLE, RobotState, is_usable_step

__all__ = [
    "LONGEST_SAMPLE",
    "Command",
    "ControlEnergy",
    "Controller",
    "Reference",
    "RobotState",
    "Status",
    "gain",
    "is_usable_step",
    "switch",
    "usable",
]
