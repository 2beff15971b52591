"""Prints the description of a robot, for launch files: ``ros2 run vms_ph describe panda``."""

import argparse
import os
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io import read_urdf, robots, share_directory


def describe(robot: str, ros2_control: str = "", step: float = 0.001) -> str:
    """Return the URDF of a robot.

    Args:
        robot: name of a bundled robot, or the path of a URDF, xacro or MJCF file.
        ros2_control: ``simulated`` for the tag that comes with a bundled robot, or the path of a
            xacro file whose tags are added; empty for none.
        step: integrator step of the simulated hardware, s.

    Raises:
        VmsPhError: no such robot or file.
    """
    path = Path(robot)
    xml = read_urdf(path) if path.suffix else robots.get(robot).description()
    if not ros2_control:
        return xml
    if ros2_control == "simulated":
        file = share_directory() / f"urdf/{robot}.ros2_control.xacro"
        if not os.path.isfile(file):
            ours = sorted(p.name.split(".")[0] for p in file.parent.glob("*.ros2_control.xacro"))
            raise VmsPhError(
                f"there is no ros2_control tag for {robot}; there is one for {', '.join(ours)}; "
                "for any other robot give the path of a xacro file with the tag"
            )
    else:
        file = Path(ros2_control)
    root = ET.fromstring(xml)
    for tag in ET.fromstring(read_urdf(file, {"step": str(step)})).findall("ros2_control"):
        root.append(tag)
    return ET.tostring(root, encoding="unicode")


def main() -> None:
    """Print the description to stdout."""
    parser = argparse.ArgumentParser(description="Print the URDF of a robot.")
    parser.add_argument("robot", help="a bundled robot, or the path of a URDF, xacro or MJCF file")
    parser.add_argument(
        "--ros2-control",
        default="",
        metavar="TAG",
        help="'simulated', or a xacro file with the tag",
    )
    parser.add_argument(
        "--step", type=float, default=0.001, help="integrator step of the simulated hardware, s"
    )
    given = parser.parse_args()
    try:
        print(describe(given.robot, given.ros2_control, given.step))
    except VmsPhError as error:
        sys.exit(f"describe: {error}")


if __name__ == "__main__":
    main()
