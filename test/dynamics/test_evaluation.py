# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The terms of the equations of motion against Pinocchio and against slow references."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.evaluation import in_space
from vms_ph_io import robots


@pytest.fixture(params=["fixed", "planar", "floating"])
def robot(request: pytest.FixtureRequest) -> VMSModel:
    return VMSModel.from_urdf(robots.get("panda").description(), request.param, "panda_link8")


def state(model: VMSModel, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return model.random_configuration(rng), rng.uniform(-1, 1, model.nv)


def test_the_terms_give_the_accelerations_of_aba(robot: VMSModel, rng: np.random.Generator) -> None:
    model = robot.pinocchio
    for _ in range(50):
        q, v = state(robot, rng)
        force = rng.uniform(-10, 10, robot.nv)
        d = robot.evaluate(q, v)
        ours = np.linalg.solve(d.M, force - d.C @ v - d.g)
        theirs = pin.aba(model, model.createData(), q, v, force)
        # Conditioning of M is about 1e4 here; aba itself is good to 1e-12 relative.
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


def test_the_mass_matrix_changes_at_the_rate_of_the_coriolis_matrix(
    robot: VMSModel, rng: np.random.Generator
) -> None:
    step = 1e-5
    for _ in range(10):
        q, v = state(robot, rng)
        ahead, behind = (robot.evaluate(robot.integrate(q, s * v), v).M for s in (step, -step))
        c = robot.evaluate(q, v).C
        # Central differences: O(step^2) truncation and 1e-16/step rounding, both near 1e-10.
        np.testing.assert_allclose((ahead - behind) / (2 * step), c + c.T, atol=2e-9)


def test_momentum_and_energy_split_between_locked_and_shape_motion(
    robot: VMSModel, rng: np.random.Generator
) -> None:
    q, v = state(robot, rng)
    d = robot.evaluate(q, v)
    b = robot.b
    np.testing.assert_allclose(d.p, d.M_b @ d.v_hat, atol=1e-12)
    np.testing.assert_allclose(d.pi_hat, d.M_hat_m @ v[b:], atol=1e-12)
    split = 0.5 * d.v_hat @ d.M_b @ d.v_hat + 0.5 * v[b:] @ d.M_hat_m @ v[b:]
    assert split == pytest.approx(d.kinetic_energy, rel=1e-12)


def test_gravity_is_the_gradient_of_the_potential(
    robot: VMSModel, rng: np.random.Generator
) -> None:
    q, _ = state(robot, rng)
    step = 1e-6
    zero = np.zeros(robot.nv)
    gradient = [
        (
            robot.evaluate(robot.integrate(q, step * e), zero).potential_energy
            - robot.evaluate(robot.integrate(q, -step * e), zero).potential_energy
        )
        / (2 * step)
        for e in np.eye(robot.nv)
    ]
    np.testing.assert_allclose(robot.evaluate(q, zero).g, gradient, atol=1e-7)


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_gravity_pulls_down_where_the_base_joint_is_turned_in_the_world(
    kind: str, rng: np.random.Generator
) -> None:
    # A URDF whose own first joint is the base, with an origin, as on a slope.
    body = """<link name="{}"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/><inertia
        ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    robot = VMSModel.from_urdf(
        '<robot name="slope"><link name="ground"/>'
        + body.format("cart")
        + body.format("tip")
        + f'<joint name="drive" type="{kind}"><origin xyz="1 2 3" rpy="0.3 -0.5 0.2"/>'
        '<parent link="ground"/><child link="cart"/></joint>'
        '<joint name="arm" type="continuous"><parent link="cart"/><child link="tip"/>'
        '<axis xyz="0 1 0"/></joint></robot>'
    )
    assert robot.base == kind
    test_gravity_is_the_gradient_of_the_potential(robot, rng)
    # F4: zero with the centre of mass at the origin of the inertial frame.
    q, v = state(robot, rng)
    centre = pin.centerOfMass(robot.pinocchio, robot.pinocchio.createData(), q)
    potential = robot.evaluate(q, v).potential_energy
    assert potential == pytest.approx(4 * 9.81 * centre[2], rel=1e-12)


def test_nothing_but_the_potential_depends_on_where_the_base_is(rng: np.random.Generator) -> None:
    robot = VMSModel.from_urdf(robots.get("panda").description(), "floating", "panda_link8")
    q, v = state(robot, rng)
    far = q.copy()
    far[:3] += [1e4, -1e4, 1e4]
    here, there = robot.evaluate(q, v), robot.evaluate(far, v)
    for term in ("M", "C", "g", "momentum", "J_end_effector"):
        np.testing.assert_array_equal(getattr(here, term), getattr(there, term))
    risen = there.potential_energy - here.potential_energy
    assert risen == pytest.approx(robot.total_mass * 9.81 * 1e4, rel=1e-12)


def test_the_end_effector_jacobian_gives_its_twist_in_its_own_frame(
    robot: VMSModel, rng: np.random.Generator
) -> None:
    q, v = state(robot, rng)
    step = 1e-6
    before, after = (
        robot.evaluate(robot.integrate(q, s * v), v).placement("panda_link8") for s in (-step, step)
    )
    twist = pin.log6(pin.SE3(before).actInv(pin.SE3(after))).vector / (2 * step)
    d = robot.evaluate(q, v)
    np.testing.assert_allclose(d.J_end_effector @ v, twist, atol=1e-8)
    np.testing.assert_array_equal(d.jacobian("panda_link8"), d.J_end_effector)


def test_twists_of_every_base_are_vectors_in_space() -> None:
    for b, linear, angular in ((0, [0, 0, 0], [0, 0, 0]), (3, [1, 2, 0], [0, 0, 3])):
        found = in_space(b, np.array([1.0, 2.0, 3.0])[:b])
        np.testing.assert_array_equal(found.linear, linear)
        np.testing.assert_array_equal(found.angular, angular)
    found = in_space(6, np.arange(1.0, 7.0))
    np.testing.assert_array_equal(found.linear, [1, 2, 3])
    np.testing.assert_array_equal(found.angular, [4, 5, 6])


def test_a_jacobian_is_found_by_index_and_name() -> None:
    model = robots.load("panda")
    d = model.evaluate(model.home, np.zeros(model.nv))
    found = d.jacobian("panda_link4")
    np.testing.assert_array_equal(found, d.jacobian(model.frame_id("panda_link4")))
    np.testing.assert_array_equal(found, model.jacobian("panda_link4", model.home))


def test_a_jacobian_in_world_axes_is_turned_and_its_rate_is_its_derivative() -> None:
    model, h = robots.load("hextilt"), 1e-6
    rng = np.random.default_rng(3)
    q, v = model.integrate(model.home, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    d, frame = model.evaluate(q, v), model.end_effector
    turned = np.kron(np.eye(2), d.placement(frame)[:3, :3]) @ d.jacobian(frame)
    np.testing.assert_allclose(d.jacobian(frame, "world"), turned, atol=1e-14)
    np.testing.assert_array_equal(model.jacobian(frame, q, "world"), d.jacobian(frame, "world"))
    for axes in ("own", "world"):
        ahead, behind = (model.jacobian(frame, model.integrate(q, s * v), axes) for s in (h, -h))
        slope = (ahead - behind) / (2 * h)
        np.testing.assert_allclose(d.jacobian_rate(frame, axes), slope, atol=1e-8)
    with pytest.raises(ModelError, match="axes are 'own' or 'world'; given: 'local'"):
        d.jacobian(frame, "local")  # type: ignore[arg-type]
