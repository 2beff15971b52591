# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joints that mimic others: the projected model against the constrained full one, two ways."""

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import DecoupledForm, Friction, ModelError, Ports, StandardForm, VMSModel
from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_io import read_urdf, robots

from ..conftest import state_of
from ..forms.test_forms import FORMS, acceleration, random_ports

BASES = ("fixed", "planar", "floating")

# follower: (leader it moves with in the end, multiplier, offset); 'c' mimics 'b', which mimics 'a'.
FOLLOWERS = {
    "b": ("a", -2.0, 0.3),
    "c": ("a", 0.5 * -2.0, 0.5 * 0.3 - 0.1),
    "e": ("d", 1.5, 0.02),
}


def link(name: str, k: int) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="0.0{k} -0.1 0.{k}" rpy="0.{k} 0.2 0"/>'
        f'<mass value="1.{k}"/><inertia ixx="0.1{k}" iyy="0.12" izz="0.15" ixy="0.01" ixz="0" '
        'iyz="-0.02"/></inertial></link>'
    )


def joint(name: str, parent: str, kind: str, axis: str, extra: str = "") -> str:
    limit = "" if kind == "continuous" else '<limit lower="-1" upper="1" effort="9" velocity="2"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="link_{name}"/>'
        f'<origin xyz="0.2 0.1 0.3" rpy="0.3 -0.2 0.1"/><axis xyz="{axis}"/>{limit}{extra}</joint>'
    )


def geared(*, kind: str = "revolute", of: str = "a") -> str:
    """Two branches: a, then b and c geared to it; a slide d, then a second stage e geared to it."""
    names = ("root", *(f"link_{x}" for x in "abcde"))
    return (
        '<robot name="geared">'
        + "".join(link(name, k + 1) for k, name in enumerate(names))
        + joint("a", "root", kind, "0 0 1", '<dynamics damping="0.1" friction="0.2"/>')
        + joint(
            "b",
            "link_a",
            "revolute",
            "0 1 0",
            f'<mimic joint="{of}" multiplier="-2" offset="0.3"/>'
            '<dynamics damping="0.01" friction="0.02"/>',
        )
        + joint(
            "c", "link_b", "revolute", "1 0 0", '<mimic joint="b" multiplier="0.5" offset="-0.1"/>'
        )
        + joint("d", "root", "prismatic", "0 0.6 0.8")
        + joint(
            "e",
            "link_d",
            "prismatic",
            "0.6 0 0.8",
            '<mimic joint="d" multiplier="1.5" offset="0.02"/>',
        )
        + "</robot>"
    )


def without_mimics(xml: str) -> str:
    root = ET.fromstring(xml)
    for element in root.findall("joint"):
        for tag in element.findall("mimic"):
            element.remove(tag)
    return ET.tostring(root, encoding="unicode")


class Constrained:
    """The full model of a robot with the relations between its joints beside it."""

    def __init__(self, xml: str, base: str, followers: dict[str, tuple[str, float, float]]) -> None:
        self.robot = VMSModel.from_urdf(xml, base)  # type: ignore[arg-type]
        self.full = VMSModel.from_urdf(without_mimics(xml), base)  # type: ignore[arg-type]
        b, names = self.full.b, self.full.joint_names
        self.independent = [*range(b), *(b + i for i, x in enumerate(names) if x not in followers)]
        self.K = np.zeros((len(followers), self.full.nv))
        self.P = np.eye(self.full.nv)[:, self.independent]
        self.offsets = np.zeros(self.full.nv)
        for row, (name, (leader, multiplier, offset)) in enumerate(followers.items()):
            i, j = b + names.index(name), b + names.index(leader)
            self.K[row, [i, j]] = 1.0, -multiplier
            self.P[i] = multiplier * self.P[j]
            self.offsets[i] = offset

    def fill_in(self, q: np.ndarray) -> np.ndarray:
        """The full configuration; base and independent joints as in ``q``."""
        size = self.full.nq_base
        joints = np.zeros(self.full.nv)
        joints[self.independent] = [*np.zeros(self.full.b), *q[size:]]
        followers = self.P @ joints[self.independent] + self.offsets
        return np.concatenate([q[:size], followers[self.full.b :]])

    def equations(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix and bias with gravity of the full model, by Pinocchio alone."""
        model, full_q, full_v = self.full.pinocchio, self.fill_in(q), self.P @ v
        upper = np.triu(pin.crba(model, model.createData(), full_q))
        mass = upper + np.triu(upper, 1).T
        return mass, pin.nonLinearEffects(model, model.createData(), full_q, full_v)

    def by_projection(self, q: np.ndarray, v: np.ndarray, force: np.ndarray) -> np.ndarray:
        mass, bias = self.equations(q, v)
        return np.linalg.solve(self.P.T @ mass @ self.P, self.P.T @ (force - bias))

    def by_multipliers(self, q: np.ndarray, v: np.ndarray, force: np.ndarray) -> np.ndarray:
        mass, bias = self.equations(q, v)
        k, zero = self.K, np.zeros((len(self.K), len(self.K)))
        whole = np.block([[mass, k.T], [k, zero]])
        given = np.concatenate([force - bias, np.zeros(len(k))])
        return np.linalg.solve(whole, given)[self.independent]

    def full_force(self, q: np.ndarray, ports: Ports) -> np.ndarray:
        """What the ports do to the full model: torques act at the joints that lead."""
        force = np.zeros(self.full.nv)
        force[self.independent] = np.concatenate([ports.wrench_base, ports.torque])
        zero = np.zeros(self.full.nv)
        tool = self.full.evaluate(self.fill_in(q), zero).jacobian(self.robot.end_effector)
        return force + tool.T @ ports.wrench_end_effector


PANDA = read_urdf(robots.get("panda").path())
FINGERS = {"panda_finger_joint2": ("panda_finger_joint1", 1.0, 0.0)}


@pytest.fixture(params=BASES)
def geared_on(request: pytest.FixtureRequest) -> Constrained:
    return Constrained(geared(), request.param, FOLLOWERS)


@pytest.fixture(params=BASES)
def panda_with_fingers(request: pytest.FixtureRequest) -> Constrained:
    return Constrained(PANDA, request.param, FINGERS)


@pytest.fixture(params=[(xml, base) for xml in ("geared", "panda") for base in BASES], ids="-".join)
def system(request: pytest.FixtureRequest) -> Constrained:
    which, base = request.param
    return Constrained(
        *((geared(), base, FOLLOWERS) if which == "geared" else (PANDA, base, FINGERS))
    )


def test_both_forms_accelerate_as_the_constrained_full_model(
    system: Constrained, rng: np.random.Generator
) -> None:
    robot = system.robot
    for _ in range(20):
        q, v = state_of(robot, rng)
        ports = random_ports(robot, rng)
        force = system.full_force(q, ports)
        projected = system.by_projection(q, v, force)
        multiplied = system.by_multipliers(q, v, force)
        # Conditioning of the mass matrix, up to 1e5 here, times rounding.
        tolerance = 1e-9 * np.abs(projected).max()
        np.testing.assert_allclose(multiplied, projected, rtol=0, atol=tolerance)
        for kind in FORMS:
            form = kind(robot)
            found = acceleration(form, form.state(q, v), ports)
            np.testing.assert_allclose(found, projected, rtol=0, atol=tolerance)


def test_the_mass_matrix_is_that_of_the_full_model_along_the_free_motions(
    geared_on: Constrained, rng: np.random.Generator
) -> None:
    robot, p = geared_on.robot, geared_on.P
    q, v = state_of(robot, rng)
    mass, bias = geared_on.equations(q, v)
    d = robot.evaluate(q, v)
    np.testing.assert_allclose(d.M, p.T @ mass @ p, atol=1e-12)
    np.testing.assert_allclose(d.C @ v + d.g, p.T @ bias, atol=1e-12)
    full = geared_on.full.evaluate(geared_on.fill_in(q), p @ v)
    assert d.kinetic_energy == pytest.approx(full.kinetic_energy, rel=1e-13)
    assert d.potential_energy == pytest.approx(full.potential_energy, rel=1e-13)
    for name in ("link_c", "link_e"):
        np.testing.assert_allclose(d.placement(name), full.placement(name), atol=1e-14)
        np.testing.assert_allclose(d.jacobian(name), full.jacobian(name) @ p, atol=1e-14)


def test_the_projected_mass_changes_at_the_rate_of_the_coriolis_matrix(
    system: Constrained, rng: np.random.Generator
) -> None:
    robot = system.robot
    step = 1e-5
    q, v = state_of(robot, rng)
    ahead, behind = (robot.evaluate(robot.integrate(q, s * v), v).M for s in (step, -step))
    c = robot.evaluate(q, v).C
    # Central differences: O(step^2) truncation and 1e-16/step rounding, both near 1e-10.
    np.testing.assert_allclose((ahead - behind) / (2 * step), c + c.T, atol=2e-9)


def test_the_power_balance_closes_with_geared_joints(
    geared_on: Constrained, rng: np.random.Generator
) -> None:
    robot = geared_on.robot
    q, v = state_of(robot, rng)
    for kind in (StandardForm, DecoupledForm):
        form = kind(robot)
        balance = form.power_balance(form.state(q, v), random_ports(robot, rng))
        scale = sum(map(abs, balance.supplied.values()))
        assert abs(balance.residual) < 1e-10 * scale


def test_followers_stay_where_their_leaders_put_them(
    geared_on: Constrained, rng: np.random.Generator
) -> None:
    robot = geared_on.robot
    q, dv = state_of(robot, rng)
    assert robot.joint_names == ("a", "d")
    np.testing.assert_allclose(robot.tree.full_configuration(q), geared_on.fill_in(q), atol=1e-15)
    moved = robot.integrate(q, dv)
    np.testing.assert_allclose(robot.difference(q, moved), dv, atol=1e-12)
    full = geared_on.full
    by_full = full.integrate(geared_on.fill_in(q), geared_on.P @ dv)
    np.testing.assert_allclose(robot.tree.full_configuration(moved), by_full, atol=1e-14)


def test_the_friction_of_followers_is_felt_at_their_leader(rng: np.random.Generator) -> None:
    system = Constrained(geared(), "fixed", FOLLOWERS)
    ours, full = Friction.from_model(system.robot), Friction.from_model(system.full)
    for _ in range(10):
        # Beyond twenty slip speeds Coulomb friction is full to rounding.
        v = rng.uniform(0.2, 1, 2) * rng.choice([-1, 1], 2)
        rates = system.P @ v
        expected = -rates @ (full.viscous * rates) - np.abs(rates) @ full.coulomb
        assert v @ ours.force(v) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(ours.viscous, [0.1 + 4 * 0.01, 0.0])
    np.testing.assert_allclose(ours.coulomb, [0.2 + 2 * 0.02, 0.0])
    fingers = VMSModel.from_urdf(PANDA)
    assert fingers.joints.damping[7] == 2 * 0.3


def test_a_leader_goes_no_further_and_no_faster_than_its_followers_can() -> None:
    joints = VMSModel.from_urdf(geared()).joints
    assert joints.names == ("a", "d")
    np.testing.assert_allclose(joints.lower, [-0.35, -1.02 / 1.5])
    np.testing.assert_allclose(joints.upper, [0.65, 0.98 / 1.5])
    np.testing.assert_allclose(joints.velocity, [1.0, 2.0 / 1.5])


def test_limits_that_leader_and_follower_cannot_meet_together_are_refused_by_name() -> None:
    xml = geared().replace('multiplier="-2" offset="0.3"', 'multiplier="-2" offset="9"')
    with pytest.raises(ModelError, match="limits of joint 'b' cannot be met: it mimics 'a'"):
        VMSModel.from_urdf(xml)


def test_the_links_of_geared_joints_are_drawn_where_they_are(rng: np.random.Generator) -> None:
    system = Constrained(geared(), "fixed", FOLLOWERS)
    q, _ = state_of(system.robot, rng)
    np.testing.assert_allclose(
        LinkTree(system.robot.tree).relative_poses(q),
        LinkTree(system.full.tree).relative_poses(system.fill_in(q)),
        atol=1e-15,
    )


def test_a_follower_of_a_locked_joint_is_locked_where_it_belongs() -> None:
    robot = VMSModel.from_urdf(geared(), locked_joints={"a": 0.4})
    positions = {"a": 0.4, "b": -2 * 0.4 + 0.3, "c": 0.5 * (-2 * 0.4 + 0.3) - 0.1}
    held = VMSModel.from_urdf(without_mimics(geared()), locked_joints=positions)
    assert robot.joint_names == ("d",)
    assert held.joint_names == ("d", "e")
    p = np.array([[1.0], [1.5]])
    ours = robot.evaluate([0.2], [0.3])
    theirs = held.evaluate([0.2, 1.5 * 0.2 + 0.02], [0.3, 0.45])
    np.testing.assert_allclose(ours.M, p.T @ theirs.M @ p, rtol=1e-13)
    np.testing.assert_allclose(ours.placement("link_c"), theirs.placement("link_c"), atol=1e-15)


def test_a_locked_follower_leaves_its_leader_free_and_holds_its_own_followers() -> None:
    robot = VMSModel.from_urdf(geared(), locked_joints={"b": 0.25})
    positions = {"b": 0.25, "c": 0.5 * 0.25 - 0.1}
    held = VMSModel.from_urdf(without_mimics(geared()), locked_joints=positions)
    assert robot.joint_names == ("a", "d")
    ours = robot.evaluate([0.7, 0.2], [0.0, 0.0])
    theirs = held.evaluate([0.7, 0.2, 0.32], np.zeros(3))
    np.testing.assert_allclose(ours.placement("link_c"), theirs.placement("link_c"), atol=1e-15)
    np.testing.assert_allclose(ours.M[0, 0], theirs.M[0, 0], rtol=1e-13)


def test_the_fingers_of_the_panda_close_symmetrically(panda_with_fingers: Constrained) -> None:
    robot = panda_with_fingers.robot
    assert robot.n == 8
    assert robot.joint_names[7] == "panda_finger_joint1"
    d = robot.evaluate(robot.configuration({"panda_finger_joint1": 0.03}), np.zeros(robot.nv))
    hand, left, right = (
        pin.SE3(d.placement(f"panda_{name}")) for name in ("hand", "leftfinger", "rightfinger")
    )
    ahead, other = hand.actInv(left).translation, hand.actInv(right).translation
    np.testing.assert_allclose(ahead[1], 0.03, atol=1e-14)
    np.testing.assert_allclose(other, [ahead[0], -ahead[1], ahead[2]], atol=1e-14)
    # Moving them moves two fingers.
    alone = Constrained(without_mimics(PANDA), "fixed", {}).full.evaluate(np.zeros(9), np.zeros(9))
    assert d.M[-1, -1] == pytest.approx(alone.M[7, 7] + alone.M[8, 8] - 2 * alone.M[7, 8])


def test_joints_that_mimic_each_other_in_a_circle_are_refused() -> None:
    with pytest.raises(ModelError, match="joints b, c mimic each other in a circle"):
        VMSModel.from_urdf(geared(of="c"))
    with pytest.raises(ModelError, match="joints b mimic each other in a circle"):
        VMSModel.from_urdf(geared(of="b"))


def test_a_mimic_of_a_base_or_fixed_joint_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"'b' mimics 'a': 'a' has no single position; take"):
        VMSModel.from_urdf(
            "<robot name='r'><link name='w'/><link name='x'/><link name='y'/>"
            "<joint name='a' type='floating'><parent link='w'/><child link='x'/></joint>"
            "<joint name='b' type='continuous'><parent link='x'/><child link='y'/>"
            "<mimic joint='a'/></joint></robot>"
        )
    with pytest.raises(ModelError, match="'b' mimics 'a': no moving joint 'a'"):
        VMSModel.from_urdf(geared(kind="fixed"))


def test_what_a_mimic_tag_gives_must_be_finite_numbers() -> None:
    for wrong in ("two", "nan"):
        xml = geared().replace('multiplier="-2"', f'multiplier="{wrong}"')
        with pytest.raises(ModelError, match="not a URDF that can be built"):
            VMSModel.from_urdf(xml)


def test_a_mimic_tag_on_a_joint_that_does_not_move_has_no_effect() -> None:
    root = ET.fromstring(geared())
    for element in root.findall("joint"):
        if element.get("name") == "e":
            element.set("type", "fixed")
    robot = VMSModel.from_urdf(ET.tostring(root, encoding="unicode"))
    assert robot.joint_names == ("a", "d")
