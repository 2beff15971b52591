# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Motion and energies of the simulation by MuJoCo, against those of the forms and of mechanics."""

import sys

import numpy as np
import pytest

from vms_ph_dynamics import MissingExtraError, ModelError, Ports, StandardForm, VMSModel
from vms_ph_dynamics.integrators.stepper import Efforts
from vms_ph_dynamics.simulation import Simulation, in_world_axes
from vms_ph_dynamics.simulation.contact import Body, MujocoEngine, Scene, Shape
from vms_ph_io import robots
from vms_ph_io.robots.robot_settings import RobotSettings

from ...conftest import random_tree

DROP = """
<robot name="drop">
  <link name="world"/>
  <link name="ball"><inertial><mass value="2"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="height" type="prismatic"><parent link="world"/><child link="ball"/>
    <axis xyz="0 0 1"/><limit lower="-0.2" upper="1" effort="100" velocity="9"/>
    <dynamics damping="{damping}" friction="{friction}"/></joint>
</robot>
"""
GROUND = Scene(
    "ground",
    bodies=(Body("ground", (Shape("plane"),)),),
    tool=(Shape("sphere", (0.05,)),),
)


def drop(damping: float = 0.0, friction: float = 0.0) -> VMSModel:
    return VMSModel.from_urdf(DROP.format(damping=damping, friction=friction), base="fixed")


def at_home(name: str) -> tuple[VMSModel, np.ndarray]:
    settings = RobotSettings(name)
    description = settings.description()
    model = settings.model(description)
    return model, settings.initial_configuration(model)


def efforts(model: VMSModel) -> Ports:
    rng = np.random.default_rng(0)
    return Ports(
        0.02 * rng.normal(size=model.n),
        rng.normal(size=model.b),
        0.1 * rng.normal(size=6),
        wrench_tools={name: 0.1 * rng.normal(size=6) for name in model.tools},
    )


def in_mujoco(
    model: VMSModel, q: np.ndarray, dt: float = 1e-3, scene: Scene | None = None, **effects: bool
) -> Simulation:
    return Simulation(StandardForm(model), q, dt, engine=MujocoEngine(scene), **effects)


def run(simulation: Simulation, seconds: float, acting: Efforts) -> Simulation:
    simulation.apply(acting)
    simulation.advance(round(seconds / simulation.dt), acting)
    assert simulation.is_finite()
    return simulation


@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda", "borinot", "satellite_panda"])
def test_free_motion_differs_by_the_first_order_error_of_mujocos_steps(name: str) -> None:
    model, q = at_home(name)
    acting, apart, missing = efforts(model), [], []
    for dt in (2e-3, 1e-3):
        ours = run(Simulation(StandardForm(model), q, dt, None), 0.2, acting).sample()
        theirs = in_mujoco(model, q, dt)
        found = run(theirs, 0.2, acting).sample()
        apart.append(np.abs(model.difference(ours.q, found.q)).max())
        missing.append(theirs.unaccounted_energy())
        for port, energy in ours.port_energy.items():
            assert found.port_energy[port] == pytest.approx(energy, rel=0.03, abs=2e-4)
    moved = np.abs(model.difference(q, ours.q)).max()
    assert moved > 0.1
    assert apart[1] < 0.01 * moved
    assert apart[0] / apart[1] == pytest.approx(2.0, abs=0.1)
    # What MuJoCo's steps create or lose is not hidden in a port, and falls with the step.
    assert missing[0] / missing[1] == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_fall_as_in_the_forms(seed: int) -> None:
    model = random_tree(seed)
    q, apart = model.random_configuration(np.random.default_rng(seed)), []
    for dt in (1e-3, 5e-4):
        ours = run(Simulation(StandardForm(model), q, dt, None), 0.05, Ports()).sample()
        theirs = in_mujoco(model, q, dt)
        found = run(theirs, 0.05, Ports()).sample()
        apart.append(np.abs(model.difference(ours.q, found.q)).max())
    assert apart[1] < 0.6 * apart[0] + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_motion_that_is_set_is_the_one_that_is_read(
    seed: int, rng: np.random.Generator
) -> None:
    model = random_tree(seed)
    engine = MujocoEngine()
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    engine.assemble(StandardForm(model), q, 1e-3, None, False)
    engine.start(q, v, 0.0)
    found_q, found_v = engine.motion()
    np.testing.assert_allclose(model.difference(q, found_q), 0.0, atol=1e-12)
    np.testing.assert_allclose(found_v, v, atol=1e-14)


def test_a_wrench_at_a_second_tool_has_its_own_port() -> None:
    model, q = at_home("baxter")
    model = model.with_tools(("left_gripper",))
    push = Ports(wrench_tools={"left_gripper": np.array([0.0, 3.0, 0.0, 0.0, 0.0, 0.0])})
    acting = in_world_axes(model, push, ["left_gripper"])
    ours = run(Simulation(StandardForm(model), q, 1e-3, None), 0.2, acting).sample()
    theirs = run(in_mujoco(model, q, 1e-3), 0.2, acting).sample()
    expected = ours.port_energy["left_gripper"]
    assert abs(expected) > 0.01
    assert theirs.port_energy["left_gripper"] == pytest.approx(expected, rel=0.02)


def test_an_impact_takes_the_energy_of_the_fall_through_the_port_of_contact() -> None:
    model = drop()
    fall = run(in_mujoco(model, np.array([0.55]), scene=GROUND, joint_stops=True), 2.0, Ports())
    fallen = 2.0 * 9.81 * (0.55 - fall.sample().q[0])
    assert fall.sample().q[0] == pytest.approx(0.05, abs=2e-3)
    assert np.abs(fall.sample().v).max() < 1e-6
    assert fall.sample().port_energy["contact"] == pytest.approx(-fallen, rel=0.01)
    assert abs(fall.unaccounted_energy()) < 0.01 * fallen
    assert fall.sample().port_energy["joint_stops"] == 0.0
    assert fall.sample().dissipated == 0.0


def test_the_wrench_of_contact_carries_the_weight_at_rest() -> None:
    model = drop()
    fall = run(in_mujoco(model, np.array([0.06]), scene=GROUND, joint_stops=True), 1.0, Ports())
    assert [contact.body for contact in fall.engine.contacts()] == ["ground"]
    assert fall.engine.contact_wrench() == pytest.approx(
        [0.0, 0.0, 2.0 * 9.81, 0.0, 0.0, 0.0], abs=1e-3
    )


def test_a_stop_of_a_joint_takes_the_energy_of_the_fall_through_its_own_port() -> None:
    fall = run(in_mujoco(drop(), np.array([0.3]), joint_stops=True), 2.0, Ports())
    fallen = 2.0 * 9.81 * (0.3 - fall.sample().q[0])
    assert fall.sample().q[0] == pytest.approx(-0.2, abs=2e-3)
    assert fall.sample().port_energy["joint_stops"] == pytest.approx(-fallen, rel=0.01)


def test_viscous_friction_is_that_of_the_forms_and_dry_friction_holds() -> None:
    model = drop(damping=8.0)
    ours = run(Simulation(StandardForm(model), np.zeros(1), 1e-3, None, True), 0.2, Ports())
    theirs = run(in_mujoco(model, np.zeros(1), friction=True, joint_stops=True), 0.2, Ports())
    assert theirs.sample().dissipated == pytest.approx(ours.sample().dissipated, rel=0.02)
    held = run(
        in_mujoco(drop(0.0, 25.0), np.zeros(1), friction=True, joint_stops=True), 0.5, Ports()
    )
    assert abs(held.sample().q[0]) < 1e-3
    # A pull above the friction of 25 N: what it supplies besides is dissipated.
    pull = Ports(np.array([-10.0]))
    slides = run(
        in_mujoco(drop(0.0, 25.0), np.zeros(1), friction=True, joint_stops=True), 0.1, pull
    )
    way = -slides.sample().q[0]
    assert slides.sample().dissipated == pytest.approx(25.0 * way, rel=0.03)


def test_joints_that_mimic_others_follow_them() -> None:
    text = DROP.format(damping=0.0, friction=0.0).replace(
        "</robot>",
        """<link name="finger"><inertial><mass value="0.5"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="follower" type="prismatic"><parent link="ball"/><child link="finger"/>
        <axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="1" velocity="1"/>
        <mimic joint="height" multiplier="0.5" offset="0.1"/></joint></robot>""",
    )
    model = VMSModel.from_urdf(text, base="fixed", end_effector="ball")
    ours = run(Simulation(StandardForm(model), np.zeros(1), 1e-3, None), 0.1, Ports()).sample()
    theirs = in_mujoco(model, np.zeros(1))
    found = run(theirs, 0.1, Ports()).sample()
    assert found.q == pytest.approx(ours.q, rel=0.03)


def test_a_free_body_falls_to_rest_and_a_reset_returns_it() -> None:
    box = Body("box", (Shape("box", (0.1, 0.1, 0.1)),), pose=_at(0.5, 0.0, 0.3), mass=1.0)
    scene = Scene("box", bodies=(*GROUND.bodies, box))
    fall = in_mujoco(drop(), np.array([0.9]), scene=scene, joint_stops=True)
    run(fall, 1.0, Ports())
    assert fall.engine.pose_of("box")[:3, 3] == pytest.approx([0.5, 0.0, 0.05], abs=1e-3)
    # It touches the ground, not the robot, whose books it is no part of.
    assert fall.engine.contacts() == []
    assert fall.sample().port_energy["contact"] == 0.0
    fall.reset()
    assert fall.engine.pose_of("box")[:3, 3] == pytest.approx([0.5, 0.0, 0.3])
    assert fall.engine.pose_of("ground") == pytest.approx(np.eye(4))


def test_a_stop_yields_like_a_critically_damped_spring() -> None:
    resting = in_mujoco(drop(), np.array([-0.2]), joint_stops=True)
    run(resting, 0.5, Ports())
    # MuJoCo documents the acceleration k r d against (1 - d) of gravity, at d = 0.9 to 0.95.
    depth, stiffness = -0.2 - resting.sample().q[0], 1.0 / (0.95 * 0.02) ** 2
    assert 9.81 * 0.05 / 0.95 < stiffness * depth < 9.81 * 0.1 / 0.9


def test_the_shapes_of_a_free_body_share_its_mass() -> None:
    shapes = Shape("box", (0.1, 0.1, 0.1)), Shape("sphere", (0.05,))
    body = Body("dumbbell", shapes, pose=_at(0.5, 0.0, 0.3), mass=3.0)
    robot = in_mujoco(drop(), np.zeros(1), scene=Scene("one", bodies=(body,))).engine._robot
    assert robot.model.body("scene/dumbbell").mass == pytest.approx(3.0)


def test_a_motion_that_diverges_ends_with_its_reason() -> None:
    wild = in_mujoco(drop(), np.zeros(1))
    acting = Ports(np.array([1e30]))
    wild.apply(acting)
    wild.advance(100, acting)
    assert not wild.is_finite()
    assert "does not stay finite" in wild.failure
    wild.reset()
    assert wild.is_finite()


def test_a_robot_in_a_fluid_is_refused_by_name() -> None:
    model = robots.load("bluerov2_alpha5")
    with pytest.raises(ModelError, match="does not simulate the fluid around 'bluerov2_alpha5'"):
        in_mujoco(model, model.neutral_configuration(), joint_stops=True)


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"engine mujoco requires the package mujoco: pip"):
        in_mujoco(drop(), np.zeros(1), joint_stops=True)


def _at(x: float, y: float, z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose
