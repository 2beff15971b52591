# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The settings of a robot as text, for a bundled robot and for a drone with an arm of a user."""

from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.errors import InertiaWarning
from vms_ph_io import robots
from vms_ph_io.robots.robot_settings import RobotSettings, from_arguments

LINK = (
    "<link name='{0}'><inertial><origin xyz='0 0 -0.1'/><mass value='{1}'/>"
    "<inertia ixx='{2}' iyy='{2}' izz='{2}' ixy='0' ixz='0' iyz='0'/></inertial></link>"
)
JOINT = (
    "<joint name='{0}' type='revolute'><parent link='{1}'/><child link='{2}'/>"
    "<origin xyz='0 0 -0.2'/><axis xyz='0 1 0'/>"
    "<limit lower='-2' upper='2' effort='5' velocity='5'/></joint>"
)
DRONE = "<robot name='drone'>{}</robot>".format(
    LINK.format("body", 1.5, 0.02)
    + LINK.format("upper", 0.1, 0.001)
    + LINK.format("tip", 0.1, 0.001)
    + JOINT.format("shoulder", "body", "upper")
    + JOINT.format("elbow", "upper", "tip")
)


@pytest.fixture
def drone(tmp_path: Path) -> str:
    file = tmp_path / "drone.urdf"
    file.write_text(DRONE)
    return str(file)


def test_all_settings_of_a_robot_of_a_user_reach_the_model(drone: str) -> None:
    text = (
        f"robot={drone}; base=floating; end_effector=upper; locked_joints=elbow=0.3;"
        "gravity=0, 0, -1.62; initial_positions=shoulder=-0.5; controller=auto"
    )
    settings = RobotSettings().with_changes(from_arguments(text))
    model = settings.model(settings.description())
    assert (model.base, model.joint_names, model.end_effector) == (
        "floating", ("shoulder",), "upper"
    )  # fmt: skip
    assert model.total_mass == pytest.approx(1.7)
    np.testing.assert_array_equal(model.gravity, [0, 0, -1.62])
    q = settings.initial_configuration(model)
    np.testing.assert_array_equal(model.joint_positions(q), [-0.5])
    # A locked joint stands where it was locked: the tip is turned by 0.3 rad.
    turn = model.evaluate(model.neutral_configuration(), np.zeros(7)).placement("tip")[:3, :3]
    assert turn[0, 0] == pytest.approx(np.cos(0.3))


def test_settings_change_bundled_robots_and_leave_the_rest_of_them() -> None:
    plain = RobotSettings(robot="panda")
    assert plain.are_defaults
    assert RobotSettings(robot="panda", base="auto").are_defaults
    settings = RobotSettings("panda", locked_joints="panda_joint2, panda_joint7", gravity="0 0 0")
    assert not settings.are_defaults
    model = settings.model(settings.description())
    assert model.n == 5
    assert not np.any(model.gravity)
    q = settings.initial_configuration(model)
    home = robots.get("panda").home
    expected = [home.get(name, 0.0) for name in model.joint_names]
    np.testing.assert_array_equal(model.joint_positions(q), expected)


def test_empty_settings_leave_what_is_there() -> None:
    given = RobotSettings(robot="panda", base="fixed").with_changes(
        {"base": "", "gravity": "0 0 0"}
    )
    assert given == RobotSettings(robot="panda", base="fixed", gravity="0 0 0")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"base": "sideways"}, "base must be one of auto, fixed, planar, floating; given: 'sidew"),
        ({"end_effector": "tipp"}, "'tipp' is not a frame of 'drone'; its links are body, upper"),
        ({"locked_joints": "elbw"}, "'elbw' cannot be locked"),
        ({"locked_joints": "elbow=much"}, "locked_joints must be name or name=number"),
        ({"locked_joints": "elbow=inf"}, "locked_joints must be name or name=number"),
        ({"gravity": "9.81"}, "gravity must be three numbers"),
        ({"initial_positions": "elbow"}, "initial_positions must be name=number"),
        ({"initial_positions": "elbw=1"}, r"'elbw' is no joint of 'drone' \(did you mean 'elbow'"),
        ({"robot": "dron"}, "there is no robot 'dron'"),
        ({"robot": "dron.urdf"}, "there is no file dron.urdf"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused_with_what_is_accepted(
    given: dict[str, str], said: str, drone: str
) -> None:
    settings = RobotSettings(drone).with_changes(given)
    with pytest.raises(VmsPhError, match=said):
        settings.initial_configuration(settings.model(settings.description()))


def test_the_inertia_mode_reaches_the_model(tmp_path: Path) -> None:
    # A principal moment above the sum of the others, on a heavy link.
    wrong = DRONE.replace("<inertia ixx='0.02'", "<inertia ixx='0.2'", 1)
    file = tmp_path / "wrong.urdf"
    file.write_text(wrong)
    settings = RobotSettings(str(file), "floating")
    with pytest.raises(VmsPhError, match="inertia='repair'"):
        settings.model(settings.description())
    repaired = settings.with_changes({"inertia": "repair"})
    with pytest.warns(InertiaWarning):
        assert repaired.model(repaired.description()).repairs
    given = settings.with_changes({"inertia": "as_given"})
    assert not given.model(given.description()).repairs
    with pytest.raises(VmsPhError, match="inertia must be auto, strict"):
        settings.with_changes({"inertia": "maybe"}).model(wrong)


def test_launch_arguments_are_pairs() -> None:
    assert from_arguments("a=1; b=; c=x=0.5 y") == {"a": "1", "b": "", "c": "x=0.5 y"}
    with pytest.raises(VmsPhError, match="name=value with ; between; given: 'base'"):
        from_arguments("robot=panda; base")
