"""Pure control laws: (state, reference, dt) -> (command, energy bookkeeping)."""

from .interface import Command, ControlEnergy, Controller, Reference, RobotState, Status
from .laws.decoupled_vms import DecoupledVMSController
from .laws.end_effector_impedance import EndEffectorImpedance
from .laws.hopping import HoppingController
from .laws.task_space_ida_pbc import TaskSpaceIDAPBC
from .safety.energy_tank import EnergyTank

__all__ = [
    "Command",
    "ControlEnergy",
    "Controller",
    "DecoupledVMSController",
    "EndEffectorImpedance",
    "EnergyTank",
    "HoppingController",
    "Reference",
    "RobotState",
    "Status",
    "TaskSpaceIDAPBC",
]
