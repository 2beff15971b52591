"""Pure control laws: (state, reference, dt) -> (command, energy bookkeeping)."""

from .decoupled_vms import DecoupledVMSController
from .energy_tank import EnergyTank
from .interface import Command, ControlEnergy, Controller, Reference, RobotState, Status
from .task_space_ida_pbc import TaskSpaceIDAPBC

__all__ = [
    "Command",
    "ControlEnergy",
    "Controller",
    "DecoupledVMSController",
    "EnergyTank",
    "Reference",
    "RobotState",
    "Status",
    "TaskSpaceIDAPBC",
]
