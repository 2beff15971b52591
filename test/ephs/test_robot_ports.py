# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots from their URDF with tools, open bodies, springs, motors and a fluid around them."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from dynamics.conftest import state_of

from vms_ph_dynamics import ModelError, PHState, Ports, StandardForm, VMSModel
from vms_ph_ephs import Equations, PatternError, assemble, compose
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.library import gear, motor
from vms_ph_io import read_urdf, robots

STEP = 1e-5

ARM = """
<robot name="arm"><link name="base"/>
  <link name="upper"><inertial><mass value="2"/><origin xyz="0 0 -0.3"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><mass value="1"/><origin xyz="0 0 -0.2"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="tip"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><dynamics damping="0.1" stiffness="20" rest="0.1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 -0.6"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="3"/></joint>
  <joint name="flange" type="fixed"><parent link="lower"/><child link="tip"/>
    <origin xyz="0.1 0 -0.4" rpy="0.3 -0.2 0.5"/></joint>
  <transmission name="t"><type>x</type><joint name="elbow"/>
    <actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
</robot>"""


def acceleration(equations: Equations, model: VMSModel, x: np.ndarray, inputs: dict) -> np.ndarray:
    """The change of the velocity along the rates of the system."""
    rate = equations.rates(x, inputs).tangent
    ends = [
        mb.configuration_of(equations, model, equations.states.step(x, s * STEP * rate))[1]
        for s in (1.0, -1.0)
    ]
    return np.asarray((ends[0] - ends[1]) / (2.0 * STEP))


@pytest.mark.parametrize("port", ["panda_hand_tcp", "panda_link5"])
def test_a_wrench_at_a_tool_or_a_body_acts_as_the_jacobian_of_its_frame_says(
    port: str, rng: np.random.Generator
) -> None:
    robot = robots.get("panda")
    model = VMSModel.from_urdf(robot.description())
    frames = [f.name for f in model.pinocchio.frames if f.parentJoint]
    tool = next((f for f in frames if f.startswith("panda_hand")), frames[-1])
    name = tool if port == "panda_hand_tcp" else port
    opened = {"tools": [name]} if name == tool else {"open_bodies": [name]}
    equations = assemble(mb.from_urdf(robot.description(), **opened), check=False)
    q, v = state_of(model, rng)
    x = mb.state_of(equations, model, q, 0.0 * v)
    wrench = rng.normal(size=6)
    found = acceleration(equations, model, x, {name: wrench})
    found -= acceleration(equations, model, x, {})
    j = np.array(model.evaluate(q, v).jacobian(name))
    if name != tool:  # the port of a body is at its centre of mass
        joint = model.pinocchio.frames[model.pinocchio.getFrameId(name)].parentJoint
        lever = model.pinocchio.inertias[joint].lever
        j[:3] -= pin.skew(lever) @ j[3:]
    mass = model.evaluate(q, v).M
    expected = np.linalg.solve(mass, j.T @ wrench)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_a_robot_in_a_fluid_accelerates_as_its_model_does(rng: np.random.Generator) -> None:
    robot, model = robots.get("bluerov2_alpha5"), robots.load("bluerov2_alpha5")
    system = mb.from_urdf(robot.description(), robot.base, robot.gravity, fluid=model.fluid)
    equations = assemble(system)
    q, v = state_of(model, rng)
    form = StandardForm(model)
    start = form.state(q, v)
    rate = form.rate(start, Ports())
    ends = [
        form.velocity(PHState(model.integrate(q, s * STEP * v), start.z + s * STEP * rate.zdot))
        for s in (1.0, -1.0)
    ]
    expected = (ends[0] - ends[1]) / (2.0 * STEP)
    found = acceleration(equations, model, mb.state_of(equations, model, q, v), {})
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
    assert "base_link.pe" in equations.storages.unbounded_boxes()


def test_springs_of_the_description_and_of_the_caller_pull_their_joints() -> None:
    model = VMSModel.from_urdf(ARM)
    q, v = model.integrate(model.neutral_configuration(), np.array([0.4, -0.3])), np.zeros(2)
    torque = [-20.0 * (0.4 - 0.1), -7.0 * (-0.3 + 0.2)]
    plain = assemble(mb.from_urdf(ARM.replace('stiffness="20" rest="0.1"', "")), check=False)
    bent = assemble(mb.from_urdf(ARM, springs={"elbow": (7.0, -0.2)}), check=False)
    found = acceleration(bent, model, mb.state_of(bent, model, q, v), {})
    found -= acceleration(plain, model, mb.state_of(plain, model, q, v), {})
    expected = np.linalg.solve(model.evaluate(q, v).M, torque)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_a_motor_drives_its_joint_through_a_gear() -> None:
    model = VMSModel.from_urdf(ARM)
    q, v = (
        model.integrate(model.neutral_configuration(), np.array([0.4, -0.3])),
        np.array([0.2, 0.5]),
    )
    arm = mb.from_urdf(ARM)
    boxes = {
        "arm": arm,
        "gear": gear(50.0, shaft_out=arm.interface["elbow"].quantity),
        "motor": motor(0.05, 2.0, inertia=1e-4, coefficient=0.0, conductance=0.1),
    }
    wires = {port: (f"arm.{port}", port) for port in arm.interface}
    wires["elbow"] = ("arm.elbow", "gear.p_out", "elbow")
    wires |= {"shaft": ("gear.p_in", "motor.p"), "phi": ("motor.phi", "phi")}
    system = compose(boxes, wires, [*arm.interface, "phi"])
    plain, driven = assemble(mb.from_urdf(ARM), check=False), assemble(system, check=False)
    start = mb.state_of(driven, model, q, v)
    # The rotor turns with the joint.
    rotor = driven.states.value(start, "motor.rotor.p")[0]
    assert rotor == pytest.approx(1e-4 * 50.0 * 0.5, rel=1e-12)
    found = acceleration(driven, model, start, {"phi": np.array([12.0])})
    mass = model.evaluate(q, v).M + np.diag([0.0, 50.0**2 * 1e-4])
    current = (12.0 - 0.05 * 50.0 * 0.5) / 2.0
    bias = model.evaluate(q, v).M @ acceleration(plain, model, mb.state_of(plain, model, q, v), {})
    expected = np.linalg.solve(mass, bias + np.array([0.0, 50.0 * 0.05 * current]))
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tools": ["hand"]}, "the tool 'hand' is no frame of 'arm'; those that move are .*tip"),
        ({"tools": ["base"]}, "the tool 'base' does not move"),
        ({"tools": ["elbow"]}, "'elbow' is the name of a tool and of another port or box"),
        ({"open_bodies": ["base"]}, "a port is given for 'base', .* its moving links are upper"),
        ({"springs": {"knee": 1.0}}, "a spring is given for 'knee', .* its joints are shoulder"),
        ({"springs": {"elbow": [1, 2, 3]}}, "must be a stiffness, or a stiffness and a position"),
    ],
)
def test_what_the_robot_lacks_is_refused_with_what_it_has(given: dict, message: str) -> None:
    with pytest.raises((ModelError, PatternError), match=message):
        mb.from_urdf(ARM, **given)
    with pytest.raises(ModelError, match="stiffness of joint 'shoulder' must be a finite number"):
        mb.from_urdf(ARM.replace('stiffness="20"', 'stiffness="stiff"'))


def test_springs_of_an_mjcf_become_springs_of_joints(tmp_path: Path) -> None:
    file = tmp_path / "arm.xml"
    file.write_text("""<mujoco model="arm"><worldbody><body name="bob">
      <joint name="swing" axis="0 1 0" stiffness="3" springref="30" armature="0.1"/>
      <geom type="sphere" size="0.1" pos="0 0 -1" mass="2"/></body></worldbody></mujoco>""")
    equations = assemble(mb.from_urdf(read_urdf(file, {})), check=False)
    x = mb.consistent_state(equations, {"swing": 0.2})
    storages = equations.storages
    energy = storages.energies(x)["swing.pe"]
    assert energy == pytest.approx(1.5 * (0.2 - np.pi / 6.0) ** 2, rel=1e-12)
