# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What laws and guards in C++ take from, and give back to, their counterparts in Python."""

from dataclasses import fields
from typing import Any

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.actuation.allocation import Allocation
from vms_ph_dynamics.nonholonomic import WheelConstraint
from vms_ph_dynamics.robot.algorithms import native_robot

from ..controller import Command, ControlEnergy, Controller, Status
from ..laws.attitude_control import AttitudeControl
from ..laws.decoupled_vms import DecoupledVMSController
from ..laws.differential_drive import DifferentialDrive
from ..laws.end_effector_impedance import EndEffectorImpedance
from ..laws.mobile_manipulation import MobileManipulation
from ..laws.payload_compensation import PayloadCompensation
from ..laws.pose_ida_pbc import PoseIDAPBC
from ..laws.pushing_impedance import PushingImpedance
from ..laws.resolved_motion import ResolvedMotion
from ..laws.task_space_ida_pbc import TaskSpaceIDAPBC
from ..laws.underactuated_flight import UnderactuatedFlight
from ..laws.wheeled_impedance import WheeledImpedance

# The laws that C++ has, on fixed and on moving bases.
_LAWS_FIXED = (TaskSpaceIDAPBC, PoseIDAPBC, EndEffectorImpedance, PushingImpedance)
_LAWS_MOVING = (
    DecoupledVMSController,
    PoseIDAPBC,
    UnderactuatedFlight,
    AttitudeControl,
    EndEffectorImpedance,
    PushingImpedance,
    MobileManipulation,
    DifferentialDrive,
    ResolvedMotion,
    WheeledImpedance,
)

OTHER_SOURCES = "it was built from other sources, ./vms native builds it anew"

_ENERGIES = tuple(item.name for item in fields(ControlEnergy))


def obstacle_of(law: Controller) -> str | None:
    """Return why C++ does not cover a law, or None."""
    kinds = _LAWS_MOVING if law.model.b else _LAWS_FIXED
    if type(law) not in kinds:
        names = ", ".join(kind.__name__ for kind in kinds)
        return f"there is no {type(law).__name__} in C++ for this base, only {names}"
    if law.options:
        return (
            f"this {type(law).__name__} was made with {' and '.join(law.options)}, which C++ does "
            "not take"
        )
    if wheels_of(law) is None:
        return f"this {type(law).__name__} is on wheels or axles of a kind that C++ does not cover"
    return None


def itself(law: Controller) -> Controller:
    """Return the law within one that compensates a payload."""
    return law.law if type(law) is PayloadCompensation else law


def wheels_of(law: Controller) -> dict[str, float] | None:
    """Return the radii of the wheels of a law by their joints; None for constraints of others."""
    form = getattr(law, "form", None)
    wheels = {}
    for each in () if form is None else form.constraints:
        if not isinstance(each, WheelConstraint) or each.has_rollers:
            return None
        wheels[each.wheel] = each.radius
    return wheels


def core_model(module: Any, model: VMSModel) -> Any:
    """Return the robot, with mimic joints and fluid, as a ``vms_ph_native.Model``.

    Raises:
        ValueError: the core does not cover the robot; the message says why.
    """
    robot = native_robot(module, model.tree, model.end_effector)
    fluid = model.fluid
    if fluid is None:
        return robot
    bodies = [
        (
            body.link,
            body.added_mass.ravel(),
            body.volume,
            body.centre_of_buoyancy,
            body.linear_drag,
            body.quadratic_drag,
        )
        for body in fluid.bodies
    ]
    return robot.in_fluid(bodies, fluid.density)


def core_rotors(module: Any, allocation: Allocation | None) -> Any:
    """Return the actuators of a base as a ``vms_ph_native.Allocation``, or None."""
    if allocation is None:
        return None
    return module.Allocation.of_matrix(allocation.matrix, allocation.lower, allocation.upper)


def gains_refused(core: Any, gains: Any) -> list[str]:
    """Set gains of a law or guard in C++ and return the names of those that it refuses."""
    return [
        item.name
        for item in fields(gains)
        if not core.set_gain(item.name, float(getattr(gains, item.name)))
    ]


def recorded(command: Any) -> Command:
    """Return a command of C++ as a record in Python."""
    energy = command.energy
    return Command(
        np.array(command.wrench_base),
        np.array(command.torque),
        ControlEnergy(**{name: getattr(energy, name) for name in _ENERGIES}),
        Status(command.status),
        command.reason,
        command.task_error,
        command.smallest_singular_value,
        command.authority,
    )
