# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Errors about invalid URDF files, and warnings about accepted ones."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, VmsPhError
from vms_ph_io import load_urdf, read_urdf, robots, simulate
from vms_ph_io.descriptions.packages import package_directory, resolve
from vms_ph_io.descriptions.urdf import UrdfWarning, check_urdf
from vms_ph_io.robots.robot_settings import RobotSettings

INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
SOLID = f'<inertial><mass value="1"/>{INERTIA}</inertial>'
DAMPING = '<dynamics damping="-0.5"/>'
LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


def link(name: str, content: str = SOLID) -> str:
    return f'<link name="{name}">{content}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="0 0 1"/>{LIMIT}</joint>'
    )


def inertia(mass: str, ixx: str = "1") -> str:
    return (
        f'<inertial><mass value="{mass}"/>'
        f'<inertia ixx="{ixx}" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        ("<robot", "not well-formed XML"),
        ("<model/>", "root element must be <robot>; given: <model>"),
        (robot(), "no links"),
        (robot(link("a"), link("b")), "disconnected: 'a', 'b'"),
        (robot(link("a"), joint("j", "a", "z")), "child link 'z' of joint 'j' does not exist"),
        (robot(link("a"), joint("j", "z", "a")), "parent link 'z' of joint 'j' does not exist"),
        (
            robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "a", "b")),
            "'b' has two parents",
        ),
        (robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")), "form a loop"),
        (robot(link("a"), link("a")), "two links are named 'a'"),
        (
            robot(link("r"), link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")),
            "the joints form a loop through 'b', 'a'",
        ),
        (robot(link("a"), joint("j", "a", "a")), "the joints form a loop through 'a'"),
        (
            robot(link("a"), link("b"), joint("j", "a", "b").replace('<parent link="a"/>', "")),
            "joint 'j' has no <parent> with a link",
        ),
        (
            robot(link("a"), link("b"), joint("j", "a", "b").replace("axis xyz", "axis xzy")),
            "the <axis> of joint 'j' must give xyz, three numbers; it gives xzy",
        ),
        (
            robot(link("a"), link("b"), joint("j", "a", "b").replace(LIMIT, LIMIT + "<mimic/>")),
            "joint 'j' has a <mimic> that gives no joint",
        ),
        (
            robot(link("a"), link("b", SOLID.replace("ixy=", "xy="))),
            "the <inertial> of link 'b' must give ixy of its <inertia>",
        ),
        (
            robot(link("a"), link("b").replace(' name="b"', ""), joint("j", "a", "b")),
            "the <link> number 2 has no name",
        ),
        (
            robot(link("a"), link("b"), joint("j", "a", "b", "wobble")),
            "joint 'j' has the unknown type 'wobble'",
        ),
        (
            robot(link("a"), link("b", inertia("-2")), joint("j", "a", "b")),
            "mass of 'b' must not be negative; given: -2",
        ),
        (
            robot(link("a"), link("b", inertia("nan")), joint("j", "a", "b")),
            "of link 'b' must be a finite number",
        ),
        (
            robot(link("a"), link("b", inertia("1", "5")), joint("j", "a", "b")),
            "rotational inertia of 'b' belongs to no rigid body",
        ),
        (
            robot(link("a", ""), link("b", ""), joint("j", "a", "b")),
            "no link has an <inertial> with a mass",
        ),
        (
            robot(link("a"), link("b", ""), joint("j", "a", "b")),
            "the motion of joint 'j' moves no inertia: give 'b' and what is fixed to it a mass",
        ),
        (
            robot(link("a"), link("b"), joint("j", "a", "b").replace("<axis", DAMPING + "<axis")),
            "damping of joint 'j' must not be negative; given: -0.5",
        ),
        (
            robot(link("a"), link("b"), joint("j", "a", "b").replace("0 0 1", "0 0 0")),
            "axis of joint 'j' must be nonzero",
        ),
        (robot(link("a", '<inertial><mass value="abc"/></inertial>')), "abc"),
        (robot("<link/>"), "name"),
    ],
)
def test_an_invalid_urdf_is_rejected_with_the_name_of_the_element(
    tmp_path: Path, xml: str, said: str
) -> None:
    file = tmp_path / "broken.urdf"
    file.write_text(xml)
    with pytest.raises(ModelError) as refusal:
        load_urdf(file)
    assert said in str(refusal.value)
    assert "broken.urdf" in str(refusal.value)


def test_limits_in_the_wrong_order_are_none_with_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    turned = joint("j", "a", "b").replace('lower="-1"', 'lower="2"')
    file.write_text(robot(link("a"), link("b"), turned))
    with pytest.warns(UrdfWarning, match="lower limit of joint 'j', 2, is above the upper, 1: "):
        model = load_urdf(file)
    assert (model.joints.lower[0], model.joints.upper[0]) == (-np.inf, np.inf)
    file.write_text(file.read_text().replace('lower="2"', 'lower="two"'))
    with pytest.raises(ModelError, match="two"):
        load_urdf(file)


def test_all_errors_are_reported_at_once() -> None:
    findings = check_urdf(
        robot(link("a"), link("b", inertia("-1")), link("c", inertia("nan"))).replace(
            "</robot>", joint("j", "a", "b") + joint("k", "b", "c") + "</robot>"
        )
    )
    assert len(findings.errors) == 2


def test_the_parser_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    extension = '<ros2_control name="x" type="system"><hardware/></ros2_control><gazebo/>'
    assert check_urdf(robot(link("a"), "<unheard_of/>", extension)).errors == ()
    assert capfd.readouterr() == ("", "")


def test_capsules_and_ros2_control_tags_are_accepted(tmp_path: Path) -> None:
    capsule = '<collision><geometry><capsule radius="1" length="1"/></geometry></collision>'
    xml = robot(link("a"), link("b", SOLID + capsule), joint("j", "a", "b"))
    assert check_urdf(xml).errors == ()


def test_an_unreadable_mesh_is_a_warning_not_an_error(tmp_path: Path) -> None:
    mesh = '<visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual>'
    file = tmp_path / "arm.urdf"
    file.write_text(robot(link("a"), link("b", SOLID + mesh), joint("j", "a", "b")))
    with pytest.warns(UrdfWarning, match="package://nowhere/a.stl"):
        model = load_urdf(file)
    assert model.n == 1


def test_the_panda_file_is_valid_with_all_its_meshes() -> None:
    findings = check_urdf(read_urdf(robots.get("panda").path()))
    assert findings.errors == ()
    assert findings.warnings == ()


def test_a_bundled_robot_is_its_file_with_the_fingers_locked() -> None:
    whole = load_urdf(robots.get("panda").path(), end_effector="panda_link8")
    held = robots.load("panda")
    # The second finger mimics the first.
    assert (whole.n, held.n) == (8, 7)
    q = held.random_configuration(np.random.default_rng(1))
    v = np.ones(7)
    ours, theirs = held.evaluate(q, v), whole.evaluate([*q, 0.0], [*v, 0.0])
    np.testing.assert_allclose(ours.M, theirs.M[:7, :7], atol=1e-13)


def test_every_mesh_of_a_bundled_robot_has_a_file_address() -> None:
    description = robots.get("panda").description()
    assert "package://" not in description
    assert description.count("file://") > 10


def test_a_xacro_file_is_processed_with_its_arguments(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf.xacro"
    body = robot(
        '<xacro:arg name="mass" default="1"/>',
        link("a"),
        link("b", inertia("$(arg mass)")),
        joint("j", "a", "b"),
    )
    file.write_text(body.replace("<robot", '<robot xmlns:xacro="http://wiki.ros.org/xacro"'))
    assert load_urdf(file).total_mass == 1.0
    assert load_urdf(file, xacro_arguments={"mass": "3"}).total_mass == 3.0
    assert load_urdf(file, xacro_arguments={"mass": 3}).total_mass == 3.0  # type: ignore[dict-item]
    run = simulate(f"{file} mass:=3", None, 0.01)  # arguments after a path
    assert len(run.t) == 11


def test_elements_that_xacro_left_in_a_urdf_do_not_matter(tmp_path: Path) -> None:
    parts = link("a"), link("b"), joint("j", "a", "b")
    head = '<robot xmlns:xacro="http://wiki.ros.org/xacro"'
    leftover = robot(*parts, '<xacro:sensors_usb port="none"/>').replace("<robot", head)
    with pytest.warns(UrdfWarning, match="leaves out elements of xacro: .* xacro:sensors_usb"):
        assert load_urdf(_written(tmp_path, leftover)).joint_names == ("j",)
    for macro in ('<xacro:sensors port="${1}"/>', "<xacro:arg name='x' default='1'/>"):  # a program
        with pytest.raises(ModelError, match="unknown macro name: xacro:sensors"):
            load_urdf(_written(tmp_path, leftover.replace("</robot>", f"{macro}</robot>")))


def test_missing_files_and_unknown_robots_get_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(VmsPhError, match=r"there is no file .*nothing\.urdf"):
        load_urdf(tmp_path / "nothing.urdf")
    with pytest.raises(VmsPhError, match=r"there is no robot 'pandora' .*bundled are panda"):
        robots.load("pandora")
    broken = tmp_path / "broken.xacro"
    broken.write_text("<robot><xacro:nothing/>")
    with pytest.raises(ModelError, match="not a xacro file"):
        load_urdf(broken)


def test_addresses_resolve_through_the_installed_packages() -> None:
    folder = package_directory("example-robot-data")
    assert folder is not None
    assert resolve("package://example-robot-data/robots") == folder / "robots"
    assert resolve("file:///a/b.stl") == Path("/a/b.stl")
    assert resolve("package://nowhere/x") is None
    assert resolve("http://example.org/x.stl") is None


def test_a_missing_parent_is_not_called_a_loop() -> None:
    findings = check_urdf(robot(link("a"), joint("j", "z", "a")))
    (error,) = findings.errors
    assert "'z' of joint 'j' does not exist; add a <link> of that name" in error
    assert "loop" not in error


def test_a_robot_fixed_to_a_link_that_is_not_described_has_it_as_its_root(tmp_path: Path) -> None:
    parts = (joint("mount", "world", "a", "fixed"), link("a"), link("b"), joint("j", "a", "b"))
    file = tmp_path / "mounted.urdf"
    file.write_text(robot(*parts))
    with pytest.warns(UrdfWarning, match="the link 'world', to which the robot is fixed"):
        model = load_urdf(file)
    assert model.link_names == ("world", "a", "b")
    whole = load_urdf(_written(tmp_path, robot("<link name='world'/>", *parts)))
    np.testing.assert_array_equal(model.evaluate([0.3], [0.0]).M, whole.evaluate([0.3], [0.0]).M)
    # Beside another root it is an error, for instance a name spelled wrongly.
    errors = check_urdf(robot(*parts, link("root"))).errors
    assert errors[0].startswith("the parent link 'world' of joint 'mount' does not exist")


def _written(folder: Path, xml: str) -> Path:
    file = folder / "written.urdf"
    file.write_text(xml)
    return file


@pytest.mark.parametrize(
    ("given", "written", "said"),
    [
        ('<robot name="r">', "<robot>", "has no name; it is called 'robot'"),
        (' effort="1"', "", "of joint 'j' gives no effort, which is taken for no limit"),
        (' effort="1"', ' effort="-1.0"', "gives -1.0 as the effort, which is taken for no limit"),
        (' velocity="1"', "", "of joint 'j' gives no velocity, which is taken for no limit"),
    ],
)
def test_what_does_not_concern_the_motion_is_completed_with_a_warning(
    tmp_path: Path, given: str, written: str, said: str
) -> None:
    xml = robot(link("a"), link("b"), joint("j", "a", "b"))
    assert given in xml
    with pytest.warns(UrdfWarning, match=said):
        model = load_urdf(_written(tmp_path, xml.replace(given, written)))
    assert model.n == 1
    limits = (model.joints.effort[0], model.joints.velocity[0])
    assert ("no limit" in said) == (np.inf in limits)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("</robot>", "<gazebo><sensor:camera name='c'/></gazebo></robot>"),
        ("</robot>", "<material name='m'><texture/></material></robot>"),
        ("<robot", "\n  <?xml version='1.0'?>\n<robot"),
        ("<axis", "<dynamics/><axis"),
        ("</robot>", "<link name='c'><inertial><density/></inertial></link>{fixed}</robot>"),
        ("</robot>", "<link name='c'/>{fixed}</robot>"),
    ],
    ids=["prefix", "material", "blank first", "empty dynamics", "density", "axis of a fixed joint"],
)
def test_what_does_not_concern_the_dynamics_does_not_matter(
    tmp_path: Path, given: str, written: str, capfd: pytest.CaptureFixture[str]
) -> None:
    xml = robot(link("a"), link("b"), joint("j", "a", "b"))
    fixed = joint("f", "b", "c", "fixed").replace("axis xyz", "axis xzy")
    whole = load_urdf(_written(tmp_path, xml)).evaluate([0.3], [0.0]).M
    changed = xml.replace(given, written.replace("{fixed}", fixed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        model = load_urdf(_written(tmp_path, changed))
    np.testing.assert_array_equal(model.evaluate([0.3], [0.0]).M, whole)
    assert capfd.readouterr().err == ""


def test_defects_of_inertias_are_errors_or_warnings_by_their_grade() -> None:
    xml = robot(link("a"), link("b", inertia("1", "2.1")), joint("j", "a", "b"))
    findings = check_urdf(xml)
    assert findings.errors == ()
    assert [(d.link, d.kind, d.grade) for d in findings.defects] == [
        ("b", "triangle", "negligible")
    ]
    assert findings.warnings[0].startswith("repaired: the rotational inertia of 'b'")
    assert len(check_urdf(xml, inertia="strict").errors) == 1
    assert check_urdf(xml, inertia="as_given").warnings == ()
    grave = robot(link("a"), link("b", inertia("1", "5")), joint("j", "a", "b"))
    grave = grave.replace("0 0 1", "0 1 0")
    assert "belongs to no rigid body" in check_urdf(grave).errors[0]
    assert check_urdf(grave, inertia="repair").errors == ()
    with pytest.raises(ModelError, match="inertia must be auto, strict, repair or as_given"):
        check_urdf(xml, inertia="loose")  # type: ignore[arg-type]


def test_a_xacro_finds_python_packages_and_names_those_that_are_missing(tmp_path: Path) -> None:
    own = tmp_path / "own.xacro"
    text = (
        '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="base_link">'
        '<visual><geometry><mesh filename="file://$(find {})/x.dae"/></geometry></visual>'
        "</link></robot>"
    )
    own.write_text(text.format("vms_ph"))
    assert str(resolve("package://vms_ph/x.dae")) in read_urdf(own)
    own.write_text(text.format("no_such_data"))
    with pytest.raises(
        ModelError, match="be processed: there is no package 'no_such_data'; source"
    ):
        read_urdf(own)


def test_packages_are_also_those_of_the_file_and_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "my_arm_description"
    (package / "urdf").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>my_arm_description</name></package>")
    mesh = '<visual><geometry><mesh filename="{}/x.dae"/></geometry></visual>'
    xacro = package / "urdf/arm.xacro"
    head = '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="l">'
    xacro.write_text(head + mesh.format("$(find my_arm_description)") + "</link></robot>")
    assert f"{package}/x.dae" in read_urdf(xacro)
    urdf = package / "urdf/arm.urdf"
    xml = robot(link("l", SOLID + mesh.format("package://my_arm_description")))
    urdf.write_text(xml)
    assert f"file://{package}/x.dae" in read_urdf(urdf)
    (tmp_path / "p/q/r/s").mkdir(parents=True)
    elsewhere = _written(tmp_path / "p/q/r/s", xml)
    assert "package://my_arm_description" in read_urdf(elsewhere)
    assert package_directory("my_arm_description") is None
    monkeypatch.setenv("ROS_PACKAGE_PATH", f":{tmp_path}")
    assert package_directory("my_arm_description") == package


def _package(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True)
    (folder / "package.xml").write_text(f"<package><name>my_{folder.name}</name></package>")
    for name, text in files.items():
        (folder / "description/urdf").mkdir(parents=True, exist_ok=True)
        (folder / f"description/urdf/{name}.xacro").write_text(
            f'<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro">{text}</robot>'
        )


def test_a_plain_clone_finds_its_packages_and_those_of_clones_beside_it(tmp_path: Path) -> None:
    include = '<xacro:include filename="{}/urdf/{}.xacro"/>'
    _package(tmp_path / "clone/gripper", gripper=link("palm"))
    _package(tmp_path / "base", base='<xacro:property name="n" value="b"/>')
    mesh = '<visual><geometry><mesh filename="package://my_gripper/x.dae"/></geometry></visual>'
    _package(
        tmp_path / "clone/arm",
        arm=include.format("$(find my_arm)", "part")
        + include.format("$(find my_base)", "base")
        + link("${n}", mesh)
        + include.format("$(find no_package_of_its_own)", "x"),
        part=include.format("$(find my_gripper)", "gripper"),
    )
    inner = tmp_path / "clone/arm/no_package_of_its_own"
    (inner / "urdf").mkdir(parents=True)
    (inner / "urdf/x.xacro").write_text("<robot>" + link("x") + "</robot>")
    xml = read_urdf(tmp_path / "clone/arm/description/urdf/arm.xacro")
    assert f"file://{tmp_path}/clone/gripper/x.dae" in xml
    assert '<link name="palm">' in xml
    assert '<link name="x">' in xml
    assert '<link name="b">' in xml


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives folders to another user")
def test_a_package_of_another_user_beside_the_file_is_not_taken(tmp_path: Path) -> None:
    _package(tmp_path / "gripper", gripper=link("palm"))
    (tmp_path / "arm.urdf").write_text("<robot/>")
    assert package_directory("my_gripper", tmp_path / "arm.urdf") == tmp_path / "gripper"
    os.chown(tmp_path / "gripper", 12345, 12345)
    assert package_directory("my_gripper", tmp_path / "arm.urdf") is None


def test_a_package_that_no_used_part_needs_may_be_missing(tmp_path: Path) -> None:
    include = '<xacro:include filename="$(find no_camera)/urdf/camera.xacro"/>'
    camera = '<xacro:arg name="camera" default="0"/><xacro:if value="$(arg camera)">'
    use = "<xacro:no_camera/></xacro:if>"
    _package(tmp_path / "arm", arm=include + camera + use + link("a"))
    file = tmp_path / "arm/description/urdf/arm.xacro"
    (warning,) = check_urdf(read_urdf(file)).warnings
    assert warning.startswith("the model leaves out files that it includes: there is no package")
    with pytest.raises(ModelError, match=r"unknown macro name: xacro:no_camera; there is no pack"):
        read_urdf(f"{file} camera:=1")


def test_an_argument_of_xacro_without_default_is_asked_for(tmp_path: Path) -> None:
    _package(tmp_path / "arm", arm=link("$(arg n)"))
    with pytest.raises(ModelError, match=r"processed: its argument n has no default: give n:=V"):
        read_urdf(tmp_path / "arm/description/urdf/arm.xacro")


def test_a_comment_may_stand_before_the_declaration(tmp_path: Path) -> None:
    xml = robot(link("a"), link("b"), joint("j", "a", "b"))
    text = '<!-- a licence --> <!-- a date -->\n<?xml version="1.0" encoding="utf-8"?>' + xml
    assert load_urdf(_written(tmp_path, text)).joint_names == ("j",)


def test_a_joint_without_limit_has_no_ends(tmp_path: Path) -> None:
    xml = robot(link("a"), link("b"), joint("j", "a", "b", "prismatic").replace(LIMIT, ""))
    assert check_urdf(xml).warnings == ("prismatic joint 'j' has no <limit>: it has no ends",)
    with pytest.warns(UrdfWarning, match="has no ends"):
        joints = load_urdf(_written(tmp_path, xml)).joints
    assert np.isinf([joints.lower, joints.upper, joints.effort, joints.velocity]).all()


def test_an_inertia_without_products_is_diagonal(tmp_path: Path) -> None:
    diagonal = '<inertial><mass value="2"/><inertia ixx="1" iyy="2" izz="2.5"/></inertial>'
    xml = robot(link("a"), link("b", diagonal), joint("j", "a", "b"))
    said = "the <inertia> of link 'b' has no ixy, ixz, iyz: zeros"
    assert check_urdf(xml).warnings == (said,)
    with pytest.warns(UrdfWarning, match=said):
        model = load_urdf(_written(tmp_path, xml))
    np.testing.assert_allclose(model.evaluate(np.zeros(1), np.zeros(1)).M, 2.5, rtol=1e-15)


def test_a_body_without_a_moving_joint_floats(tmp_path: Path) -> None:
    xml = robot(link("body"), link("rotor"), joint("mount", "body", "rotor", "fixed"))
    model = load_urdf(_written(tmp_path, xml))
    assert (model.base, model.n, model.total_mass) == ("floating", 0, 2.0)
    with pytest.raises(ModelError, match="no joint that moves"):
        load_urdf(_written(tmp_path, xml), base="fixed")


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16", "utf-8-sig"])
def test_a_description_has_the_encoding_that_it_declares(tmp_path: Path, encoding: str) -> None:
    xml = robot(link("a"), link("b"), joint("Gelenk_Größe", "a", "b"))
    declared = "" if encoding == "utf-8-sig" else f'<?xml version="1.0" encoding="{encoding}"?>'
    file = tmp_path / "robot.urdf"
    file.write_bytes((declared + xml).encode(encoding))
    assert load_urdf(file).joint_names == ("Gelenk_Größe",)


def test_an_encoding_that_is_wrong_or_unknown_gets_a_remedy(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_bytes('<?xml version="1.0"?><!-- Größe -->'.encode("latin-1"))
    with pytest.raises(VmsPhError, match=r"is not UTF-8 text: .* save it as UTF-8"):
        read_urdf(file)
    file.write_bytes(b'<?xml version="1.0" encoding="klingon"?>')
    with pytest.raises(VmsPhError, match="declares the encoding 'klingon', which is unknown"):
        read_urdf(file)


def test_a_planar_joint_moves_in_the_plane_of_its_axis_or_is_refused(tmp_path: Path) -> None:
    xml = robot(link("world", ""), link("a"), joint("slide", "world", "a", "planar"))
    assert load_urdf(_written(tmp_path, xml)).base == "planar"
    with pytest.raises(ModelError, match=r"'slide' moves in the plane .* axis 0 1 0; accepted is"):
        load_urdf(_written(tmp_path, xml.replace("0 0 1", "0 1 0")))


def test_a_continuous_joint_may_mimic_one_that_has_limits(tmp_path: Path) -> None:
    inner = joint("inner", "a", "c", "continuous").replace(
        "</joint>", '<mimic joint="knuckle" multiplier="-1"/></joint>'
    )
    xml = robot(link("a"), link("b"), link("c"), joint("knuckle", "a", "b"), inner)
    model = load_urdf(_written(tmp_path, xml))
    assert model.joint_names == ("knuckle",)
    assert model.evaluate(np.zeros(1), np.zeros(1)).M[0, 0] > 0.0
    both = xml.replace('type="revolute"', 'type="continuous"')
    wheels = load_urdf(_written(tmp_path, both))  # the angle of the leader counts its turns
    assert wheels.joint_names == ("knuckle",)
    assert wheels.nq == 1
    assert np.isinf([wheels.joints.lower, wheels.joints.upper]).all()
    np.testing.assert_allclose(wheels.evaluate([9.0], [0.0]).M, model.evaluate([0.0], [0.0]).M)


def test_a_joint_that_mimics_a_missing_one_moves_alone(tmp_path: Path) -> None:
    xml = robot(link("a"), link("b"), joint("j", "a", "b"))
    stray = xml.replace("</joint>", '<mimic joint="left_j" multiplier="2"/></joint>')
    with pytest.warns(UrdfWarning, match="'j' mimics 'left_j', which is missing: it moves alone"):
        model = load_urdf(_written(tmp_path, stray))
    whole = load_urdf(_written(tmp_path, xml))
    np.testing.assert_array_equal(model.evaluate([0.3], [0.0]).M, whole.evaluate([0.3], [0.0]).M)


def test_arguments_of_a_xacro_may_follow_its_path(tmp_path: Path) -> None:
    file = tmp_path / "my arm.xacro"
    file.write_text(
        '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="n" '
        'default="x"/>' + link("$(arg n)") + "</robot>"
    )
    assert '"left"' in read_urdf(f"{file} n:=left")
    settings = RobotSettings(f"{file} n:=left")
    assert settings.is_file
    assert '"left"' in settings.description()
    with pytest.raises(ModelError, match="has no argument 'm'"):
        read_urdf(f"{file} m:=left")


def test_an_sdf_is_answered_by_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"given: <sdf>; an SDF has to be converted"):
        load_urdf(_written(tmp_path, '<sdf version="1.9"><model name="a"/></sdf>'))
