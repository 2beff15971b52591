"""Pure control laws: (state, reference, dt) -> (command, energy bookkeeping)."""

from .decoupled_vms import DecoupledVMSController
from .interface import Command, ControlEnergy, Controller, Reference, RobotState, Status
from .task_space_ida_pbc import TaskSpaceIDAPBC

__all__ = [
    "Command",
    "ControlEnergy",
    "Controller",
    "DecoupledVMSController",
    "Reference",
    "RobotState",
    "Status",
    "TaskSpaceIDAPBC",
]
