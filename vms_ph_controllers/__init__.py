# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws as plain objects: from state, reference and time step to a command with its energy.

To write a law, derive from :class:`Controller` and implement ``reset(state)`` and
``update(state, reference, dt) -> Command``. Declare what users may set as fields of a frozen
dataclass ``Gains`` by :func:`gain`, :func:`limit` and :func:`switch`, and keep the values in
``self.gains``.
"""

from vms_ph_dynamics.errors import missing_name

from .controller import (
    Command,
    ControlEnergy,
    Controller,
    Reference,
    RobotState,
    Status,
    gain,
    limit,
    switch,
)
from .guard import EnergyGuard
from .laws.attitude_and_shape import AttitudeControl
from .laws.cartesian_impedance import CartesianImpedance
from .laws.decoupled_vms import DecoupledVMSController
from .laws.differential_drive import DifferentialDrive
from .laws.mobile_manipulation import MobileManipulation
from .laws.pose_ida_pbc import PoseIDAPBC
from .laws.pushing_impedance import PushingImpedance
from .laws.resolved_motion import ResolvedMotion
from .laws.task_space_ida_pbc import TaskSpaceIDAPBC
from .laws.teleoperation import Teleoperation
from .laws.underactuated_flight import UnderactuatedFlight
from .laws.wheeled_impedance import WheeledImpedance
from .safety.energy_tank import EnergyTank

__all__ = [
    "AttitudeControl", "CartesianImpedance", "Command", "ControlEnergy", "Controller",
    "DecoupledVMSController", "DifferentialDrive", "EnergyGuard", "EnergyTank",
    "MobileManipulation", "PoseIDAPBC", "PushingImpedance", "Reference", "ResolvedMotion",
    "RobotState", "Status", "TaskSpaceIDAPBC", "Teleoperation", "UnderactuatedFlight",
    "WheeledImpedance", "gain", "limit", "switch",
]  # fmt: skip


_HINTS = {
    "CartesianImpedance": "EndEffectorImpedance Impedance ImpedanceController OperationalSpace",
    "PoseIDAPBC or TaskSpaceIDAPBC": "IDAPBC",
    "EnergyGuard": "Guard PassivityFilter SafetyFilter",
    "a function (q, v, dt) that returns torques, such as model.evaluate(q, v).g": (
        "GravityCompensation PD PID PDController PIDController JointPD JointImpedance "
        "ComputedTorque InverseDynamics"
    ),
    "that of vms_ph_controllers.guard": "PortGuard PositionGuard VelocityGuard Certificate",
    "that of vms_ph_controllers.observers": (
        "MomentumObserver PayloadObserver ContactDetector ImpulseBalance NoiseModel WrenchMap"
    ),
    "that of vms_ph_io": "simulate",
}


def __getattr__(name: str) -> object:
    """Say what is used in place of a name."""
    raise missing_name(__name__, name, __all__, _HINTS)
