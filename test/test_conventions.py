# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Every line of docs/conventions.md, asserted."""

import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_dynamics import CanonicalForm, Friction, Ports, StandardForm, VMSModel
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import robots
from vms_ph_nodes.messages.conversions import from_joint_state, from_wrench, to_wrench

PAGE = Path(__file__).parent.parent / "docs/conventions.md"

ARM = robots.load("panda")
FLOATING = VMSModel.from_urdf(robots.get("panda").description(), "floating", "panda_link8")
PLANAR = VMSModel.from_urdf(robots.get("panda").description(), "planar", "panda_link8")
RNG = np.random.default_rng(7)

# One body of 2 kg on a vertical slide, its centre of mass 3 m along z and 1 m along x.
SLIDE = VMSModel.from_urdf(
    """<robot name="slide"><link name="ground"/><link name="body"><inertial>
    <origin xyz="1 0 3"/><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="lift" type="prismatic"><parent link="ground"/><child link="body"/>
    <axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>"""
)


def floating_state() -> tuple[np.ndarray, np.ndarray]:
    return FLOATING.random_configuration(RNG), RNG.uniform(-1, 1, FLOATING.nv)


def f1_si_units() -> None:
    # 1/2 m v^2 = 1 J for 2 kg at 1 m/s.
    assert SLIDE.evaluate([0.0], [1.0]).kinetic_energy == pytest.approx(1.0)


def f2_z_is_up() -> None:
    assert ARM.gravity.tolist() == [0.0, 0.0, -9.81]
    lift = SLIDE.evaluate([1.0], [0.0]).potential_energy
    assert lift - SLIDE.evaluate([0.0], [0.0]).potential_energy == pytest.approx(2 * 9.81)


def f3_poses_map_child_to_parent_coordinates() -> None:
    pose = SLIDE.evaluate([0.5], [0.0]).placement("body")
    np.testing.assert_allclose(pose @ [0, 0, 0, 1], [0, 0, 0.5, 1])


def f4_potential_is_zero_at_the_origin() -> None:
    assert SLIDE.evaluate([-3.0], [0.0]).potential_energy == pytest.approx(0.0, abs=1e-12)
    assert SLIDE.evaluate([0.0], [0.0]).potential_energy == pytest.approx(2 * 9.81 * 3)


def v1_as_pinocchio() -> None:
    model = FLOATING.pinocchio
    assert tuple(model.names)[2:] == FLOATING.joint_names
    q, v = floating_state()
    mass = pin.crba(model, model.createData(), q)
    np.testing.assert_allclose(np.triu(FLOATING.evaluate(q, v).M), np.triu(mass), atol=1e-11)


def v2_floating_base() -> None:
    assert (FLOATING.nq, FLOATING.nv) == (7 + 7, 6 + 7)
    assert FLOATING.neutral_configuration()[:7].tolist() == [0, 0, 0, 0, 0, 0, 1]
    # A quarter turn about z by the angular part, entries 3 to 5.
    v = np.zeros(13)
    v[5] = np.pi / 2
    q = FLOATING.integrate(FLOATING.neutral_configuration(), v)
    np.testing.assert_allclose(q[3:7], [0, 0, np.sqrt(0.5), np.sqrt(0.5)])


def v3_planar_base() -> None:
    assert (PLANAR.nq, PLANAR.nv) == (4 + 7, 3 + 7)
    v = np.zeros(10)
    v[2] = np.pi / 2
    q = PLANAR.integrate(PLANAR.neutral_configuration(), v)
    np.testing.assert_allclose(q[:4], [0, 0, 0, 1], atol=1e-15)


def v4_base_twist_in_the_base_frame() -> None:
    # Turned a quarter about z, forward motion in the base frame is motion along y of the world.
    turned = np.zeros(13)
    turned[5] = np.pi / 2
    q = FLOATING.integrate(FLOATING.neutral_configuration(), turned)
    forward = np.zeros(13)
    forward[0] = 1.0
    np.testing.assert_allclose(FLOATING.integrate(q, forward)[:3], [0, 1, 0], atol=1e-15)
    # Its linear part is the velocity of the origin, whatever the base turns by.
    forward[3:6] = 1.0, -2.0, 3.0
    there = FLOATING.integrate(q, 1e-8 * forward)[:3]
    np.testing.assert_allclose(there / 1e-8, [0, 1, 0], atol=1e-6)


def v5_continuous_joints() -> None:
    limit = '<limit lower="-9" upper="9" effort="1" velocity="1"/>'
    xml = (
        '<robot name="wheel"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        f'<axis xyz="0 0 1"/>{limit}</joint></robot>'
    )
    wheel = VMSModel.from_urdf(xml)
    assert (wheel.nq, wheel.nv) == (2, 1)
    np.testing.assert_allclose(wheel.configuration({"j": 0.3}), [np.cos(0.3), np.sin(0.3)])


def v6_linear_first() -> None:
    q, v = floating_state()
    d = FLOATING.evaluate(q, v)
    # The first three rows of the locked inertia are those of the mass.
    np.testing.assert_allclose(d.M_b[:3, :3], FLOATING.total_mass * np.eye(3), atol=1e-12)


def m1_symmetric_in_full() -> None:
    d = FLOATING.evaluate(*floating_state())
    for matrix in (d.M, d.M_b, d.M_hat_m):
        np.testing.assert_array_equal(matrix, matrix.T)


def m2_levi_civita() -> None:
    q, v = floating_state()
    step = 1e-5
    ahead, behind = (FLOATING.evaluate(FLOATING.integrate(q, s * v), v).M for s in (step, -step))
    c = FLOATING.evaluate(q, v).C
    np.testing.assert_allclose((ahead - behind) / (2 * step), c + c.T, atol=2e-9)


def m3_jacobian_in_its_own_axes() -> None:
    # At rest but for a motion of the base along its x, the tool sees that motion in its own axes.
    q, _ = floating_state()
    v = np.zeros(13)
    v[0] = 1.0
    d = FLOATING.evaluate(q, v)
    base, tool = d.placement("panda_link0"), d.placement("panda_link8")
    np.testing.assert_allclose((d.J_end_effector @ v)[:3], tool[:3, :3].T @ base[:3, 0])
    in_world = d.jacobian(d.model.end_effector, "world") @ v
    np.testing.assert_allclose(in_world[:3], base[:3, 0])


def m4_connection() -> None:
    q, v = floating_state()
    d = FLOATING.evaluate(q, v)
    np.testing.assert_allclose(d.M_b @ d.A, d.M_bm, atol=1e-12)
    np.testing.assert_allclose(d.v_hat, v[:6] + d.A @ v[6:])


def m5_momenta() -> None:
    q, v = floating_state()
    d = FLOATING.evaluate(q, v)
    np.testing.assert_allclose(np.concatenate([d.p, d.pi]), d.M @ v, atol=1e-12)
    # Pinocchio has it about the centre of mass, in inertial axes.
    model = FLOATING.pinocchio
    data = model.createData()
    about_centre = pin.computeCentroidalMomentum(model, data, q, v).vector
    base = FLOATING.base_pose(q)
    lever = data.com[0] - base[:3, 3]
    moment = about_centre[3:] + np.cross(lever, about_centre[:3])
    expected = np.concatenate([base[:3, :3].T @ about_centre[:3], base[:3, :3].T @ moment])
    np.testing.assert_allclose(d.p, expected, atol=1e-12)


def supplied(ports: Ports) -> dict[str, float]:
    form = CanonicalForm(ARM)
    x = form.state(ARM.configuration(robots.get("panda").home), np.full(7, 0.1))
    return dict(form.power_balance(x, ports).supplied)


def p1_positive_power_flows_in() -> None:
    assert supplied(Ports(torque=np.ones(7)))["torque"] == pytest.approx(0.7)


def p2_tool_wrench_acts_at_its_origin() -> None:
    q, v = ARM.configuration(robots.get("panda").home), np.full(7, 0.1)
    twist = ARM.evaluate(q, v).J_end_effector @ v
    wrench = np.array([1.0, 2.0, 3.0, 0.4, 0.5, 0.6])
    power = supplied(Ports(wrench_end_effector=wrench))["wrench_end_effector"]
    assert power == pytest.approx(float(wrench @ twist))


def p3_base_wrench_acts_at_the_base_frame() -> None:
    # The generalised force of a base wrench is the wrench itself: no transport to any other point.
    q, v = floating_state()
    d = FLOATING.evaluate(q, v)
    wrench = np.arange(1.0, 7.0)
    base = d.jacobian("panda_link0")
    np.testing.assert_allclose((base.T @ wrench)[:6], wrench, atol=1e-12)


def p4_gravity_is_no_port() -> None:
    assert set(supplied(Ports())) == {"torque", "wrench_base", "wrench_end_effector"}
    form = CanonicalForm(SLIDE)
    balance = form.power_balance(form.state([0.0], [1.0]), Ports())
    # Rising freely: what the potential gains, the motion loses.
    assert balance.stored == pytest.approx(0.0, abs=1e-12)


def p5_dissipation_is_positive() -> None:
    form = CanonicalForm(ARM)
    x = form.state(np.zeros(7), np.full(7, 2.0))
    assert form.power_balance(
        x, Ports(friction=Friction.from_model(ARM))
    ).dissipated == pytest.approx(7 * 0.003 * 4)


def p6_wrench_before_torque() -> None:
    q, v = floating_state()
    form, wrench, torque = StandardForm(FLOATING), np.arange(1.0, 7.0), np.arange(7.0, 14.0)
    x = form.state(q, v)
    ports = Ports(torque=torque, wrench_base=wrench)
    change = form.rate(x, ports).zdot - form.rate(x, Ports()).zdot
    np.testing.assert_allclose(change, np.concatenate([wrench, torque]), atol=1e-9)
    np.testing.assert_allclose((form.input_map(x) @ change)[:6], wrench)


def r1_by_name() -> None:
    names = list(ARM.joint_names)
    message = JointState(name=names[::-1], position=[float(i) for i in range(7)])
    q, _, _ = from_joint_state(ARM, message)
    assert q.tolist() == [6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]


def r2_named_fields() -> None:
    message = to_wrench(Header(), np.arange(1.0, 7.0))
    assert (message.wrench.force.x, message.wrench.torque.x) == (1.0, 4.0)
    assert from_wrench(message.wrench).tolist() == [1, 2, 3, 4, 5, 6]


def r3_mean_at_a_jump() -> None:
    simulation = Simulation(CanonicalForm(ARM), np.zeros(7), 1e-3, None)
    simulation.advance(10, Ports(np.full(7, 4.0), None, np.arange(6.0)))
    sample = simulation.sample()
    np.testing.assert_array_equal(sample.torque, np.full(7, 2.0))
    np.testing.assert_array_equal(sample.wrench_end_effector, np.arange(6.0) / 2)


CHECKS = {
    name.split("_")[0].upper(): check
    for name, check in list(globals().items())
    if re.fullmatch(r"[fvmpr]\d_\w+", name)
}
LINES = re.findall(r"^- \*\*(\w\d+)\*\*", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", LINES)
def test_the_convention_holds(line: str) -> None:
    CHECKS[line]()


def test_every_line_of_the_page_has_a_check_and_every_check_a_line() -> None:
    assert sorted(LINES) == sorted(CHECKS)
