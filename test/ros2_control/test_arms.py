# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The parameter files of real arms fit their drivers, their robots and the plugins."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from vms_ph_controllers import CartesianImpedance
from vms_ph_dynamics import VMSModel
from vms_ph_io import Push, drivers, simulate
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_nodes.cli.app import make_app
from vms_ph_nodes.describe import describe
from vms_ph_nodes.scene_model import scene_model

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/drivers.md").read_text()
PLUGINS = {
    str(item.get("name"))
    for item in ET.parse(ROOT / "ros2_control/controller_plugins.xml").getroot().iter("class")
}
TRAJECTORIES = "joint_trajectory_controller/JointTrajectoryController"
SCHEMAS = {
    "vms_ph/CartesianImpedance": ("cartesian_impedance", "controller_shell"),
    "vms_ph/EnergyGuard": ("energy_guard", "energy_guard_settings", "controller_shell"),
    "vms_ph/PositionGuard": ("servo_guard", "controller_shell"),
}
KINDS = {
    "double": float, "int": int, "bool": bool, "string": str, "double_array": list,
    "string_array": list,
}  # fmt: skip
TAKE_TORQUES = [name for name in drivers.names() if drivers.get(name).interfaces]
TAKE_POSITIONS = [name for name in drivers.names() if name not in TAKE_TORQUES]


def controllers(name: str) -> dict[str, dict[str, Any]]:
    """Return the parameters in the file of a driver, by controller; the manager's are one."""
    content = yaml.safe_load((ROOT / f"config/arms/{name}.yaml").read_text())
    return {key.removeprefix("/**/"): item["ros__parameters"] for key, item in content.items()}


def arm(name: str, locked: list[str]) -> VMSModel:
    """Return the robot of a driver."""
    settings = RobotSettings(drivers.get(name).robot, locked_joints=" ".join(locked))
    return settings.model(settings.description())


def law_of(name: str) -> tuple[VMSModel, dict[str, Any]]:
    """Return the robot of a driver and the parameters of its impedance law."""
    parameters = controllers(name)["cartesian_impedance"]
    return arm(name, parameters.get("locked_joints", [])), parameters


def test_every_driver_has_a_file_and_lines_to_type() -> None:
    assert {p.stem for p in (ROOT / "config/arms").iterdir()} == set(drivers.names())
    for name in drivers.names():
        assert f"../config/arms/{name}.yaml" in PAGE
        robot = Path(drivers.get(name).robot).stem
        assert f"`{robot}`" in PAGE


@pytest.mark.parametrize("name", drivers.names())
def test_a_file_has_parameters_that_its_plugins_declare(name: str) -> None:
    blocks = controllers(name)
    manager = blocks.pop("controller_manager")
    assert manager["update_rate"] == drivers.get(name).rate
    for controller, parameters in blocks.items():
        plugin = parameters.pop("type")
        if plugin == TRAJECTORIES:
            continue
        assert plugin in PLUGINS
        entries: dict[str, Any] = {}
        for schema in SCHEMAS[plugin]:
            text = (ROOT / f"ros2_control/parameters/{schema}.yaml").read_text()
            entries |= next(iter(yaml.safe_load(text).values()))
        for key, value in parameters.items():
            label = f"{key} of {controller}"
            assert type(value) is KINDS[entries[key]["type"]], label
            low, high = entries[key].get("validation", {}).get("bounds<>", (-np.inf, np.inf))
            assert isinstance(value, bool | str | list) or low <= value <= high, label


@pytest.mark.parametrize("name", TAKE_TORQUES)
def test_a_law_claims_what_its_driver_executes_and_adds_no_weight_twice(name: str) -> None:
    driver, blocks = drivers.get(name), controllers(name)
    assert "effort" in driver.interfaces
    # An interface that torques need besides is commanded by a controller of its own.
    assert ("hold_position" in blocks) == ("position" in driver.interfaces)
    law, guard = blocks["cartesian_impedance"], blocks["energy_guard"]
    model, _ = law_of(name)
    for parameters in (law, guard):
        assert model.tree.pinocchio.existFrame(parameters["end_effector"])
        assert parameters["delay"] == driver.delay
        rate = parameters.get("torque_rate", 0.0)
        assert rate == pytest.approx(0.9 * driver.torque_rate)
    assert (law.get("gravity") == [0.0, 0.0, 0.0]) == driver.compensates_weight
    assert guard["effort_carries_weight"] != driver.compensates_weight
    assert guard["freeze"]
    assert model.n in (6, 7)
    assert ("null_stiffness" in law) == (model.n > 6)


@pytest.mark.parametrize("name", [*TAKE_TORQUES, "so101"])
def test_the_gains_of_a_law_damp_the_mass_at_its_end(name: str) -> None:
    model, law = law_of(name)
    d = model.evaluate(model.home, np.zeros(model.nv))
    mobility = d.J_end_effector @ np.linalg.solve(d.M, d.J_end_effector.T)
    critical = 2.0 * np.sqrt(law["stiffness"] * 3.0 / np.trace(mobility[:3, :3]))
    assert 0.4 < law["damping"] / critical < 1.1


@pytest.mark.parametrize("name", TAKE_TORQUES)
def test_an_arm_gives_way_to_a_push_and_comes_back_at_the_rate_of_its_driver(name: str) -> None:
    model, law = law_of(name)
    driver = drivers.get(name)
    names = {field for field in law if hasattr(CartesianImpedance.Gains(), field)}
    gains = CartesianImpedance.Gains(**{field: law[field] for field in names})
    assert driver.gains(gains) == gains
    impedance = CartesianImpedance(driver.model(model), gains)
    push = Push("wrench_end_effector", [0.0, 10.0, 0.0, 0.0, 0.0, 0.0], start=0.2, duration=0.2)
    # At 100 Hz and two samples late, the light wrist of an OpenArm reaches its limits.
    effects = ("friction", "joint_stops")
    run = simulate(
        model, impedance, seconds=4.0, driver=driver, disturbances=[push], effects=effects
    )
    positions = run.placement(law["end_effector"])[:, :3, 3]
    shift = np.linalg.norm(positions - positions[0], axis=1)
    assert 0.003 < shift.max() < 0.2  # most at the 100 Hz of an OpenArm
    assert shift[-1] < 2e-3


@pytest.mark.parametrize("name", TAKE_POSITIONS)
def test_servos_are_guarded_by_the_joints_that_the_driver_takes(name: str) -> None:
    driver, blocks = drivers.get(name), controllers(name)
    guard, trajectories = blocks["position_guard"], blocks["guarded_trajectory_controller"]
    model = arm(name, guard.get("locked_joints", []))
    assert trajectories["type"] == TRAJECTORIES
    assert trajectories["joints"] == list(model.joint_names)
    assert trajectories["command_joints"] == [f"position_guard/{j}" for j in model.joint_names]
    assert trajectories["command_interfaces"] == ["position"]
    assert len(guard["stiffness"]) in (1, model.n)
    assert guard["delay"] == driver.delay


def test_a_law_commands_hobby_servos_through_their_guard() -> None:
    blocks = controllers("so101")
    (model, law), guard = law_of("so101"), blocks["position_guard"]
    assert law["following_controller"] == "position_guard"
    assert law["servo_stiffness"] == guard["stiffness"]
    assert law["delay"] == guard["delay"]
    assert "gravity" not in law  # the position error of a servo holds the weight
    assert model.tree.pinocchio.existFrame(law["end_effector"])


@pytest.mark.parametrize("name", drivers.names())
def test_a_simulated_arm_is_at_home_and_weighs_what_its_driver_leaves(name: str) -> None:
    driver = drivers.get(name)
    model = arm(name, [])
    (tag,) = ET.fromstring(describe(driver.robot, name)).findall("ros2_control")
    homes = {
        j.get("name"): float(j.findtext("state_interface/param") or 0)
        for j in tag
        if j.tag == "joint"
    }
    assert list(homes) == list(model.joint_names)
    np.testing.assert_allclose(list(homes.values()), model.joint_positions(model.home), atol=1e-6)
    hardware = {item.get("name"): str(item.text) for item in tag.findall("hardware/param")}
    gravity = [float(x) for x in hardware["gravity"].split()]
    assert any(gravity) != driver.compensates_weight


@pytest.mark.parametrize("name", drivers.names())
def test_mujoco_has_a_motor_at_every_joint_and_the_weight_that_the_driver_leaves(name: str) -> None:
    driver = drivers.get(name)
    text = scene_model(driver.robot, driver=name)
    loaded = mujoco.MjModel.from_xml_string(text)
    joints = list(arm(name, []).joint_names)
    assert [loaded.actuator(i).name for i in range(loaded.nu)] == joints
    assert loaded.opt.gravity.any() != driver.compensates_weight
    tags = ET.fromstring(describe(driver.robot, str(ROOT / "urdf/mujoco_hardware.xacro")))
    assert [joint.get("name") for joint in tags.findall("ros2_control/joint")] == joints


@pytest.mark.parametrize("name", drivers.names())
def test_the_demo_of_an_arm_meets_its_goals(name: str) -> None:
    demo = Path(drivers.get(name).robot).stem.replace("panda", "arm")
    words = ["demo", demo, "--headless", "--seconds", "4"]
    done = CliRunner().invoke(make_app(), words)
    assert done.exit_code == 0, done.output
