# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Prints the description of a robot, for launch files: ``ros2 run vms_ph describe panda``.

It has the frame base_link of REP-105, and a root link without inertia.
"""

import argparse
import os
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.robot.mimic import read_mimics, resolve_mimics
from vms_ph_io import drivers, read_urdf, robots, share_directory
from vms_ph_io.descriptions.packages import with_file_addresses
from vms_ph_io.robots import make_fixed
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.settings.actuators_file import actuators_of_urdf
from vms_ph_io.settings.fluid_file import load_fluid
from vms_ph_io.settings.plugin_tags import allocation_tag, fluid_tag

from .messages.frames import BASE_LINK


def describe(
    robot: str,
    ros2_control: str = "",
    step: float = 0.001,
    arguments: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    actuators: str = "",
    fluid: str = "",
    locked_joints: Sequence[str] = (),
) -> str:
    """Return the URDF of a robot.

    With a ros2_control tag it has the actuators of the base and the fluid for the plugins, see
    :mod:`vms_ph_io.settings.plugin_tags`.

    Args:
        robot: name of a bundled robot, or the path of a URDF, xacro or MJCF file.
        ros2_control: ``simulated`` for the tag that comes with a robot of this name, or with a file
            of this name, and else for that of any arm on a fixed base; the name of a driver, for an
            arm whose weight is carried as by that driver; or the path of a xacro file whose tags
            are added; empty for none.
        step: integrator step of the simulated hardware, s.
        arguments: further xacro arguments of that file, by name; what is known of others that it
            declares is given: ``step``, ``joints`` (name=home) and ``gravity``.
        actuators: of the base for the plugins: ``own``, ``ideal`` or the path of a file; empty for
            those of the description, or those that a bundled robot has by default.
        fluid: path of a file like those in config/fluids, or ``none``; empty for that of a bundled
            robot.
        locked_joints: joints that become fixed, at zero, with those that mimic them.

    Raises:
        VmsPhError: no such robot, file or joint.
    """
    path = Path(robot)
    xml = with_file_addresses(read_urdf(robot)) if path.suffix else robots.get(robot).description()
    root = ET.fromstring(xml)
    _, positions = resolve_mimics(read_mimics(root), dict.fromkeys(locked_joints, 0.0))
    for name, position in positions.items():
        if (joint := root.find(f"joint[@name='{name}']")) is None:
            raise VmsPhError(f"the joint '{name}' to be locked is not in {path.name}")
        if position:
            raise VmsPhError(f"'{name}' cannot be locked at zero: it mimics with an offset")
        make_fixed(joint)
    _add_base_link(root)
    if not ros2_control:
        return ET.tostring(root, encoding="unicode")
    file, settings = Path(ros2_control), RobotSettings(robot=robot, actuators=actuators)
    driver = drivers.get(ros2_control) if ros2_control in drivers.names() else None
    if ros2_control == "simulated":
        file = share_directory() / f"urdf/{path.name.split('.')[0]}.ros2_control.xacro"
    if driver is not None or (ros2_control == "simulated" and not os.path.isfile(file)):
        file = share_directory() / "urdf/simulated_arm.xacro"
    tags = file.read_text(errors="replace") if os.path.isfile(file) else ""
    values = {"step": str(step)} if 'name="step"' in tags else {}  # not of drivers of real robots
    if 'name="joints"' in tags:
        model = settings.model(ET.tostring(root, encoding="unicode"))
        if model.b:
            raise VmsPhError(f"no ros2_control tag for a {model.base} base; give a xacro file")
        home_positions = zip(model.joint_names, model.joint_positions(model.home), strict=True)
        values["joints"] = " ".join(f"{name}={home:.6g}" for name, home in home_positions)
        values["gravity"] = "0 0 0" if driver and driver.compensates_weight else "0 0 -9.81"
    root.extend(ET.fromstring(read_urdf(file, values | dict(arguments))).findall("ros2_control"))
    _add_plugin_tags(root, xml, settings, fluid)
    return ET.tostring(root, encoding="unicode")


def _add_plugin_tags(root: ET.Element, xml: str, settings: RobotSettings, fluid: str) -> None:
    """Add what acts on the robot for the plugins."""
    robot = robots.get(settings.robot) if settings.is_bundled else None
    is_described = robot is None and not settings.actuators
    actuators = actuators_of_urdf(xml) if is_described else settings.known_actuators(xml)
    if actuators is not None:
        root.append(allocation_tag(actuators))
    if not fluid and robot is not None and robot.fluid:
        fluid = str(share_directory() / "config/fluids" / robot.fluid)
    if fluid not in ("", "none"):
        root.append(fluid_tag(load_fluid(fluid)))


def _add_base_link(robot: ET.Element) -> None:
    """Add what a ROS 2 expects of the root link; the dynamics of the robot stay as they are.

    The link base_link of REP-105 coincides with a root link of another name. The inertia of the
    root link is moved to a link of its own, because robot_state_publisher warns of it.
    """
    child_links = {child.get("link") for child in robot.iterfind("joint/child")}
    links = {link.get("name", ""): link for link in robot.findall("link")}
    root_link = next((name for name in links if name not in child_links), None)
    if root_link is None:
        return
    inertial = links[root_link].find("inertial")
    if inertial is not None and f"{root_link}_inertia" not in links:
        links[root_link].remove(inertial)
        _attach_link(robot, root_link, f"{root_link}_inertia").append(inertial)
    if BASE_LINK not in links:
        _attach_link(robot, root_link, BASE_LINK)


def _attach_link(robot: ET.Element, parent: str, name: str) -> ET.Element:
    """Add a link that coincides with another one, and return it."""
    joint = ET.SubElement(robot, "joint", name=f"{parent}_{name}", type="fixed")
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=name)
    return ET.SubElement(robot, "link", name=name)


def _argument(text: str) -> tuple[str, str]:
    name, separator, value = text.partition(":=")
    if not (name and separator):
        raise argparse.ArgumentTypeError(f"--argument must be name:=value; given: '{text}'")
    return name, value


def main() -> None:
    """Print the description to stdout."""
    parser = argparse.ArgumentParser(description="Print the URDF of a robot.")
    add = parser.add_argument
    add("robot", help="a bundled robot, or the path of a URDF, xacro or MJCF file")
    add("--ros2-control", default="", help="simulated, a driver, or a xacro file with the tag")
    add("--step", type=float, default=0.001, help="integrator step of the simulated hardware, s")
    usage = "an argument of that xacro file instead of step, NAME:=VALUE"
    add("--argument", dest="arguments", action="append", default=[], type=_argument, help=usage)
    add("--actuators", default="", help="of the base, for the plugins: own, ideal or a YAML file")
    add("--fluid", default="", help="around the robot, for the plugins: none or a YAML file")
    add("--locked-joints", default="", help="joints that become fixed, at zero")
    options = vars(parser.parse_args())
    options["locked_joints"] = options["locked_joints"].replace(",", " ").split()
    try:
        print(describe(**options))
    except VmsPhError as error:
        sys.exit(f"describe: {error}")
