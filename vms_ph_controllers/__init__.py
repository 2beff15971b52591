"""Pure control laws: (state, reference, dt) -> (command, energy bookkeeping)."""

from .decoupled_vms import DecoupledVMSController
from .end_effector_impedance import EndEffectorImpedance
from .energy_tank import EnergyTank
from .hopping import HoppingController
from .interface import Command, ControlEnergy, Controller, Reference, RobotState, Status
from .task_space_ida_pbc import TaskSpaceIDAPBC

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
