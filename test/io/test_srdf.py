# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""End effectors that an SRDF names become the ports of the robot."""

from pathlib import Path

import pytest

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_io import load_urdf, robots
from vms_ph_io.robots.robot_settings import RobotSettings

_SRDF = """<?xml version="1.0"?>
<robot name="baxter">
  <group name="left_hand"><link name="left_gripper"/></group>
  <end_effector name="left" parent_link="left_gripper" group="left_hand"/>
  <end_effector name="right" parent_link="right_gripper" group="right_hand"/>
</robot>
"""


@pytest.fixture
def srdf(tmp_path: Path) -> Path:
    file = tmp_path / "baxter.srdf"
    file.write_text(_SRDF)
    return file


def _loaded(srdf: Path, end_effector: str | None = None) -> VMSModel:
    path = robots.get("baxter").path()
    return load_urdf(path, end_effector=end_effector, inertia="repair", srdf=srdf)


@pytest.mark.filterwarnings("ignore::vms_ph_io.descriptions.urdf.UrdfWarning")
@pytest.mark.filterwarnings("ignore::vms_ph_dynamics.errors.InertiaWarning")
def test_the_first_end_effector_is_the_default_and_the_others_are_tools(srdf: Path) -> None:
    model = _loaded(srdf)
    assert (model.end_effector, model.tools) == ("left_gripper", ("right_gripper",))
    model = _loaded(srdf, "right_gripper")
    assert (model.end_effector, model.tools) == ("right_gripper", ("left_gripper",))


def test_settings_of_a_bundled_robot_take_an_srdf(srdf: Path) -> None:
    settings = RobotSettings(robot="baxter", end_effector="right_gripper", srdf=str(srdf))
    model = settings.model(settings.description())
    assert (model.end_effector, model.tools) == ("right_gripper", ("left_gripper",))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<robot name='x'/>", "names no end effectors"),
        ("<robot name='x'><end_effector name='a'/></robot>", "names no end effectors"),
        ("<robot", "is no SRDF"),
        ("<launch><end_effector parent_link='a'/></launch>", "names no end effectors"),
    ],
)
def test_what_is_no_srdf_is_refused_in_a_sentence(text: str, why: str, srdf: Path) -> None:
    srdf.write_text(text)
    with pytest.raises(VmsPhError, match=why):
        _loaded(srdf)
    with pytest.raises(VmsPhError, match="cannot be read"):
        _loaded(srdf.with_name("missing.srdf"))
