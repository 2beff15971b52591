# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The pattern of a robot moves as its minimal-coordinate model does."""

import numpy as np
import pinocchio as pin
import pytest
from dynamics.conftest import random_tree, state_of

from vms_ph_dynamics import Friction, ModelError, VMSModel
from vms_ph_dynamics.errors import InertiaWarning
from vms_ph_ephs import assemble, simulate
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.multibody.urdf import body_names, from_pinocchio
from vms_ph_io import robots


def accelerations(
    model: VMSModel, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrench: np.ndarray
) -> np.ndarray:
    """Pinocchio's forward dynamics, with the friction of the URDF."""
    force = np.concatenate([wrench, tau])
    friction = Friction.from_model(model).force(v[model.b :])
    force[model.b :] += friction
    return np.asarray(pin.aba(model.pinocchio, model.tree.data(), q, v, force))


# A rigid body of the language turns freely, so point masses are none.
HOPPERS = ("prismatic_hopper", "revolute_hopper")


@pytest.mark.parametrize("name", HOPPERS)
def test_a_robot_with_point_masses_is_refused_by_what_is_missing(name: str) -> None:
    robot = robots.get(name)
    with pytest.raises(ModelError, match="a rotational inertia about every axis; given: mass"):
        assemble(mb.from_urdf(robot.description(), robot.base, robot.gravity))


@pytest.mark.parametrize("name", [name for name in robots.names() if name not in HOPPERS])
def test_a_bundled_robot_accelerates_as_forward_dynamics_says(
    name: str, rng: np.random.Generator
) -> None:
    robot = robots.get(name)
    model = VMSModel.from_urdf(robot.description(), robot.base, gravity=robot.gravity)
    system = mb.from_urdf(robot.description(), robot.base, robot.gravity)
    equations = assemble(system)
    for _ in range(3):
        q, v = state_of(model, rng)
        tau, wrench = rng.normal(size=model.n), rng.normal(size=model.b)
        inputs = {j.replace(".", "_"): tau[[k]] for k, j in enumerate(model.joint_names)}
        if model.base == "floating":
            body = body_names(model.pinocchio)[1]
            # The wrench acts at the origin of the base, the port is at its centre of mass.
            lever = model.pinocchio.inertias[1].lever
            moment = wrench[3:] - np.cross(lever, wrench[:3])
            inputs[body] = np.concatenate([wrench[:3], moment])
        elif model.base == "planar":
            inputs[model.pinocchio.names[1]] = wrench
        x = mb.state_of(equations, model, q, v)
        h = 1e-6
        ends = []
        for sign in (1.0, -1.0):
            step = sign * h * equations.rates(x, inputs).tangent
            ends.append(mb.configuration_of(equations, model, equations.states.step(x, step))[1])
        found = (ends[0] - ends[1]) / (2 * h)
        expected = accelerations(model, q, v, tau, wrench)
        # Central differences of velocities with a step of 1e-6: 1e-9 of rates up to 1e3.
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=1e-7 * (1 + np.abs(expected).max())
        )


@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda", "satellite_panda"])
def test_a_robot_falls_the_same_way_as_bodies_and_joints_and_in_minimal_coordinates(
    name: str, rng: np.random.Generator
) -> None:
    robot = robots.get(name)
    model = VMSModel.from_urdf(robot.description(), robot.base, gravity=robot.gravity)
    equations = assemble(mb.from_urdf(robot.description(), robot.base, robot.gravity))
    q, v = state_of(model, rng)
    v = 0.5 * v
    motion = simulate(equations, mb.state_of(equations, model, q, v), dt=1e-3, steps=40, stride=20)

    def acceleration(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return accelerations(model, q, v, np.zeros(model.n), np.zeros(model.b))

    # Runge-Kutta of fourth order on (q, v); steps of the configuration by the exponential.
    h = 1e-3
    for _ in range(40):
        k1, l1 = v, acceleration(q, v)
        k2 = v + 0.5 * h * l1
        l2 = acceleration(model.integrate(q, 0.5 * h * k1), k2)
        k3 = v + 0.5 * h * l2
        l3 = acceleration(
            model.integrate(q, 0.5 * h * k2 + h * h / 8 * _bracket(model, k1, k2)), k3
        )
        k4 = v + h * l3
        l4 = acceleration(model.integrate(q, h * k3), k4)
        mean = h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        q = model.integrate(q, mean + h * h / 12 * _bracket(model, k1, k4))
        v = v + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    end_q, end_v = mb.configuration_of(equations, model, motion.final)
    # Two fourth-order schemes at 1 ms over 0.04 s.
    assert np.abs(model.difference(q, end_q)).max() < 1e-8
    assert np.abs(v - end_v).max() < 1e-7
    assert motion.violation.max() < 1e-12


def _bracket(model: VMSModel, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The commutator of base twists, which the group of the base adds to a mean velocity."""
    out = np.zeros(model.nv)
    if model.base == "floating":
        out[:6] = np.concatenate(
            [np.cross(a[3:6], b[:3]) + np.cross(a[:3], b[3:6]), np.cross(a[3:6], b[3:6])]
        )
    elif model.base == "planar":
        turn = np.array([[0.0, -1.0], [1.0, 0.0]])
        out[:2] = a[2] * turn @ b[:2] - b[2] * turn @ a[:2]
    return out


@pytest.mark.parametrize("seed", range(12))
def test_a_random_tree_accelerates_as_forward_dynamics_says(seed: int) -> None:
    model = random_tree(seed)
    equations = assemble(from_pinocchio(model.pinocchio))
    q, v = state_of(model, np.random.default_rng(seed))
    x = mb.state_of(equations, model, q, v)
    again = mb.configuration_of(equations, model, x)
    np.testing.assert_allclose(model.difference(q, again[0]), 0.0, atol=1e-12)
    np.testing.assert_allclose(again[1], v, atol=1e-11)
    h = 1e-6
    rate = equations.rates(x).tangent
    ends = [
        mb.configuration_of(equations, model, equations.states.step(x, s * h * rate))[1]
        for s in (1.0, -1.0)
    ]
    expected = accelerations(model, q, v, np.zeros(model.n), np.zeros(model.b))
    np.testing.assert_allclose(
        (ends[0] - ends[1]) / (2 * h), expected, rtol=0, atol=1e-7 * (1 + np.abs(expected).max())
    )


@pytest.mark.parametrize("name", ["panda", "satellite_panda"])
def test_energies_agree_with_those_of_the_model(name: str, rng: np.random.Generator) -> None:
    robot = robots.get(name)
    model = VMSModel.from_urdf(robot.description(), robot.base, gravity=robot.gravity)
    equations = assemble(mb.from_urdf(robot.description(), robot.base, robot.gravity))
    q, v = state_of(model, rng)
    d = model.evaluate(q, v)
    energies = equations.storages.energies(mb.state_of(equations, model, q, v))
    kinetic = sum(e for box, e in energies.items() if box.endswith(".ke"))
    assert kinetic == pytest.approx(d.kinetic_energy, rel=1e-12)
    potential = sum(e for box, e in energies.items() if box.endswith(".pe"))
    assert potential == pytest.approx(d.potential_energy, rel=1e-12, abs=1e-12)


MIMIC = """
<robot name="gripper"><link name="base"/>
  <link name="left"><inertial><mass value="0.3"/><origin xyz="0.02 0 0.03"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="0.2"/><origin xyz="-0.02 0 0.03"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="a" type="prismatic"><parent link="base"/><child link="left"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="b" type="revolute"><parent link="base"/><child link="right"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
    <mimic joint="a" multiplier="-2" offset="0.1"/></joint>
</robot>"""


def test_a_joint_that_mimics_another_is_geared_to_it() -> None:
    model = VMSModel.from_urdf(MIMIC)
    equations = assemble(mb.from_urdf(MIMIC))
    x = mb.state_of(equations, model, np.array([0.2]), np.array([0.5]))
    motion = simulate(equations, x, dt=1e-3, steps=200)
    q, v = mb.configuration_of(equations, model, motion.final)
    np.testing.assert_allclose(
        motion.value("b.q_r"), -2.0 * motion.value("a.q_r") + 0.1, atol=1e-11
    )
    end, rate, h = np.array([0.2]), np.array([0.5]), 1e-3

    def acceleration(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        d = model.evaluate(q, v)
        return np.linalg.solve(d.M, -(d.C @ v + d.g))

    for _ in range(200):
        l1 = acceleration(end, rate)
        l2 = acceleration(end + 0.5 * h * rate, rate + 0.5 * h * l1)
        l3 = acceleration(end + 0.5 * h * rate + 0.25 * h * h * l1, rate + 0.5 * h * l2)
        l4 = acceleration(end + h * rate + 0.5 * h * h * l2, rate + h * l3)
        end = end + h * rate + h * h / 6 * (l1 + l2 + l3)
        rate = rate + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    assert q[0] == pytest.approx(end[0], abs=1e-10)
    assert v[0] == pytest.approx(rate[0], abs=1e-9)


def test_a_moving_link_without_mass_is_refused_by_name() -> None:
    chain = MIMIC.replace('<mass value="0.3"/>', '<mass value="0.0"/>').replace("1e-3", "0")
    with pytest.raises(ModelError, match="'left' moves but has no mass"):
        mb.from_urdf(chain)


def test_a_joint_about_a_skew_axis_is_covered_whatever_its_limits() -> None:
    inertial = (
        "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
        "</inertial>"
    )
    limit = "<limit lower='-1' upper='1' effort='1' velocity='1'/>"
    for kind in ("continuous", "revolute", "prismatic"):
        system = mb.from_urdf(
            f"<robot name='r'><link name='a'/><link name='b'>{inertial}</link>"
            f"<joint name='j' type='{kind}'><parent link='a'/><child link='b'/>"
            f"<axis xyz='0.6 0 0.8'/>{limit}</joint></robot>"
        )
        assert "j" in system.pattern.boxes


def test_a_repaired_robot_falls_the_same_way_as_bodies_and_joints() -> None:
    bent = MIMIC.replace('ixx="1e-3" iyy="1e-3" izz="1e-3"', 'ixx="0.5" iyy="0.1" izz="0.1"')
    with pytest.raises(ModelError, match="inertia='repair'"):
        mb.from_urdf(bent)
    with pytest.warns(InertiaWarning):
        model = VMSModel.from_urdf(bent, inertia="repair")
    assert "triangle" in [repair.kind for repair in model.repairs]
    equations = assemble(mb.from_urdf(bent, inertia="repair"))
    q, v = np.array([0.2]), np.array([0.5])
    x = mb.state_of(equations, model, q, v)
    h, rate = 1e-6, equations.rates(x, {}).tangent
    ahead, behind = (
        mb.configuration_of(equations, model, equations.states.step(x, sign * h * rate))[1]
        for sign in (1.0, -1.0)
    )
    d = model.evaluate(q, v)
    np.testing.assert_allclose(
        (ahead - behind) / (2 * h), np.linalg.solve(d.M, -(d.C @ v + d.g)), rtol=1e-7
    )
