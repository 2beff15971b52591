# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joints, actuators, bases and kinds of MJCF files, and what is left out."""

import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from mjcf_texts import DRONE, HAND, ROBOTS, TWO_JOINTS_IN_A_BODY, mjcf

import vms_ph_io
from vms_ph_dynamics import ModelError, VMSModel, VmsPhError
from vms_ph_io.descriptions.mjcf import Worker
from vms_ph_io.descriptions.urdf import UrdfWarning
from vms_ph_io.robots.robot_settings import RobotSettings

BODY = '<body name="link"><joint name="j"/><geom size="0.1"/></body>'


def left_out(text: str) -> list[str]:
    return [note.text or "" for note in ET.fromstring(text).findall("mjcf/left_out")]


def test_joints_have_the_limits_rotors_and_friction_of_the_file(urdf) -> None:
    model = VMSModel.from_urdf(urdf(TWO_JOINTS_IN_A_BODY))
    joints = model.joints
    assert joints.names == ("pan", "tilt", "lift", "twist")
    assert joints.prismatic == (False, False, True, False)
    quarter = np.pi / 2
    np.testing.assert_allclose(joints.lower, [-quarter, -quarter, -0.1, -np.inf])
    np.testing.assert_allclose(joints.upper, [quarter / 2, quarter / 2, 0.3, np.inf])
    np.testing.assert_allclose(joints.damping, [0.5, 0.5, 7.0, 0.5])
    np.testing.assert_allclose(joints.friction, [0.3, 0.3, 0.0, 0.0])
    # gear 50 and controls within 2; gear -10 and forces within -3 and 4; a servo; no actuator.
    np.testing.assert_allclose(joints.effort, [100.0, 40.0, np.inf, np.inf])
    np.testing.assert_allclose(model.pinocchio.armature, [0.02, 0.02, 0.02, 0.0])
    np.testing.assert_allclose(model.gravity, [0.5, 0.0, -9.81])


def test_the_force_limit_of_a_joint_bounds_its_actuators_and_their_rotors_count_by_the_gear(
    urdf,
) -> None:
    # Only MuJoCo 4 knows rotors of actuators.
    rotor = 'armature="0.01"' if hasattr(mujoco.MjModel, "actuator_armature") else ""
    world = (
        '<body><joint name="j" actuatorfrcrange="-30 30" armature="0.1"/><geom size="1"/></body>'
    )
    motors = f'<actuator><motor joint="j" gear="5" ctrlrange="-9 9" {rotor}/></actuator>'
    model = VMSModel.from_urdf(urdf(mjcf(world, motors)))
    assert model.joints.effort[0] == 30.0
    reflected = 25.0 * 0.01 if rotor else 0.0
    np.testing.assert_allclose(model.pinocchio.armature, [0.1 + reflected], rtol=1e-12)


def test_disabled_damping_friction_limits_and_gravity_are_left_out(urdf) -> None:
    flags = '<flag damper="disable" frictionloss="disable" limit="disable" gravity="disable"/>'
    world = (
        '<body><joint name="j" damping="1" frictionloss="2" range="-10 10"/><geom size="1"/></body>'
    )
    model = VMSModel.from_urdf(urdf(mjcf(world, f"<option>{flags}</option>")))
    assert not model.joints.damping.any()
    assert not model.joints.friction.any()
    assert np.isinf(model.joints.upper).all()
    assert not model.gravity.any()


def test_a_free_joint_is_a_floating_base_with_the_pose_of_the_keyframe_home(urdf) -> None:
    text = urdf(DRONE)
    for base in ("auto", "floating"):
        model = VMSModel.from_urdf(text, base)
        assert (model.base, model.joint_names) == ("floating", ("shoulder", "elbow"))
        np.testing.assert_allclose(model.gravity, [0.0, 0.0, -1.62])
        np.testing.assert_array_equal(model.home[:7], [1, 2, 3, 0, 0, 1, 0])
        np.testing.assert_allclose(model.joint_positions(model.home), [0.3, -0.4])
    # Held, or on wheels, where that is asked for.
    assert VMSModel.from_urdf(text, "fixed").nv == 2
    assert VMSModel.from_urdf(text, "planar").nv == 5
    assert VMSModel.from_urdf(text).link_names[0] == "hull"


def test_without_a_keyframe_home_is_the_reference_posture(urdf) -> None:
    model = VMSModel.from_urdf(urdf(TWO_JOINTS_IN_A_BODY))
    at_home = dict(zip(model.joint_names, model.joint_positions(model.home), strict=True))
    expected = {"pan": 0.0, "tilt": np.radians(20), "lift": 0.05, "twist": 0.0}
    assert at_home == pytest.approx(expected)


@pytest.mark.parametrize("name", ROBOTS)
def test_bodies_and_sites_are_where_mujoco_has_them(name: str, urdf) -> None:
    robot = VMSModel.from_urdf(urdf(ROBOTS[name]))
    m = mujoco.MjModel.from_xml_string(ROBOTS[name])
    d = mujoco.MjData(m)
    rng = np.random.default_rng(3)
    q = robot.random_configuration(rng)
    if robot.b:
        d.qpos[:7] = [*q[:3], q[6], *q[3:6]]
    for joint, position in zip(robot.joint_names, robot.joint_positions(q), strict=True):
        own = [j for j in range(m.njnt) if joint in (m.joint(j).name, f"joint{j}")]
        d.qpos[m.jnt_qposadr[own[0]]] = position
    mujoco.mj_kinematics(m, d)
    at = robot.evaluate(q, np.zeros(robot.nv))
    frames = [
        *((m.body(i).name or f"body{i}", d.xpos[i], d.xmat[i]) for i in range(1, m.nbody)),
        *((m.site(i).name, d.site_xpos[i], d.site_xmat[i]) for i in range(m.nsite)),
    ]
    assert len(frames) >= 3
    for frame, position, axes in frames:
        pose = at.placement(frame)
        np.testing.assert_allclose(pose[:3, 3], position, atol=1e-14)
        np.testing.assert_allclose(pose[:3, :3], axes.reshape(3, 3), atol=1e-14)


def test_a_site_named_like_a_tool_is_the_end_effector(urdf) -> None:
    assert VMSModel.from_urdf(urdf(TWO_JOINTS_IN_A_BODY)).end_effector == "tcp"
    text = TWO_JOINTS_IN_A_BODY.replace('"tcp"', '"gripperframe"')
    assert VMSModel.from_urdf(urdf(text)).end_effector == "gripperframe"
    assert VMSModel.from_urdf(urdf(DRONE)).end_effector == "hand"
    assert VMSModel.from_urdf(urdf(DRONE), end_effector="front").end_effector == "front"


def test_names_of_bodies_and_sites_and_joints_that_clash_stay_apart(urdf) -> None:
    world = (
        '<body name="a"><joint name="a_fixed"/><geom size="0.1"/><site name="a"/>'
        '<body name="world_2"><geom size="0.1"/></body><site name="world"/></body>'
    )
    model = VMSModel.from_urdf(urdf(mjcf(world)))
    assert model.name == "robot"
    assert sorted(model.link_names) == ["a", "a_2", "world", "world_2", "world_3"]


def test_a_joint_named_as_pinocchio_names_a_floating_base_is_renamed(urdf) -> None:
    world = (
        '<body name="hull"><freejoint/><geom size="0.1"/><body name="arm">'
        '<joint name="root_joint"/><joint axis="1 0 0"/><geom size="0.1"/></body></body>'
    )
    text = urdf(mjcf(world, '<keyframe><key qpos="0 0 0 1 0 0 0 0.1 0.2"/></keyframe>'))
    model = VMSModel.from_urdf(text)
    assert model.joint_names == ("root_joint_2", "joint2")
    np.testing.assert_array_equal(model.joint_positions(model.home), [0.1, 0.2])


def test_what_the_model_leaves_out_is_named(urdf) -> None:
    said = left_out(urdf(HAND))
    for text in (
        "tendons: flexor",
        "equality constraints: joint 'coupled'",
        "springs of joints: index_1, index_2, joint3",
        "actuators that do not drive one hinge or slide of the robot: pull",
        "gravity compensation of bodies: palm",
        "contacts: 5 geoms that collide, 0 pairs",
    ):
        assert text in said
    assert not any("wrist_motor" in text for text in said)
    said = left_out(urdf(DRONE))
    assert any("thrust_front, thrust_back" in text for text in said)
    said = left_out(urdf(TWO_JOINTS_IN_A_BODY))
    assert "the laws of actuators, in place of which efforts are commanded: p_lift" in said


def test_armature_of_a_free_joint_and_a_fluid_are_named(urdf) -> None:
    world = '<body name="b"><joint name="f" type="free" armature="1"/><geom size="0.1"/></body>'
    said = " ".join(left_out(urdf(mjcf(world, '<option density="1.2"/>'))))
    assert "armature of the free joint" in said
    assert "fluid around it, density 1.2 kg/m^3" in said


def test_a_free_object_beside_an_arm_is_left_out_and_named(urdf) -> None:
    box = '<body name="box"><freejoint/><geom size="0.1"/></body>'
    text = urdf(mjcf(BODY + box))
    model = VMSModel.from_urdf(text)
    assert (model.base, model.joint_names) == ("fixed", ("j",))
    assert "free objects beside the robot: box" in left_out(text)


def test_a_door_beside_a_free_robot_is_left_out_and_named(urdf) -> None:
    robot = f'<body name="trunk"><freejoint/><geom size="0.1"/>{BODY}</body>'
    door = '<body name="door"><joint/><geom size="0.1"/>{}</body>'
    text = urdf(mjcf(robot + door.format("")))
    model = VMSModel.from_urdf(text)
    assert (model.base, model.joint_names) == ("floating", ("j",))
    assert "bodies fixed to the world beside the robot: door" in left_out(text)
    with pytest.raises(ModelError, match="several robots: 'trunk', 'door'"):
        urdf(mjcf(robot + door.format("<body><joint/><geom size='1'/></body>")))


def test_muscles_whose_length_has_no_range_do_not_matter(urdf) -> None:
    sites = '<site name="s" pos="1 0 0"/>', '<site name="t" pos="0 1 0"/>'
    body = f'<body name="b"><joint name="j" type="slide"/><geom size="0.1"/>{sites[0]}</body>'
    tendon = '<tendon><spatial name="m"><site site="s"/><site site="t"/></spatial></tendon>'
    muscle = '<actuator><muscle name="m" tendon="m"/></actuator>'
    xml = mjcf(body + sites[1], tendon + muscle)
    with pytest.raises(ValueError, match="engthrange"):
        mujoco.MjModel.from_xml_string(xml)
    assert VMSModel.from_urdf(urdf(xml)).joint_names == ("j",)


def test_load_tells_the_kinds_of_files_apart_by_their_content(tmp_path: Path) -> None:
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    )
    chain = (
        f'<link name="a"/><link name="b">{inertial}</link><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
    )
    head = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    files = {
        "plain.xml": f'<robot name="r">{chain}</robot>',
        "declared.urdf": f'<robot name="r" {head}>{chain}</robot>',
        "macros.urdf": f'<robot name="r" {head}><xacro:macro name="m" params="">{chain}'
        "</xacro:macro><xacro:m/></robot>",
        "robot.urdf": mjcf(BODY, '<option gravity="0 0 -1"/>'),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UrdfWarning)
            assert vms_ph_io.load_urdf(path).joint_names == ("j",)
    moon = tmp_path / "robot.urdf"
    with pytest.warns(UrdfWarning, match="the model leaves out contacts: 1 geoms"):
        model = vms_ph_io.load_urdf(moon)
    np.testing.assert_allclose(model.gravity, [0, 0, -1])
    moon.write_text(TWO_JOINTS_IN_A_BODY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        model = vms_ph_io.load_urdf(moon, base="planar", gravity=(0, 0, -2), end_effector="fore")
    assert (model.base, model.gravity[2], model.end_effector) == ("planar", -2.0, "fore")
    with pytest.raises(
        ImportError, match="no 'load_mjcf'; use load, which loads URDF, xacro and MJ"
    ):
        vms_ph_io.load_mjcf(moon)
    with pytest.raises(VmsPhError, match=r"there is no file .*none\.xml"):
        vms_ph_io.load_urdf(tmp_path / "none.xml")


def test_included_files_and_their_defaults_are_read(tmp_path: Path, worker: Worker) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(
        f'<mujoco><default><joint damping="3"/></default><worldbody>{BODY}</worldbody></mujoco>'
    )
    scene = tmp_path / "scene.xml"
    scene.write_text('<mujoco model="scene"><include file="parts/arm.xml"/></mujoco>')
    model = VMSModel.from_urdf(worker.convert(scene))
    assert (model.name, model.joints.damping.tolist()) == ("scene", [3.0])


def test_nodes_begin_in_the_home_posture_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "drone.xml"
    path.write_text(DRONE)
    said: list[str] = []
    settings = RobotSettings(str(path))
    text = settings.description(said.append)
    assert any("actuators that do not drive one hinge" in line for line in said)
    model = settings.model(text)
    q = settings.initial_configuration(model)
    np.testing.assert_allclose(q[:7], [1, 2, 3, 0, 0, 1, 0])
    np.testing.assert_allclose(model.joint_positions(q), [0.3, -0.4])
    np.testing.assert_allclose(model.gravity, [0, 0, -1.62])
    # What is chosen comes first, and another base has no pose in the file.
    held = RobotSettings(
        str(path),
        base="fixed",
        end_effector="front",
        locked_joints="elbow",
        gravity="0 0 -9.81",
        initial_positions="shoulder=0.1",
    )
    model = held.model(text)
    q = held.initial_configuration(model)
    np.testing.assert_allclose(model.joint_positions(q), [0.1])
    assert (model.end_effector, model.gravity[2]) == ("front", -9.81)


def test_other_readers_accept_the_equivalent_urdf(urdf, capfd: pytest.CaptureFixture[str]) -> None:
    for xml in ROBOTS.values():
        text = urdf(xml)
        ours = VMSModel.from_urdf(text).pinocchio
        root = pin.JointModelFreeFlyer() if "floating" in text else None
        theirs = pin.buildModelFromXML(text, root) if root else pin.buildModelFromXML(text)
        assert theirs.nv == ours.nv
        np.testing.assert_allclose(
            pin.computeTotalMass(theirs), pin.computeTotalMass(ours), rtol=1e-15
        )
        for mine, plain in zip(ours.inertias, theirs.inertias, strict=True):
            assert mine.isApprox(plain)
    assert "rror" not in capfd.readouterr().err
