# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Writes the MJCF of a robot in a scene and prints its path, for launch files.

The file has a motor at every joint, as the MuJoCo hardware of ros2_control expects:
``ros2 run vms_ph scene_model panda --scene wall``.
"""

import argparse
import sys
from pathlib import Path
from tempfile import mkdtemp

from vms_ph_dynamics import VmsPhError
from vms_ph_io import drivers
from vms_ph_io.descriptions.robot_shapes import robot_shapes
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.settings import scenes


def scene_model(robot: str, scene: str = "", step: float = 0.001, driver: str = "") -> str:
    """Return the MJCF of a robot, at the start of the task of its scene.

    Args:
        robot: name of a bundled robot, or the path of a description.
        scene: name of a scene, or the path of its file; empty for none.
        step: of MuJoCo, s.
        driver: name of one; where it carries the weight, nothing has weight.

    Raises:
        VmsPhError: no such robot or scene, or MuJoCo is missing or cannot represent it.
    """
    from vms_ph_dynamics.simulation.contact import Scene
    from vms_ph_dynamics.simulation.contact.mujoco_engine import mjcf_text

    scene_file = scenes.load(scene) if scene else None
    gravity = "0 0 0" if driver and drivers.get(driver).compensates_weight else ""
    settings = RobotSettings(robot, gravity=gravity).for_task(scene_file and scene_file.task)
    description = settings.description()
    model = settings.model(description)
    home = settings.initial_configuration(model)
    surroundings = Scene() if scene_file is None else scene_file.scene
    shapes = robot_shapes(model, description) if scene_file is not None else []
    return mjcf_text(model, home, step, surroundings, shapes=shapes)


def main() -> None:
    """Write the file into a new folder for temporary files, and print its path."""
    parser = argparse.ArgumentParser(description="Write the MJCF of a robot in a scene.")
    parser.add_argument("robot", help="a bundled robot, or the path of a URDF, xacro or MJCF file")
    parser.add_argument("--scene", default="", help="a scene of vms-ph demo --list, or its file")
    parser.add_argument("--step", type=float, default=0.001, help="step of MuJoCo, s")
    parser.add_argument("--driver", default="", help="one of config/drivers, for its gravity")
    try:
        text = scene_model(**vars(parser.parse_args()))
    except VmsPhError as error:
        sys.exit(f"scene_model: {error}")
    path = Path(mkdtemp(prefix="vms_ph_")) / "scene.xml"
    path.write_text(text)
    print(path)
