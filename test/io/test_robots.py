# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bundled robots: their models, the origin of their numbers, and their arguments."""

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import ModelError, OptionError, VmsPhError
from vms_ph_dynamics.robot.inertia import TRIANGLE_TOLERANCE
from vms_ph_io import robots, share_directory
from vms_ph_io.descriptions.packages import package_directory
from vms_ph_io.descriptions.urdf import check_urdf
from vms_ph_io.wings import WINGS

SIZES = {
    "panda": ("fixed", 7),
    "fr3": ("fixed", 7),
    "omnidirectional_panda": ("planar", 7),
    "hextilt": ("floating", 5),
    "borinot": ("floating", 2),
    "satellite_panda": ("floating", 7),
    "bluerov2_alpha5": ("floating", 4),
    "prismatic_hopper": ("planar", 1),
    "revolute_hopper": ("planar", 1),
    "baxter": ("fixed", 14),
}


@pytest.fixture(params=robots.names())
def robot(request: pytest.FixtureRequest) -> robots.Robot:
    return robots.get(request.param)


def inertials(xml: str) -> dict[str, pin.Inertia]:
    """Return the inertias in a URDF, by link, in the axes of the link."""
    found = {}
    for link in ET.fromstring(xml).findall("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        origin, tensor = inertial.find("origin"), inertial.find("inertia")
        mass = float(inertial.find("mass").get("value"))
        entries = {k: float(tensor.get(k)) for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}
        matrix = np.array(
            [
                [entries["ixx"], entries["ixy"], entries["ixz"]],
                [entries["ixy"], entries["iyy"], entries["iyz"]],
                [entries["ixz"], entries["iyz"], entries["izz"]],
            ]
        )
        place = {} if origin is None else origin.attrib
        xyz, rpy = (
            np.array([float(x) for x in place.get(key, "0 0 0").split()]) for key in ("xyz", "rpy")
        )
        turn = pin.rpy.rpyToMatrix(rpy)
        found[link.get("name")] = pin.Inertia(mass, xyz, turn @ matrix @ turn.T)
    return found


def test_every_robot_has_a_name_a_title_and_a_source(robot: robots.Robot) -> None:
    legs = WINGS["hopping"].is_installed
    assert robots.names() == tuple(n for n in SIZES if legs or not n.endswith("_hopper"))
    assert robot.name in robots.names()
    assert len(robot.title) > 10
    assert len(robot.source) > 5
    assert robot.path().is_file()


def test_every_robot_loads_with_its_base_its_joints_and_its_end_effector(
    robot: robots.Robot,
) -> None:
    model = robots.load(robot.name)
    assert (model.base, model.n) == SIZES[robot.name]
    assert model.end_effector == robot.end_effector
    assert model.gravity.tolist() == list(robot.gravity)
    assert (model.fluid is not None) == bool(robot.fluid)
    assert (robot.allocation() is not None) == (not robot.ideal)
    home = model.configuration(robot.home)[model.nq_base :]
    assert (home >= model.joints.lower).all()
    assert (home <= model.joints.upper).all()


def test_the_description_of_every_robot_is_valid(robot: robots.Robot) -> None:
    findings = check_urdf(robot.description())
    assert findings.errors == ()
    assert findings.warnings == ()


def test_every_link_of_every_robot_has_the_inertia_of_a_rigid_body(robot: robots.Robot) -> None:
    bodies = inertials(robot.description())
    assert bodies
    for name, body in bodies.items():
        a, b, c = np.sort(np.linalg.eigvalsh(body.inertia))
        assert body.mass >= 0, name
        assert a >= -TRIANGLE_TOLERANCE * c, name
        assert a + b >= (1 - TRIANGLE_TOLERANCE) * c, name


def test_the_model_has_the_masses_of_the_description(robot: robots.Robot) -> None:
    model = robots.load(robot.name)
    bodies = inertials(robot.description())
    moving = {
        link
        for link in model.link_names
        if model.base != "fixed" or np.any(model.pinocchio.frames[model.frame_id(link)].parentJoint)
    }
    assert model.total_mass == pytest.approx(
        sum(body.mass for name, body in bodies.items() if name in moving), rel=1e-12
    )


def test_the_bus_of_the_satellite_is_that_of_ets_vii() -> None:
    body = inertials(robots.get("satellite_panda").description())["base_link"]
    assert body.mass == 2550
    np.testing.assert_array_equal(body.inertia, np.diag([6200.0, 3541.0, 7090.0]))
    np.testing.assert_array_equal(body.lever, np.zeros(3))


def test_the_cart_is_the_chassis_of_the_ridgeback() -> None:
    body = inertials(robots.get("omnidirectional_panda").description())["base_link"]
    assert body.mass == 165.304
    np.testing.assert_array_equal(body.lever, [0.012, 0.002, 0.067])
    # Published in axes rotated by (pi/2, 0, pi/2): x, y, z there are y, z, x here.
    np.testing.assert_allclose(np.diag(body.inertia), [4.6155, 4.4744, 7.1624], atol=1e-12)


def test_the_underwater_vehicle_is_as_published() -> None:
    bodies = inertials(robots.get("bluerov2_alpha5").description())
    hull = bodies["base_link"]
    assert hull.mass == 13.5
    np.testing.assert_array_equal(hull.inertia, np.diag([0.26, 0.23, 0.37]))
    masses = {name: body.mass for name, body in bodies.items() if name.startswith("alpha")}
    assert masses == {
        "alpha_base": 0.341,
        "alpha_shoulder": 0.194,
        "alpha_upper_arm": 0.429,
        "alpha_elbow": 0.115,
        "alpha_forearm": 0.333,
    }


@pytest.mark.parametrize("name", ["omnidirectional_panda", "satellite_panda"])
def test_the_arm_on_a_vehicle_is_the_panda_itself(name: str) -> None:
    arm = inertials(robots.get("panda").description())
    carried = inertials(robots.get(name).description())
    assert arm.keys() == carried.keys() - {"base_link"}
    for link, body in arm.items():
        assert carried[link].isApprox(body, 1e-12), link


def test_the_two_arms_of_baxter_share_one_torso() -> None:
    model = robots.load("baxter")
    left, right = model.joint_names[:7], model.joint_names[7:]
    assert all(name.startswith("left_") for name in left)
    assert [name.replace("left", "right") for name in left] == list(right)
    rng = np.random.default_rng(3)
    d = model.evaluate(model.random_configuration(rng), rng.uniform(-1, 1, 14))
    # On a fixed torso the arms are not coupled.
    np.testing.assert_array_equal(d.M[:7, 7:], 0.0)
    np.testing.assert_array_equal(d.C[:7, 7:], 0.0)
    np.testing.assert_array_equal(d.jacobian("left_gripper")[:, 7:], 0.0)
    np.testing.assert_array_equal(d.J_end_effector[:, :7], 0.0)


def test_on_a_floating_torso_the_arms_of_baxter_are_coupled() -> None:
    robot = robots.get("baxter")
    model = robot.model(robot.description(), "floating")
    rng = np.random.default_rng(3)
    d = model.evaluate(model.random_configuration(rng), rng.uniform(-1, 1, 20))
    assert np.abs(d.M_m[:7, 7:]).max() == 0.0
    assert np.abs(d.M_hat_m[:7, 7:]).max() > 1e-3


def test_arguments_change_the_robot() -> None:
    standard, light = robots.load("satellite_panda"), robots.load("satellite_panda", bus_mass="400")
    assert standard.total_mass - light.total_mass == pytest.approx(2550 - 400)
    turned = robots.load("satellite_panda", bus_izz="900", bus_ixx="800", bus_iyy="700")
    rest = standard.neutral_configuration(), np.zeros(standard.nv)
    change = standard.evaluate(*rest).M - turned.evaluate(*rest).M
    expected = np.zeros((13, 13))
    expected[3:6, 3:6] = np.diag([6200 - 800, 3541 - 700, 7090 - 900])
    np.testing.assert_allclose(change, expected, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (
            "satellite_panda",
            {"busmass": "400"},
            "has no argument 'busmass'; its arguments are arm, bus_ixx, bus_iyy, bus_izz, bus_m",
        ),
        ("panda", {"bus_mass": "400"}, "panda.urdf has no argument 'bus_mass'; it has none"),
        ("satellite_panda", {"bus_mass": "-4"}, "mass of 'base_link' must not be negative"),
        ("satellite_panda", {"bus_mass": "heavy"}, "with these arguments: .*'heavy'"),
        ("satellite_panda", {"bus_izz": "1e5"}, "inertia of 'base_link' belongs to no rigid body"),
        ("satellite_panda", {"arm": "/nowhere.urdf"}, "No such file.*nowhere.urdf"),
    ],
)
def test_an_invalid_argument_is_rejected_in_one_sentence(
    name: str, arguments: dict[str, str], said: str
) -> None:
    with pytest.raises(ModelError, match=said) as refusal:
        robots.load(name, **arguments)
    assert "\n" not in str(refusal.value)


def test_arguments_of_other_functions_are_answered_by_what_to_use() -> None:
    with pytest.raises(OptionError, match=r"'tools' is .*; use load\(name\).with_tools\("):
        robots.load("panda", tools=["panda_link8"])  # type: ignore[arg-type]
    flying = robots.load("panda", base="floating", end_effector="panda_link7")
    assert (flying.base, flying.n, flying.end_effector) == ("floating", 7, "panda_link7")
    lighter = robots.load("satellite_panda", bus_mass=400)  # type: ignore[arg-type]
    assert lighter.total_mass < robots.load("satellite_panda").total_mass


def test_an_unknown_robot_is_reported_with_the_known_ones() -> None:
    known = r" \(.*\), ".join(robots.names())
    with pytest.raises(VmsPhError, match=f"no robot 'atlas'; bundled are {known}"):
        robots.get("atlas")


def test_meshes_of_every_robot_have_file_addresses(robot: robots.Robot) -> None:
    addresses = re.findall(r'filename="([^"]*)"', robot.description())
    assert all(address.startswith("file://") for address in addresses)


@pytest.fixture
def without_robot_data(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "cmeel.prefix/share/example-robot-data"
    paths = [path for path in sys.path if not (Path(path) / data).exists()]
    # The lazy imports of a first load take place while all of them are found.
    robots.load("omnidirectional_panda")
    monkeypatch.setattr(sys, "path", paths)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)


@pytest.mark.usefixtures("without_robot_data")
def test_every_robot_loads_without_example_robot_data(robot: robots.Robot) -> None:
    assert package_directory("example-robot-data") is None
    assert share_directory() in robot.path().parents
    description = robot.description()
    assert "mesh" not in description.lower().replace("meshes", "")
    assert check_urdf(description).errors == ()
    assert (robot.load().base, robot.load().n) == SIZES[robot.name]


@pytest.mark.skipif(
    package_directory("example-robot-data") is None, reason="example-robot-data is not installed"
)
def test_a_simplified_description_has_the_numbers_of_the_one_with_meshes(
    robot: robots.Robot, request: pytest.FixtureRequest
) -> None:
    with_meshes = robot.load().pinocchio
    shapes = [link.get("name") for link in ET.fromstring(robot.description()).iterfind("link")]
    request.getfixturevalue("without_robot_data")
    simplified = robot.load().pinocchio
    assert shapes == [
        link.get("name") for link in ET.fromstring(robot.description()).iterfind("link")
    ]
    # All placements, inertias, limits and names.
    assert simplified == with_meshes
    for ours, theirs in zip(simplified.inertias, with_meshes.inertias, strict=True):
        np.testing.assert_array_equal(ours.toDynamicParameters(), theirs.toDynamicParameters())
