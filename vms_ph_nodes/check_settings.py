# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Checks the settings of a robot before a launch file starts its nodes.

``check_settings "robot=arm.urdf; base=floating"``: a setting that is wrong is one sentence on
stderr, instead of one from each node. Launch files have the settings in VMS_PH_LAUNCH_ARGUMENTS.
"""

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

from vms_ph_dynamics import VmsPhError
from vms_ph_io import robots
from vms_ph_io.robots.robot_settings import RobotSettings, from_arguments
from vms_ph_io.settings import scenes
from vms_ph_io.settings.bounded_text import read_yaml
from vms_ph_io.tasks import robot_tasks
from vms_ph_io.wings import hook


def choices(arguments: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the demos, robots, laws and scenes among which the page chooses, and nothing else.

    Args:
        arguments: of a launch. Besides what is bundled, these are its ``robot``, ``controller`` and
            ``scene``, and its lists ``robots``, ``laws`` and ``scenes``: files and classes are
            named by whoever starts a process, not by a message or a page.
    """
    from vms_ph_controllers.hosting.loading import bundled_controllers

    def with_arguments(bundled_names: Iterable[str], *keys: str) -> tuple[str, ...]:
        return (*dict.fromkeys((*names_in(arguments, *keys), *bundled_names)),)

    return {
        "demo": robot_tasks.demos(),
        "robot": with_arguments(robots.names(), "robot", "robots"),
        "law": with_arguments(bundled_controllers(), "controller", "laws"),
        "scene": with_arguments(scenes.names(), "scene", "scenes"),
    }


def names_in(arguments: Mapping[str, str], *keys: str) -> list[str]:
    """Return the names in some launch arguments, which have commas between them."""
    names = ",".join(arguments.get(key, "") for key in keys).split(",")
    return [name.strip() for name in names if name.strip()]


def check(arguments: Mapping[str, str]) -> list[str]:
    """Build the model and the controller of launch arguments, and return the warnings.

    Raises:
        VmsPhError: one of them is not accepted, or does not fit the robot.
    """
    if scene := arguments.get("scene", ""):
        scenes.load(scene)
    if arguments.get("engine") == "ephs":
        hook("ephs", "robot", user="engine:=ephs")
    settings = RobotSettings().with_changes(arguments)
    law, config = arguments.get("controller", ""), arguments.get("config", "")
    if settings.is_bundled and settings.are_defaults and not law:
        robots.get(settings.robot).path()
        return []
    warning_texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        model = settings.model(settings.description(warning_texts.append))
    warning_texts += [str(warning.message) for warning in caught_warnings]
    settings.initial_configuration(model)
    settings.water_current(model)
    if config and not law:
        law = _law_name_in(Path(config))
    if law:
        from vms_ph_controllers.hosting.loading import make_controller

        make_controller(law, model, settings.allocation(), form=settings.wheel_form(model))
    return warning_texts


def _law_name_in(file: Path) -> str:
    """Return the controller in a parameter file, or an empty string."""
    content = read_yaml(file)
    for node_name, node in content.items() if isinstance(content, dict) else ():
        parameters = node.get("ros__parameters") if isinstance(node, dict) else None
        if str(node_name).rpartition("/")[2] == "controller" and isinstance(parameters, dict):
            return str(parameters.get("controller", ""))
    return ""


def main() -> None:
    """Check the settings in the arguments, or in VMS_PH_LAUNCH_ARGUMENTS."""
    try:
        warning_texts = check(
            from_arguments(" ".join(sys.argv[1:]) or os.environ.get("VMS_PH_LAUNCH_ARGUMENTS", ""))
        )
    except VmsPhError as error:
        print(error, file=sys.stderr)
        sys.exit(os.EX_CONFIG)  # the embedded launcher then prints nothing but the sentence
    for warning in warning_texts:
        print(warning, file=sys.stderr)
