# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The settings of a robot reach every node that builds its model."""

import shutil
from pathlib import Path

import pytest
import yaml

from vms_ph_dynamics import VmsPhError
from vms_ph_io import robots, share_directory
from vms_ph_io.robots.robot_settings import from_arguments
from vms_ph_nodes.check_settings import check

launching = pytest.importorskip(
    "vms_ph_embedded.launch"
)  # a colcon build does not have the embedded launcher

pytestmark = pytest.mark.usefixtures("copied_commands")

DRONE = (Path(__file__).parent / "own_drone.urdf").as_posix()

OF_A_ROBOT = {
    "base": "floating",
    "end_effector": "tip",
    "locked_joints": "elbow=0.3",
    "inertia": "repair",
    "gravity": "0 0 -1.62",
    "friction": (Path(__file__).parent / "own_friction.yaml").as_posix(),
}
OF_A_RUN = {"controller": "DecoupledVMSController", "initial_positions": "shoulder=0.5"}


def _nodes(file: str, arguments: dict[str, str]) -> dict[str, list[str]]:
    """Return the command lines of the nodes of this project."""
    share = share_directory()
    description = launching.load(
        share / f"launch/{file}.launch.xml", arguments, find_share=lambda package: share
    )
    lines = {p.name.rpartition("-")[0]: list(map(str, p.command)) for p in description.processes}
    assert lines
    return lines


@pytest.mark.parametrize(
    ("file", "given"),
    [
        ("robot", OF_A_ROBOT | OF_A_RUN | {"engine": "vms_ph"}),
        ("replay", OF_A_ROBOT),
        ("joint_heat", {k: v for k, v in OF_A_ROBOT.items() if k != "end_effector"}),
    ],
)
def test_every_launched_node_gets_all_arguments(file: str, given: dict[str, str]) -> None:
    arguments = {"robot": DRONE, **given} | ({} if file == "joint_heat" else {"web": "true"})
    for mock in ("true", "false"):
        if file == "robot":
            arguments |= {"use_mock_hardware": mock, "record": "true"}
        for name, line in _nodes(file, arguments).items():
            (text,) = [w for w in line if w.startswith("launch_arguments:=")]
            pairs = dict(part.split("=", 1) for part in text.split(":=", 1)[1].split("; "))
            pairs.pop("config", "")
            assert {k: v for k, v in pairs.items() if v} == {"robot": DRONE, **given}, name


@pytest.mark.parametrize("file", ["robot", "replay", "joint_heat"])
def test_a_path_may_have_quotes_and_semicolons(file: str, tmp_path: Path) -> None:
    folder = tmp_path / 'o\'b; "q" $x\\'
    folder.mkdir()
    path = shutil.copy(DRONE, folder)
    for line in _nodes(file, {"robot": path}).values():
        (text,) = [w for w in line if w.startswith("launch_arguments:=")]
        assert from_arguments(text.split(":=", 1)[1])["robot"] == path


@pytest.mark.parametrize("name", robots.names())
def test_every_launch_file_of_a_robot_takes_the_same_arguments(name: str) -> None:
    file = share_directory() / f"launch/{name}.launch.xml"
    declared = launching.declared_arguments(file, find_share=lambda package: share_directory())
    assert {"robot", *OF_A_ROBOT, *OF_A_RUN} <= {argument.name for argument in declared}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"robot": "pandaa"}, "there is no robot 'pandaa'"),
        ({"base": "sideways"}, "base must be one of"),
        ({"robot": DRONE, "end_effector": "tipp"}, "'tipp' is not a frame of 'own_drone'"),
        ({"controller": "law.py:Own"}, "there is no controller 'law.py:Own'"),
        ({"base": "floating", "controller": "TaskSpaceIDAPBC"}, "for arms on a fixed base"),
        ({"robot": "hextilt", "base": "fixed"}, "for robots on a planar or floating base"),
        ({"robot": DRONE, "config": "none.yaml"}, "none.yaml"),
        ({"bse": "floating"}, r"no launch file declares the argument 'bse' \(did you mean 'base'"),
    ],
)
def test_a_wrong_setting_ends_a_launch_with_one_sentence_before_any_node_starts(
    given: dict[str, str], said: str
) -> None:
    with pytest.raises(VmsPhError, match=said) as caught:
        _nodes("robot", given)
    assert "\n" not in str(caught.value)


def test_the_law_of_a_run_is_checked_with_the_actuators_of_the_robot() -> None:
    check({"robot": "hextilt", "controller": "DecoupledVMSController"})
    with pytest.raises(VmsPhError, match="for arms on a fixed base"):
        check({"robot": "hextilt", "controller": "TaskSpaceIDAPBC"})


def test_what_was_repaired_is_said_once_and_no_robot_of_ours_needs_it(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.urdf"
    wrong.write_text(Path(DRONE).read_text().replace('ixx="0.02"', 'ixx="0.2"', 1))
    (said,) = check({"robot": str(wrong), "base": "floating", "inertia": "repair"})
    assert "the inertia was repaired" in said
    assert check({"robot": "panda", "gravity": "0 0 0"}) == []


@pytest.mark.parametrize(
    ("base", "frame", "kind"),
    [
        ("floating", "odom", "moving"),
        ("planar", "odom", "moving"),
        ("fixed", "panda_link0", "fixed"),
    ],
)
def test_rviz_looks_from_a_frame_that_there_is(
    base: str, frame: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROS_HOME", str(tmp_path))
    share = share_directory()
    description = launching.load(
        share / "launch/robot.launch.xml",
        {"robot": DRONE if frame == "odom" else "panda", "base": base, "rviz": "true"},
        find_share=lambda package: share,
        resolve=lambda package, name: [name],
    )
    words = next(list(p.command) for p in description.processes if p.command[0] == "rviz2")
    assert (words[1], *words[3:5]) == ("-d", "-f", frame)
    # The file is fitted to the robot, and shows what its template does.
    assert Path(words[2]).parent == tmp_path / "vms_ph"
    fitted, template = (
        [d["Class"] for d in yaml.safe_load(file.read_text())["Visualization Manager"]["Displays"]]
        for file in (Path(words[2]), share / f"rviz/{kind}.rviz")
    )
    assert fitted == template
