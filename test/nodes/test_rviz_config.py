# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Configurations of RViz that are fitted to a robot."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from vms_ph_dynamics import Array, VMSModel
from vms_ph_io import robots, share_directory
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_nodes.rviz_config import bounding_box, fit, set_names

RVIZ = share_directory() / "rviz"


def configuration(name: str) -> dict[str, Any]:
    content = yaml.safe_load((RVIZ / f"{name}.rviz").read_text())
    assert isinstance(content, dict)
    return content


def home(name: str, model: VMSModel) -> Array:
    return RobotSettings(robot=name).initial_configuration(model)


@pytest.mark.parametrize("name", ["panda", "hextilt", "satellite_panda", "baxter"])
def test_the_whole_robot_and_its_bars_are_in_the_view(name: str) -> None:
    model = robots.load(name)
    q = home(name, model)
    shown = np.array(list(product(*bounding_box(model, q).T)))
    view = fit(configuration("moving"), model, q)["Visualization Manager"]["Views"]["Current"]
    # The camera of RViz: around its focal point, with a vertical angle of 45 degrees.
    yaw, pitch = view["Yaw"], view["Pitch"]
    back = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)])
    right = np.cross([0.0, 0.0, 1.0], back) / np.cos(pitch)
    focus = np.array([view["Focal Point"][axis] for axis in "XYZ"])
    away = shown - (focus + view["Distance"] * back)
    seen = away @ np.stack([right / 1.25, np.cross(back, right)], axis=1) / (-away @ back)[:, None]
    low, high = np.min(seen, axis=0), np.max(seen, axis=0)
    half = np.tan(np.radians(22.5))
    assert np.all(high < half)
    assert np.all(low > -half)
    assert np.max(high - low) > 0.9 * half  # a ball around a slender box leaves room
    assert view["Near Clip Distance"] < 0.1 * view["Distance"]
    links = [model.evaluate(q, np.zeros(model.nv)).placement(k)[:3, 3] for k in model.link_names]
    assert np.all(np.min(shown, axis=0) <= np.min(links, axis=0))
    assert np.all(np.max(links, axis=0) <= np.max(shown, axis=0))


def test_a_hopper_fills_its_orthographic_view() -> None:
    model = robots.load("revolute_hopper")
    q = home("revolute_hopper", model)
    view = fit(configuration("hopper"), model, q)["Visualization Manager"]["Views"]["Current"]
    extent = np.ptp(bounding_box(model, q), axis=0)
    assert 300.0 < view["Scale"] * np.linalg.norm(extent) < 700.0


def test_frames_topics_and_markers_are_those_of_the_namespace() -> None:
    displays = set_names(configuration("moving"), "left/", "/left")["Visualization Manager"][
        "Displays"
    ]
    by_class = {display["Class"].rpartition("/")[2]: display for display in displays}
    assert by_class["RobotModel"]["TF Prefix"] == "left"
    assert by_class["RobotModel"]["Description Topic"]["Value"] == "/left/robot_description"
    markers = [d["Topic"]["Value"] for d in displays if d["Class"].endswith("MarkerArray")]
    assert markers == ["/left/vms_ph/markers", "/left/vms_ph/scene"]
    markers = by_class["InteractiveMarkers"]["Interactive Markers Namespace"]
    assert markers == "/left/vms_ph/reference"
    plain = set_names(configuration("moving"), "", "")
    assert plain == configuration("moving")


@pytest.mark.parametrize("robot", ["hextilt", "no_such_robot"])
def test_the_command_prints_a_file_that_rviz_can_open(robot: str, tmp_path: Path) -> None:
    template = RVIZ / "moving.rviz"
    command = [sys.executable, "-m", "vms_ph_nodes", "rviz_config", str(template)]
    done = subprocess.run(
        [*command, f"robot={robot}", "--prefix=", "--namespace="],
        env={**os.environ, "ROS_HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    file = Path(done.stdout.strip())
    if robot == "hextilt":
        assert file.parent == tmp_path / "vms_ph"
        assert not done.stderr
        assert configuration("moving").keys() == yaml.safe_load(file.read_text()).keys()
    else:
        assert file == template
        assert "as it is: " in done.stderr
        assert "Traceback" not in done.stderr
