# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators and fluids as the plugins of ros2_control read them."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from vms_ph_io.settings.plugin_tags import ALLOCATION_TAG, FLUID_TAG
from vms_ph_nodes.describe import describe


@pytest.mark.parametrize(
    ("robot", "actuators", "tags"),
    [
        ("hextilt", "", [ALLOCATION_TAG]),
        ("hextilt", "ideal", []),
        ("borinot", "", []),
        ("borinot", "own", [ALLOCATION_TAG]),
        ("bluerov2_alpha5", "", [FLUID_TAG]),
        ("bluerov2_alpha5", "own", [ALLOCATION_TAG, FLUID_TAG]),
    ],
)
def test_a_description_has_what_acts_on_the_robot(
    robot: str, actuators: str, tags: list[str]
) -> None:
    root = ET.fromstring(describe(robot, "simulated", actuators=actuators))
    assert [child.tag for child in root if child.tag in (ALLOCATION_TAG, FLUID_TAG)] == tags


def test_a_description_takes_casters_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "casters.yaml"
    places = "[[0.3, 0.2], [-0.3, 0.2], [0.0, -0.3]]"
    items = [f"  - {{position: {p}, radius: 0.05, trail: 0.03}}" for p in yaml.safe_load(places)]
    file.write_text("\n".join(["base: planar", "casters:", *items]))
    root = ET.fromstring(describe("omnidirectional_panda", "simulated", actuators=str(file)))
    inputs = root.findall(f"{ALLOCATION_TAG}/input")
    steering = [item.get("steering") for item in inputs]
    assert steering == [f"caster_{k // 2}/steering" for k in range(6)]


@pytest.mark.parametrize("step", ["", '<xacro:arg name="step" default="0.001"/>'])
def test_the_step_goes_to_hardware_that_has_one(step: str, tmp_path: Path) -> None:
    file = tmp_path / "driver.xacro"
    period = "$(arg step)" if step else "of the driver"
    file.write_text(
        f'<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="panda">{step}'
        f'<ros2_control name="arm" type="system"><param name="period">{period}</param>'
        "</ros2_control></robot>"
    )
    root = ET.fromstring(describe("panda", str(file), step=0.004))
    assert root.findtext("ros2_control/param") == ("0.004" if step else period)
