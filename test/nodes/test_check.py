# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph check: its output and exit code."""

import re
import runpy
from pathlib import Path

import pytest

from vms_ph_dynamics import ModelError, VmsPhError
from vms_ph_io import robots
from vms_ph_io.descriptions.recommendations import next_commands, recommendations
from vms_ph_nodes.cli import check as command

HAND = runpy.run_path(str(Path(__file__).parents[1] / "io/mjcf_texts.py"))["HAND"]


def check(robot: str, base: str, end_effector: str, inertia: str = "auto") -> None:
    command.check(robot, base, end_effector, inertia, "", [])


@pytest.mark.parametrize("name", robots.names())
def test_every_bundled_robot_is_valid(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check(name, "auto", "")
    said = capsys.readouterr()
    robot = robots.get(name)
    assert f"{robot.path().name} is valid" in said.out
    assert f"base          {robot.base}" in said.out
    assert f"end effector  {robot.end_effector}" in said.out
    if name == "fr3":
        assert "home          fr3_joint2 at -0.7854, fr3_joint4 at -2.356, " in said.out
    assert f"moving mass   {robots.load(name).total_mass:.6g} kg" in said.out
    assert said.err == ""


def test_base_and_end_effector_can_be_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    check("panda", "floating", "panda_hand")
    said = capsys.readouterr().out
    assert "base          floating (b = 6)" in said
    assert "end effector  panda_hand" in said


def test_a_robot_with_one_joint_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solid = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    file = tmp_path / "door.urdf"
    file.write_text(
        f'<robot name="door"><link name="frame">{solid}</link><link name="leaf">{solid}</link>'
        '<joint name="hinge" type="continuous"><parent link="frame"/><child link="leaf"/>'
        '<axis xyz="0 0 1"/></joint></robot>'
    )
    check(str(file), "auto", "")
    said = capsys.readouterr().out
    assert "joints        1: hinge" in said
    assert "positive definite, condition 1\n" in said


def test_every_error_of_a_file_is_printed_before_it_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.urdf"
    file.write_text('<robot name="two"><link name="a"/><link name="b"/></robot>')
    with pytest.raises(VmsPhError, match=r"two\.urdf is not valid: 1 error\(s\), see above"):
        check(str(file), "auto", "")
    assert "error: the tree is disconnected: 'a', 'b' have no parent" in capsys.readouterr().err


def test_an_inertia_in_kg_mm2_is_asked_about() -> None:
    text = robots.get("panda").description()
    (panda_link2,) = re.findall(r'<link name="panda_link2">.*?</link>', text, re.DOTALL)
    inflated = re.sub(
        r'(i[xyz]{2})="([-\d.e]+)"', lambda m: f'{m[1]}="{1e6 * float(m[2])}"', panda_link2
    )
    model = robots.get("panda").model(text.replace(panda_link2, inflated))
    notes = [note for note in recommendations(model) if "gyration" in note]
    assert len(notes) == 1
    assert "'panda_joint2' moves" in notes[0]
    assert not [n for n in recommendations(robots.load("panda")) if "gyration" in n]


def test_rotors_that_an_arm_lacks_are_a_note_where_wrists_are_too_light() -> None:
    text = robots.get("fr3").description()
    assert not [n for n in recommendations(robots.load("fr3")) if "rotor" in n]
    bare = re.sub(r' armature="[-\d.e]+"', "", text)
    wrist = re.sub(r'(i[xyz]{2})="([-\d.e]+)"', lambda m: f'{m[1]}="{1e-3 * float(m[2])}"', bare)
    (note,) = [n for n in recommendations(robots.get("fr3").model(wrist)) if "rotor" in n]
    assert re.search(r"condition \de\+0[45]: .* armature=.* --identify armature", note)


def test_a_home_that_nobody_states_is_said_to_be_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check("fr3", "auto", "")
    assert "guessed: zero" not in capsys.readouterr().out
    file = tmp_path / "fr3.urdf"
    file.write_text(robots.get("fr3").description())
    check(str(file), "auto", "")
    said = capsys.readouterr().out
    assert re.search(r"home .* fr3_joint4 at -1\.\d+.* \(guessed: zero, or the middle of", said)


def test_what_to_type_next_begins_with_the_command_that_the_user_typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VMS_PH_COMMAND", "../vms")
    check("panda", "auto", "")
    assert "  ../vms launch panda " in capsys.readouterr().out
    typed = next_commands("a.xacro hand:=false", "", "", "")
    assert typed[0] == "../vms demo --robot 'a.xacro hand:=false'"


def test_unknown_names_are_rejected_with_a_message(tmp_path: Path) -> None:
    with pytest.raises(VmsPhError, match=r"there is no file .*pandora"):
        check(str(tmp_path / "pandora"), "auto", "")
    with pytest.raises(VmsPhError, match=r"no robot 'pand' .*bundled are panda"):
        check("pand", "auto", "")
    with pytest.raises(ModelError, match="fixed, planar or floating; given: 'rocket'"):
        check("panda", "rocket", "")
    with pytest.raises(ModelError, match="'elbow' is not a frame of 'panda'"):
        check("panda", "auto", "elbow")


def test_repairs_are_printed_and_refused_ones_with_what_to_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bent.urdf"
    file.write_text(
        '<robot name="bent"><link name="frame"/><link name="leaf"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="continuous"><parent link="frame"/><child link="leaf"/>'
        '<axis xyz="0 0 1"/></joint></robot>'
    )
    with pytest.raises(VmsPhError, match=r"1 error.*--inertia repair takes the repaired inertias"):
        check(str(file), "auto", "")
    said = capsys.readouterr().err
    assert "error: the rotational inertia of 'leaf' belongs to no rigid body" in said
    assert "0.5, 0.5, 1 kg m^2 and changes the mass matrix by 80 % at most" in said
    check(str(file), "auto", "", "repair")
    said = capsys.readouterr()
    assert "warning: repaired: the rotational inertia of 'leaf'" in said.err
    assert "inertias      1 repaired, 0 with defects as given" in said.out
    check(str(file), "auto", "", "as_given")
    assert "inertias      0 repaired, 1 with defects as given" in capsys.readouterr().out
    with pytest.raises(ModelError, match="inertia must be auto, strict, repair or as_given"):
        check(str(file), "auto", "", "loose")


def test_check_says_what_an_mjcf_is_and_what_the_model_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "hand.xml"
    path.write_text(HAND)
    check(str(path), "auto", "")
    said = capsys.readouterr()
    assert "hand.xml is valid" in said.out
    assert "wrist, index_1, index_2" in said.out
    assert "the model leaves out tendons: flexor" in said.err
    path.write_text(HAND.replace('type="slide"', 'type="ball"'))
    with pytest.raises(VmsPhError, match="ball joints are not covered"):
        check(str(path), "auto", "")
