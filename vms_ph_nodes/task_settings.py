# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Makes the settings of a task for a launch file, after it has checked them.

``task_settings underwater_station`` writes a parameter file for the nodes and prints, with ``;``
between, the values of the launch arguments in :data:`ARGUMENTS`.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from vms_ph_controllers import Controller
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_dynamics import OptionError, VMSModel, VmsPhError
from vms_ph_dynamics.simulation.robot_task import RobotTask
from vms_ph_io import share_directory
from vms_ph_io.installation import write_user_file
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.tasks import robot_tasks
from vms_ph_io.tasks.payload_use import PayloadUse
from vms_ph_io.tasks.task_reference import TaskReference
from vms_ph_io.wings import hook

from .node.parameters import gain_parameter, parameters_of, record_parameters
from .simulation.engine import payload_parameters

ARGUMENTS = (
    *("robot", "base", "end_effector", "tools", "locked_joints", "inertia", "gravity"),
    *("actuators", "current", "wheels", "controller", "initial_positions"),
    *("config", "fixed_frame", "rviz_config", "scene"),
)
"""Launch arguments that a task determines, in the order in which they are printed."""


def load_for_nodes(name: str) -> RobotTask:
    """Return a task; one of a leg without its goals, see :func:`leg_tasks`.

    Raises:
        OptionError: there is no such task.
        ModelError: its file is not valid.
    """
    if robot_tasks.is_of_leg(name):
        return leg_tasks(name).robot_task(name)
    return robot_tasks.load(name)


def leg_tasks(name: str) -> ModuleType:
    """Return the module of the wing ``hopping`` with what nodes need of a task of a leg.

    Raises:
        WingError: the wing is not installed or broken.
    """
    return hook("hopping", "nodes.leg_tasks", user=f"the task '{name}'")


def node_settings(task: RobotTask) -> tuple[RobotSettings, VMSModel]:
    """Return the settings of the robot for all nodes, and its model.

    A wind pushes the root link, which is then a tool.

    Raises:
        VmsPhError: a setting is not valid, or does not fit the robot.
    """
    settings = robot_tasks.settings_of(task)
    model = robot_tasks.model_of(settings, settings.description())
    if task.wind is None:
        return settings, model
    task.wind.check(model)
    root = model.link_names[0]
    return settings.with_changes({"tools": root}), model.with_tools([root])


def parameters(
    task: RobotTask, law: Controller, leg_parameters: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the content of a parameter file for the nodes of a task.

    Args:
        task: the task.
        law: that controls its robot.
        leg_parameters: parameters of the simulator for the task of a leg.

    Raises:
        OptionError: the law has not all gains of the task.
    """
    if missing_gains := [name for name in task.gains if not hasattr(law.gains, name)]:
        raise OptionError(f"{task.controller} has no gains {', '.join(sorted(missing_gains))}")
    friction = {"joint_friction": task.joint_friction}
    # No stops, as in the task alone, whose references stay within the limits.
    simulator: dict[str, Any] = {"step": float(task.step), **friction, "joint_stops": False}
    effects = {"wind": task.wind, "push": task.push, "mechanism": task.mechanism}
    for prefix, effect in effects.items():
        if effect is not None:
            simulator |= record_parameters(prefix, effect)
    if task.payload is not None:
        simulator |= payload_parameters(task.payload)
    simulator |= leg_parameters or {}
    taken_names = {*parameters_of("robot"), *parameters_of("controller")}
    gains: dict[str, float] = {}
    for name, value in task.gains.items():
        is_switch = isinstance(getattr(law.gains, name), bool)  # which is a number in a task
        gains[gain_parameter(name, taken_names)] = bool(value) if is_switch else float(value)
    nodes = {
        "simulator": simulator,
        "controller": {"controller": task.controller, "base_actuated": task.base_actuated, **gains},
        "energy_monitor": {**friction, "unaccounted_tolerance": float(task.max_residual)},
    }
    return {f"/**/{name}": {"ros__parameters": values} for name, values in nodes.items()}


def arguments(name: str) -> dict[str, str]:
    """Return the launch arguments of a task, and write its parameter file.

    Raises:
        VmsPhError: nodes cannot run the task.
    """
    task = load_for_nodes(name)
    settings, model = node_settings(task)
    settings.water_current(model)
    form = settings.wheel_form(model)
    law = make_controller(task.controller, model, settings.allocation(), task.base_actuated, form)
    home = settings.initial_configuration(model)
    # These say what is wrong with a target, and with what the end effector takes.
    TaskReference(task, model, home, law.LEADS_BASE_AND_TOOL)
    if task.payload is not None:
        PayloadUse(task.payload, model, home)
        if task.mechanism is not None or form is not None:
            raise OptionError(
                "with nodes a payload is for robots without 'mechanism' and without 'wheels'"
            )
    is_of_leg = robot_tasks.is_of_leg(name)
    leg_parameters = leg_tasks(name).simulator_parameters(name) if is_of_leg else None
    content = parameters(task, law, leg_parameters)
    label = Path(task.name).stem
    heading = f"# Parameters of the nodes of the task {label}, made by 'vms-ph launch task'.\n"
    file = write_user_file(f"task_{label}.yaml", heading + yaml.safe_dump(content))
    view_name = "hopper" if is_of_leg else "moving" if model.b else "fixed"
    return {argument: getattr(settings, argument, "") for argument in ARGUMENTS} | {
        "config": str(file),
        "scene": task.scene,
        "fixed_frame": "odom" if model.b else model.link_names[0],
        "rviz_config": str(share_directory() / f"rviz/{view_name}.rviz"),
    }


def main() -> None:
    """Print the launch arguments of the task in the arguments, or in VMS_PH_TASK."""
    try:
        launch_arguments = arguments(" ".join(sys.argv[1:]) or os.environ.get("VMS_PH_TASK", ""))
    except VmsPhError as error:
        print(error, file=sys.stderr)
        sys.exit(os.EX_CONFIG)  # the embedded launcher then prints nothing but the sentence
    print(tuple(launch_arguments[name] for name in ARGUMENTS), end="")  # for $(eval ...)
