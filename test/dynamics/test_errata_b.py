# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Misprints of source B: the printed line fails and the corrected one holds.

On the Panda on a floating base; twists are linear first, as B writes them.
"""

from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import Evaluation, VMSModel
from vms_ph_dynamics.groups import SE3, SO3, pose, skew
from vms_ph_io import robots

SPACE = SE3()
# A central difference errs by STEP^2 and by rounding over STEP, both some 1e-10.
STEP, DIFFERENCE = 1e-5, 1e-7
# How far a misprint is off at least, relative to the right value.
WRONG = 1e-2


def agree(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-11) -> None:
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, atol=tolerance * scale)


def differs(printed: np.ndarray, right: np.ndarray) -> None:
    assert np.abs(printed - right).max() > WRONG * max(1.0, np.abs(right).max())


class Robot(NamedTuple):
    """A state of the floating Panda with the rates of its inertias and its bodies' Jacobians."""

    d: Evaluation
    rate: np.ndarray
    bodies: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]

    @property
    def hamel(self) -> np.ndarray:
        """The Coriolis matrix (3.39)."""
        d, nu, rates = self.d, self.d.v[:6], self.d.v[6:]
        a = SPACE.ad(nu).T
        by_q = [
            d.dM[:, :6, :6] @ nu,
            np.einsum("kij,i->kj", d.dM[:, :6, 6:], nu),
            d.dM[:, 6:, 6:] @ rates,
        ]
        upper = self.rate[:6] - np.hstack([a @ d.M_b, a @ d.M_bm])
        lower = self.rate[6:] - np.hstack([0.5 * by_q[0], by_q[1] + 0.5 * by_q[2]])
        return np.vstack([upper, lower])

    @property
    def passive(self) -> np.ndarray:
        """The Coriolis matrix (3.41), which is (3.83) by its second lines."""
        total = np.zeros_like(self.rate)
        for inertia, jacobian, jacobian_rate in self.bodies:
            a = SPACE.ad(jacobian @ self.d.v)
            psi = inertia @ a - a.T @ inertia
            total += jacobian.T @ (psi @ jacobian + inertia @ jacobian_rate)
        return total


@pytest.fixture
def robot(rng: np.random.Generator) -> Robot:
    return moving_robot(rng)


def moving_robot(rng: np.random.Generator) -> Robot:
    model = VMSModel.from_urdf(robots.get("panda").description(), "floating", "panda_link8")
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    source = model.pinocchio
    data = source.createData()
    pin.computeJointJacobiansTimeVariation(source, data, q, v)
    bodies = tuple(
        (
            source.inertias[j].matrix(),
            pin.getJointJacobian(source, data, j, pin.LOCAL).copy(),
            pin.getJointJacobianTimeVariation(source, data, j, pin.LOCAL).copy(),
        )
        for j in range(1, source.njoints)
    )
    d = model.evaluate(q, v)
    return Robot(d, d.C + d.C.T, bodies)


# --- section 2 ------------------------------------------------------------------------------------


def test_the_twist_of_the_inverse_motion_is_carried_back(rng: np.random.Generator) -> None:
    # Lemma 2.7 (2.16): ad of nu_yx is not minus ad of nu_xy; ad_x y = -ad_y x is what holds.
    h, nu, other = SPACE.random(rng), rng.normal(size=6), rng.normal(size=6)
    back = -SPACE.Ad(h) @ nu
    inverses = [SPACE.inverse(h @ SPACE.exp(s * nu)) for s in (STEP, -STEP)]
    moved = h @ (inverses[0] - inverses[1]) / (2 * STEP)
    agree(SPACE.vee(moved), back, DIFFERENCE)
    agree(SPACE.ad(back), -SPACE.Ad(h) @ SPACE.ad(nu) @ SPACE.Ad(SPACE.inverse(h)))
    differs(SPACE.ad(back), -SPACE.ad(nu))
    agree(SPACE.ad(nu) @ other, -SPACE.ad(other) @ nu)


def test_exponential_coordinates_carry_an_axis_past_the_joints_before_it(
    rng: np.random.Generator,
) -> None:
    # Footnote 4 of section 2.1.3: the exponential of a sum, and the column A_jb xi_i; it is a
    # product of exponentials, and the axis is solver_state past the joints nearer to the base.
    home, first, second = SPACE.random(rng), rng.normal(size=6), rng.normal(size=6)
    q = rng.normal(size=2)

    def motion(q: np.ndarray) -> np.ndarray:
        return SPACE.exp(first * q[0]) @ SPACE.exp(second * q[1]) @ home

    ahead, behind = (motion(q + np.array([0.0, s])) for s in (STEP, -STEP))
    column = SPACE.vee(SPACE.inverse(motion(q)) @ (ahead - behind) / (2 * STEP))
    to_body = SPACE.Ad(SPACE.inverse(motion(q)))
    agree(to_body @ SPACE.Ad(SPACE.exp(first * q[0])) @ second, column, DIFFERENCE)
    differs(to_body @ second, column)
    differs(SPACE.exp(first * q[0] + second * q[1]) @ home, motion(q))


def test_the_inertia_of_a_body_is_seen_from_the_frame_of_its_joint(
    rng: np.random.Generator,
) -> None:
    m, moments, rotation = 2.0, np.diag([0.1, 0.2, 0.25]), SO3().random(rng)
    o = rng.uniform(-1, 1, 3)
    at_centre = np.block([[m * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), moments]])
    turned = rotation @ moments @ rotation.T
    right = pin.Inertia(m, o, turned).matrix()
    # (2.43) prints A_(j,jc) where A_(jc,j), the twist of the body by that of the frame, is meant.
    from_body = SPACE.Ad(pose(rotation, o))
    to_body = SPACE.Ad(SPACE.inverse(pose(rotation, o)))
    agree(to_body.T @ at_centre @ to_body, right)
    differs(from_body.T @ at_centre @ from_body, right)
    # (2.44) prints [[R, o^], [0, 1]].
    zero = np.zeros((3, 3))
    agree(np.block([[rotation.T, -rotation.T @ skew(o)], [zero, rotation.T]]), to_body)
    differs(np.block([[rotation, skew(o)], [zero, np.eye(3)]]), to_body)
    # (2.45) prints -m o^ twice, and leaves the principal axes of the body unturned.
    lever = m * skew(o)
    agree(np.block([[m * np.eye(3), -lever], [lever, turned - lever @ skew(o)]]), right)
    differs(np.block([[m * np.eye(3), -lever], [-lever, turned - lever @ skew(o)]]), right)
    differs(np.block([[m * np.eye(3), -lever], [lever, moments - lever @ skew(o)]]), right)


def test_gravity_turns_the_base_against_the_sum_of_its_rows(rng: np.random.Generator) -> None:
    # (2.53) prints + sum r_i x dU/dr_i; U is (2.52) with o_y for o, gravity along -y as B has it.
    xml = robots.get("panda").description()
    model = VMSModel.from_urdf(xml, "floating", gravity=(0, -9.81, 0))
    q = model.random_configuration(rng)
    d = model.evaluate(q, np.zeros(model.nv))
    rotation = d.placement(model.link_names[0])[:3, :3]
    centre = rotation.T @ (
        pin.centerOfMass(model.pinocchio, model.pinocchio.createData(), q) - q[:3]
    )
    by_row = model.total_mass * 9.81 * centre
    turning = np.cross(rotation[1], by_row)
    agree(-turning, d.g[3:6])
    differs(turning, d.g[3:6])
    agree(rotation.T @ np.array([0.0, model.total_mass * 9.81, 0.0]), d.g[:3])


# --- section 3.1 ----------------------------------------------------------------------------------


def test_a_spinning_body_has_half_the_energy_that_is_printed(robot: Robot) -> None:
    # (3.11) prints T = w^T I w; Euler's equations (3.19) follow from the half of it.
    w = np.array([0.3, -0.5, 0.7])
    d = robot.d.model.evaluate(robot.d.q, np.concatenate([np.zeros(3), w, np.zeros(7)]))
    inertia = d.M_b[3:, 3:]
    assert d.kinetic_energy == pytest.approx(0.5 * w @ inertia @ w)
    agree(d.p[3:], inertia @ w)


def test_a_variation_of_the_rotation_varies_the_angular_velocity_by_its_rate(
    rng: np.random.Generator,
) -> None:
    # (3.14) and the third line of (3.24) have the variation itself, turned, for its rate.
    group = SO3()
    start, w, eta, eta_rate = group.random(rng), *rng.normal(size=(3, 3))

    def rotation(t: float, e: float) -> np.ndarray:
        return start @ group.exp(t * w) @ group.exp(e * (eta + t * eta_rate))

    def velocity(e: float) -> np.ndarray:
        turned = (rotation(STEP, e) - rotation(-STEP, e)) / (2 * STEP)
        return group.vee(rotation(0.0, e).T @ turned)

    # Mixed differences divide rounding by STEP twice: a larger step for the variation.
    step = 1e-3
    found = (velocity(step) - velocity(-step)) / (2 * step)
    agree(found, eta_rate + np.cross(w, eta), 1e-5)
    differs(found, group.vee(skew(w) @ skew(eta) - skew(eta) @ skew(w)) + start @ eta)
    # (3.22): a pose varies by H hat(Gamma), whose last row is zero; a 1 is printed.
    gamma, h = rng.normal(size=6), SPACE.random(rng)
    varied = (h @ SPACE.exp(STEP * gamma) - h @ SPACE.exp(-STEP * gamma)) / (2 * STEP)
    agree(varied, h @ SPACE.hat(gamma), DIFFERENCE)
    np.testing.assert_array_equal(varied[3], np.zeros(4))


def test_both_coriolis_matrices_give_the_bias_and_only_one_is_passive(robot: Robot) -> None:
    # (3.39) and (3.41), both right; neither is the matrix of the Levi-Civita connection.
    d = robot.d
    bias = d.C @ d.v
    agree(robot.hamel @ d.v, bias)
    agree(robot.passive @ d.v, bias)
    agree(robot.passive + robot.passive.T, robot.rate)
    differs(robot.hamel + robot.hamel.T, robot.rate)
    differs(robot.passive, d.C)


# --- section 3.2 ----------------------------------------------------------------------------------


def test_a_frame_may_turn_and_still_have_constant_momentum(rng: np.random.Generator) -> None:
    # After (3.62): "can only be fulfilled if w_ic = 0"; without linear momentum, a frame that
    # turns about the angular momentum fulfils a_ci^T h_i = 0 as well.
    angular = rng.normal(size=3)
    momentum = np.concatenate([np.zeros(3), angular])
    spinning = np.concatenate([rng.normal(size=3), 0.7 * angular])
    np.testing.assert_allclose(SPACE.ad(spinning).T @ momentum, 0.0, atol=1e-15)


def test_the_centroidal_momentum_is_constant_for_the_velocity_of_the_centre(
    rng: np.random.Generator,
) -> None:
    # Section 3.2.3 checks a_ci^T h_i = 0 with the position o_ic in the place of its rate.
    m, centre, rate, angular = 3.0, *rng.normal(size=(3, 3))
    momentum = np.concatenate([m * rate, angular])
    of_rate, of_position = (np.concatenate([-x, np.zeros(3)]) for x in (rate, centre))
    np.testing.assert_allclose(SPACE.ad(of_rate).T @ momentum, 0.0, atol=1e-15)
    assert np.abs(SPACE.ad(of_position).T @ momentum).max() > WRONG


# --- section 3.3 and appendix A.1 -----------------------------------------------------------------


class Transformed(NamedTuple):
    """Blocks after (3.80) with v_x = T_x (nu + A qdot), v_y = T_y qdot."""

    Tx: np.ndarray
    Tx_rate: np.ndarray
    Ty: np.ndarray
    Ty_rate: np.ndarray
    M: np.ndarray
    C: np.ndarray

    def velocity(self, d: Evaluation) -> tuple[np.ndarray, np.ndarray]:
        return self.Tx @ d.v_hat, self.Ty @ d.v[6:]


def transformed(robot: Robot, coriolis: np.ndarray, tx: tuple, ty: tuple) -> Transformed:
    """(3.77) with the whole matrices: M' = T^-T M T^-1, C' = T^-T C T^-1 - M' Tdot T^-1."""
    d, (x, x_rate), (y, y_rate) = robot.d, tx, ty
    a_rate = np.linalg.solve(d.M_b, robot.rate[:6, 6:] - robot.rate[:6, :6] @ d.A)
    zero = np.zeros((7, 6))
    t = np.block([[x, x @ d.A], [zero, y]])
    t_rate = np.block([[x_rate, x_rate @ d.A + x @ a_rate], [zero, y_rate]])
    inverse = np.linalg.inv(t)
    mass = inverse.T @ d.M @ inverse
    return Transformed(
        x, x_rate, y, y_rate, mass, inverse.T @ coriolis @ inverse - mass @ t_rate @ inverse
    )


def any_maps(rng: np.random.Generator) -> tuple[tuple, tuple]:
    x, y = np.eye(6) + 0.2 * rng.normal(size=(6, 6)), np.eye(7) + 0.2 * rng.normal(size=(7, 7))
    return (x, rng.normal(size=(6, 6))), (y, rng.normal(size=(7, 7)))


def test_any_decoupling_transform_clears_the_coupling_of_the_hamel_matrix(
    robot: Robot, rng: np.random.Generator
) -> None:
    # Prop. 3.3.1 with its misprints mended: "C_yx = T_y^-T (C_qb ...", and M_y Ty_rate outside.
    d = robot.d
    c = robot.hamel
    t = transformed(robot, c, *any_maps(rng))
    x, y = np.linalg.inv(t.Tx), np.linalg.inv(t.Ty)
    agree(t.M[:6, 6:], np.zeros((6, 7)))
    agree(t.M[:6, :6], x.T @ d.M_b @ x)
    # (A.4a) prints Tx^-1 Mbb Tx^-T.
    differs(x @ d.M_b @ x.T, t.M[:6, :6])
    agree(t.C[:6, 6:], np.zeros((6, 7)))
    a_b = SPACE.ad(d.v[:6])
    of_base = robot.rate[:6, :6] - a_b.T @ d.M_b - d.M_b @ x @ t.Tx_rate
    agree(t.C[:6, :6], x.T @ of_base @ x)
    agree(t.C[6:, :6], y.T @ (c[6:, :6] - d.A.T @ c[:6, :6]) @ x)
    inner = c[6:, 6:] - c[6:, :6] @ d.A - d.A.T @ c[:6, 6:] + d.A.T @ c[:6, :6] @ d.A
    agree(t.C[6:, 6:], y.T @ inner @ y - t.M[6:, 6:] @ t.Ty_rate @ y)  # (A.5d)
    differs(y.T @ (inner - t.M[6:, 6:] @ t.Ty_rate) @ y, t.C[6:, 6:])


def test_the_passive_matrix_stays_coupled_with_opposite_signs(
    robot: Robot, rng: np.random.Generator
) -> None:
    # (3.84) prints C_xy^T in the lower left; passivity needs -C_xy^T. (3.86) is right.
    d = robot.d
    t = transformed(robot, robot.passive, *any_maps(rng))
    x, y = np.linalg.inv(t.Tx), np.linalg.inv(t.Ty)
    agree(t.C[6:, :6], -t.C[:6, 6:].T)
    differs(t.C[6:, :6], t.C[:6, 6:].T)
    coupling = np.zeros((6, 7))
    for inertia, jacobian, _ in robot.bodies:
        of_base, of_joints = jacobian[:, :6], jacobian[:, 6:]
        a = SPACE.ad(jacobian @ d.v)
        coupling += of_base.T @ inertia @ a @ (of_joints - of_base @ d.A)
    agree(t.C[:6, 6:], x.T @ coupling @ y)


def test_the_centroidal_momentum_feels_no_velocity_terms_though_its_matrix_is_not_zero(
    robot: Robot, rng: np.random.Generator
) -> None:
    # Prop. 3.3.1 says C_x vanishes for a momentum map; as a matrix it does in the inertial frame
    # only. (3.85) prints C_x v_x + C_x v_y; it is C_x v_x + C_xy v_y.
    d, model = robot.d, robot.d.model
    source = model.pinocchio
    data = source.createData()
    centre = pin.centerOfMass(source, data, d.q, d.v).copy()
    centre_rate = data.vcom[0].copy()
    base = d.placement(model.link_names[0])
    rotation, position = base[:3, :3], base[:3, 3]
    w, y = d.v[3:6], any_maps(rng)[1]
    base_rate = rotation @ d.v[:3]
    for origin, origin_rate, vanishes in (
        (np.zeros(3), np.zeros(3), True),
        (centre, centre_rate, False),
    ):
        a_cb = SPACE.Ad(pose(rotation, position - origin))
        nu_cb = np.concatenate([rotation.T @ (base_rate - origin_rate), w])
        dual = np.linalg.inv(a_cb).T
        dual_rate = -dual @ SPACE.ad(nu_cb).T
        x = (dual @ d.M_b, dual_rate @ d.M_b + dual @ robot.rate[:6, :6])
        for coriolis in (robot.hamel, robot.passive):
            t = transformed(robot, coriolis, x, y)
            v_x, v_y = t.velocity(d)
            agree(v_x, dual @ d.p)
            agree(t.C[:6, :6] @ v_x + t.C[:6, 6:] @ v_y, np.zeros(6))
        of_hamel = transformed(robot, robot.hamel, x, y).C[:6, :6]
        assert (np.abs(of_hamel).max() < 1e-11) == vanishes
        if not vanishes:
            assert np.abs(of_hamel).max() > WRONG


# --- section 4 ------------------------------------------------------------------------------------


def test_a_floor_pushes_only_with_the_spring_pulling_back() -> None:
    # (4.13), (4.14) print F = K o - D odot, with o < 0 below the floor: cut off at zero it never
    # pushes a foot that sinks at rest.
    stiffness, damping, height, speed = 1e4, 10.0, -0.01, 0.0
    assert max(stiffness * height - damping * speed, 0.0) == 0.0
    assert max(-stiffness * height - damping * speed, 0.0) == pytest.approx(100.0)


def test_the_energy_of_the_prismatic_hopper_is_that_of_a_leg_of_twelve_centimetres() -> None:
    # Table 4.7 gives q_1(0) = 0.114, which is the distance from the centre of mass to the foot.
    base, foot, height, g = 0.957, 0.050, 0.3, 9.81

    def energy(leg: float) -> float:
        return g * (base * height + foot * (height - leg))

    assert base * 0.12 / (base + foot) == pytest.approx(0.114, abs=5e-5)
    # E_0 of table 4.8, to its four digits.
    assert energy(0.12) == pytest.approx(2.9047, abs=5e-5)
    assert abs(energy(0.114) - 2.9047) > 2e-3
