"""The free-floating equations of source E, against its own sums over bodies.

The sums are written here as E prints them, from the centres of mass, axes and rotational inertias
that Pinocchio gives in inertial axes; joints that slide, which E has not, add ``k`` in place of
``k x (r - p)``. Where E is misprinted both versions are computed: the printed one fails.
"""

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.free_floating import FreeFloating, FreeFloatingEvaluation
from vms_ph_dynamics.friction import Friction
from vms_ph_dynamics.groups import SO3, skew
from vms_ph_dynamics.integrators import rk4_step
from vms_ph_dynamics.structure import Ports, StandardForm
from vms_ph_io import robots

from .conftest import random_tree, state_of

# Every third seed makes a tree on a floating base.
trees = st.integers(0, 2**29).map(lambda k: random_tree(3 * k + 2))
seeds = st.integers(0, 2**31)
FLOATING = [
    name
    for name in robots.names()
    if robots.get(name).base == "floating" and not robots.get(name).fluid
]
# A central difference errs by about STEP^2, and by rounding over STEP.
STEP, DIFFERENCE = 1e-5, 1e-7
# How far a misprint is off at least, in SI units, for a robot of some kilograms moving with 1/s.
WRONG = 1e-3


@dataclass(frozen=True)
class Body:
    """One of E's links, in inertial axes; ``axes`` of all joints, zero where it is not carried."""

    m: float
    r: np.ndarray
    inertia: np.ndarray
    J_T: np.ndarray
    J_R: np.ndarray
    rdot: np.ndarray
    w: np.ndarray


@dataclass(frozen=True)
class Sums:
    """What E needs for its sums: body 0 is the base, its centre of mass is r_0 = p_0."""

    bodies: tuple[Body, ...]
    V_0: np.ndarray
    w_0: np.ndarray
    phidot: np.ndarray
    p_r: np.ndarray
    J_tool: np.ndarray
    V_tool: np.ndarray

    @property
    def M(self) -> float:
        return sum(body.m for body in self.bodies)

    @property
    def r_0(self) -> np.ndarray:
        return self.bodies[0].r

    @property
    def r_g(self) -> np.ndarray:
        return sum(body.m * body.r for body in self.bodies) / self.M

    @property
    def links(self) -> tuple[Body, ...]:
        return self.bodies[1:]

    def total(self, term) -> np.ndarray:  # type: ignore[no-untyped-def]
        """The sum of a term of one body over i = 0 to n."""
        return sum(term(body) for body in self.bodies)

    @property
    def P(self) -> np.ndarray:
        return self.total(lambda i: i.m * i.rdot)  # [6]

    @property
    def L(self) -> np.ndarray:
        return self.total(lambda i: i.inertia @ i.w + np.cross(i.r, i.m * i.rdot))  # [7]

    @property
    def J_Tw(self) -> np.ndarray:
        return self.total(lambda i: i.m * i.J_T)

    @property
    def H_omega(self) -> np.ndarray:
        r_0 = self.r_0
        return self.total(lambda i: i.inertia + i.m * skew(i.r - r_0).T @ skew(i.r - r_0))

    @property
    def H_omega_phi(self) -> np.ndarray:
        return self.total(lambda i: i.m * skew(i.r - self.r_0) @ i.J_T + i.inertia @ i.J_R)

    @property
    def H_0(self) -> np.ndarray:
        lever = self.M * skew(self.r_g - self.r_0)
        return np.block([[self.M * np.eye(3), lever.T], [lever, self.H_omega]])  # [20]

    @property
    def H_0m(self) -> np.ndarray:
        return np.vstack([self.J_Tw, self.H_omega_phi])  # [23]

    @property
    def H_phi(self) -> np.ndarray:
        return self.total(lambda i: i.J_R.T @ i.inertia @ i.J_R + i.m * i.J_T.T @ i.J_T)

    @property
    def x0dot(self) -> np.ndarray:
        return np.concatenate([self.V_0, self.w_0])  # [22]


def columns(model: pin.Model, data: pin.Data, i: int, point: np.ndarray) -> tuple:
    """Levers k x (point - p) and axes k of every joint that carries body i; zeros of the others."""
    linear, angular = np.zeros((3, model.nv - 6)), np.zeros((3, model.nv - 6))
    while i > 1:
        joint = model.joints[i]
        jdata = joint.createData()
        joint.calc(jdata, pin.neutral(model)[joint.idx_q : joint.idx_q + joint.nq], np.zeros(1))
        subspace = np.array(jdata.S).ravel()
        column = joint.idx_v - 6
        if joint.shortname().startswith("JointModelP"):
            linear[:, column] = data.oMi[i].rotation @ subspace[:3]
        else:
            k = data.oMi[i].rotation @ subspace[3:]
            linear[:, column] = np.cross(k, point - data.oMi[i].translation)
            angular[:, column] = k
        i = model.parents[i]
    return linear, angular


def sums_of(model: VMSModel, q: np.ndarray, v: np.ndarray) -> Sums:
    source = model.pinocchio
    data = source.createData()
    pin.forwardKinematics(source, data, q, v)
    bodies = []
    for i in range(1, source.njoints):
        rotation, inertia = data.oMi[i].rotation, source.inertias[i]
        r = data.oMi[i].act(inertia.lever)
        linear, angular = columns(source, data, i, r)
        moving = pin.getVelocity(source, data, i, pin.LOCAL)
        w = rotation @ moving.angular
        rdot = rotation @ (moving.linear + np.cross(moving.angular, inertia.lever))
        tensor = rotation @ inertia.inertia @ rotation.T
        bodies.append(Body(inertia.mass, r, tensor, linear, angular, rdot, w))
    frame = source.getFrameId(model.end_effector)
    p_r = pin.updateFramePlacement(source, data, frame).translation.copy()
    tool = columns(source, data, source.frames[frame].parentJoint, p_r)
    twist = pin.getFrameVelocity(source, data, frame, pin.LOCAL_WORLD_ALIGNED).vector.copy()
    first = bodies[0]
    return Sums(tuple(bodies), first.rdot, first.w, v[6:], p_r, np.vstack(tool), twist)


def case(
    model: VMSModel, rng: np.random.Generator
) -> tuple[Sums, FreeFloatingEvaluation, np.random.Generator]:
    q, v = state_of(model, rng)
    return sums_of(model, q, v), FreeFloating(model).evaluate(q, v), rng


def agree(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-11) -> None:
    """Agreement relative to the largest entry; sums of bodies at some metres round at 1e-13."""
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, atol=tolerance * scale)


def differs(printed: np.ndarray, right: np.ndarray) -> None:
    assert np.abs(printed - right).max() > WRONG


def check_every_sum(s: Sums, e: FreeFloatingEvaluation) -> None:
    agree(e.velocity, np.concatenate([s.x0dot, s.phidot]))
    # [4], [5]: the end effector.
    p_0r = s.p_r - s.r_0
    agree(e.J_s, np.block([[np.eye(3), -skew(p_0r)], [np.zeros((3, 3)), np.eye(3)]]))
    agree(e.J_m, s.J_tool)
    agree(e.J_s @ s.x0dot + e.J_m @ s.phidot, s.V_tool)
    # [3], [8] with the joints' own indices.
    for i in s.bodies:
        agree(s.w_0 + i.J_R @ s.phidot, i.w)
        agree(s.V_0 + np.cross(s.w_0, i.r - s.r_0) + i.J_T @ s.phidot, i.rdot)
    # [6]-[11].
    r_0g = s.r_g - s.r_0
    agree(e.r_0, s.r_0)
    agree(e.r_g, s.r_g)
    agree(e.r_0g, r_0g)
    agree(e.P, s.P)
    agree(e.L, s.L)
    agree(s.M * s.V_0 + s.M * skew(r_0g).T @ s.w_0 + s.J_Tw @ s.phidot, s.P)
    I_w = s.total(lambda i: i.inertia - i.m * skew(i.r) @ skew(i.r - s.r_0))
    I_phi = s.total(lambda i: i.m * skew(i.r) @ i.J_T + i.inertia @ i.J_R)
    agree(s.M * skew(s.r_g) @ s.V_0 + I_w @ s.w_0 + I_phi @ s.phidot, s.L)
    agree(e.I_w, I_w)
    agree(e.I_phi, I_phi)
    agree(e.J_Tw, s.J_Tw)
    # [12], [13], and [16] with the sign of H_w mended.
    L_g = s.L - np.cross(s.r_g, s.P)
    agree(e.L_g, L_g)
    H_w = s.total(lambda i: i.inertia - i.m * skew(i.r - s.r_g) @ skew(i.r - s.r_0))
    H_w_phi = s.total(lambda i: i.m * skew(i.r - s.r_g) @ i.J_T + i.inertia @ i.J_R)
    agree((I_w - s.M * skew(s.r_g) @ skew(r_0g).T) @ s.w_0 + H_w_phi @ s.phidot, L_g)
    agree(H_w @ s.w_0 + H_w_phi @ s.phidot + np.cross(s.r_g, s.P), s.L)
    agree(e.H_w, H_w)
    agree(e.H_w_phi, H_w_phi)
    # H_w is then the centroidal inertia.
    agree(H_w, s.total(lambda i: i.inertia + i.m * skew(i.r - s.r_g).T @ skew(i.r - s.r_g)))
    # [17]-[23] with the three misprints mended.
    L_0 = s.L - np.cross(s.r_0, s.P)
    agree(e.L_0, L_0)
    agree(s.M * skew(r_0g) @ s.V_0 + s.H_omega @ s.w_0 + s.H_omega_phi @ s.phidot, L_0)
    agree(s.H_0 @ s.x0dot + s.H_0m @ s.phidot, np.concatenate([s.P, L_0]))
    agree(e.H_0, s.H_0)
    agree(e.H_0m, s.H_0m)
    # [24]-[27].
    agree(e.H_m, s.H_phi)
    energy = 0.5 * s.total(lambda i: i.w @ i.inertia @ i.w + i.m * i.rdot @ i.rdot)
    H = np.block([[s.H_0, s.H_0m], [s.H_0m.T, s.H_phi]])
    agree(e.H, H)
    assert 0.5 * e.velocity @ e.H @ e.velocity == pytest.approx(energy, rel=1e-11)
    assert e.d.kinetic_energy == pytest.approx(energy, rel=1e-11)


@given(trees, seeds)
@settings(max_examples=40, deadline=None)
def test_every_quantity_is_its_sum_over_the_bodies_of_a_tree(tree: VMSModel, seed: int) -> None:
    s, e, _ = case(tree, np.random.default_rng(seed))
    check_every_sum(s, e)


@pytest.mark.parametrize("name", FLOATING)
def test_every_quantity_of_a_bundled_robot_is_its_sum_over_the_bodies(
    name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    for _ in range(5):
        s, e, _ = case(model, rng)
        check_every_sum(s, e)


def test_the_base_is_the_body_of_the_first_joint_whatever_else_the_tree_names(
    rng: np.random.Generator,
) -> None:
    # A URDF with a floating joint of its own, below a link that stays in the world.
    body = """<link name="{}"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/><inertia
        ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    model = VMSModel.from_urdf(
        '<robot name="probe"><link name="station"/>'
        + body.format("bus")
        + body.format("boom")
        + '<joint name="free" type="floating"><origin xyz="1 2 3" rpy="0.3 -0.5 0.2"/>'
        '<parent link="station"/><child link="bus"/></joint>'
        '<joint name="hinge" type="continuous"><parent link="bus"/><child link="boom"/>'
        '<origin xyz="0.5 0 0"/><axis xyz="0 1 0"/></joint></robot>'
    )
    assert model.link_names[0] == "station"
    s, e, _ = case(model, rng)
    check_every_sum(s, e)
    check_motion(model, rng)


# --- misprints ------------------------------------------------------------------------------------


@pytest.fixture
def space_robot(rng: np.random.Generator) -> tuple[Sums, FreeFloatingEvaluation]:
    # A light satellite, its body off its frame's origin, so that no term is small by chance.
    model = robots.load("satellite_panda", bus_mass="20", bus_ixx="1", bus_iyy="1", bus_izz="1")
    s, e, _ = case(model, rng)
    return s, e


Space = tuple[Sums, FreeFloatingEvaluation]


def test_the_angular_velocity_of_a_link_sums_the_rates_of_its_own_joints(
    space_robot: Space,
) -> None:
    # [3] prints sum_j k_j phidot_i; [8] in the source of [4] has k_i for k_j.
    s, _ = space_robot
    last = s.bodies[-1]
    agree(s.w_0 + last.J_R @ s.phidot, last.w)
    differs(s.w_0 + last.J_R.sum(axis=1) * s.phidot[-1], last.w)


def test_the_centroidal_inertia_needs_a_minus(space_robot: Space) -> None:
    # [15], [16] print H_w = sum(I_i + m r~_gi r~_0i) + I_0.
    s, e = space_robot
    printed = s.total(lambda i: i.inertia + i.m * skew(i.r - s.r_g) @ skew(i.r - s.r_0))
    differs(printed, e.H_w)
    differs(printed @ s.w_0 + e.H_w_phi @ s.phidot, e.L_g)
    # Nor does r_gi = r_g - r_i mend it: H_w_phi then has the wrong sign.
    turned = s.total(lambda i: i.m * skew(s.r_g - i.r) @ i.J_T + i.inertia @ i.J_R)
    differs(e.H_w @ s.w_0 + turned @ s.phidot, e.L_g)


def test_the_momentum_about_the_base_has_the_lever_from_the_base(space_robot: Space) -> None:
    # [18] prints M r~_g V_0 where M r~_0g V_0 is meant.
    s, e = space_robot
    rest = s.H_omega @ s.w_0 + s.H_omega_phi @ s.phidot
    differs(s.M * skew(s.r_g) @ s.V_0 + rest, e.L_0)


def test_the_momentum_about_the_origin_adds_the_lever_of_the_base(space_robot: Space) -> None:
    # [19] prints + r_g x P where r_0 x P is meant.
    s, e = space_robot
    about_base = (s.H_0 @ s.x0dot + s.H_0m @ s.phidot)[3:]
    agree(about_base + np.cross(s.r_0, s.P), e.L)
    differs(about_base + np.cross(s.r_g, s.P), e.L)


def test_the_base_inertia_gives_the_momentum_about_the_base(space_robot: Space) -> None:
    # [21] prints (P; L) on the left; it is (P; L_0).
    s, e = space_robot
    found = s.H_0 @ s.x0dot + s.H_0m @ s.phidot
    agree(found, np.concatenate([e.P, e.L_0]))
    differs(found, np.concatenate([e.P, e.L]))


def test_the_energy_of_the_joints_has_products_of_different_rates(space_robot: Space) -> None:
    # The expansion before [24] sums phidot_j k_j I_i k_j phidot_j over one index j only; with
    # H_phi, as [24] has it, the products of different joints are there.
    s, _ = space_robot
    right = 0.5 * s.phidot @ s.H_phi @ s.phidot
    printed = 0.5 * s.phidot @ np.diag(np.diag(s.H_phi)) @ s.phidot
    assert abs(printed - right) > WRONG


def test_the_order_of_inertias_in_a_product_matters(space_robot: Space) -> None:
    # Before [31]: "A^T B = A . B = B . A = B^T A = B A", as if for any A and a symmetric B.
    s, _ = space_robot
    a, b = s.H_omega_phi @ s.H_omega_phi.T + skew(s.r_0), s.H_omega
    agree(b, b.T)
    differs(a.T @ b, b @ a)


# --- equations of motion --------------------------------------------------------------------------


def acceleration_by_aba(e: FreeFloatingEvaluation, ports: Ports) -> np.ndarray:
    """(V_0dot, w_0dot, phiddot) from ABA, the base's from the body acceleration by hand."""
    d, model = e.d, e.d.model
    source = model.pinocchio
    force = replace(ports, gravity=False).force(d)
    vdot = pin.aba(source, source.createData(), d.q, d.v, force)
    rotation = e.to_inertial[:3, :3]
    c, v, w = source.inertias[1].lever, d.v[:3], d.v[3:6]
    linear = vdot[:3] + np.cross(vdot[3:6], c) + np.cross(w, v + np.cross(w, c))
    return np.concatenate([rotation @ linear, rotation @ vdot[3:6], vdot[6:]])


def check_motion(model: VMSModel, rng: np.random.Generator) -> None:
    _, e, _ = case(model, rng)
    d, rotation = e.d, e.to_inertial[:3, :3]
    base, torque = rng.uniform(-5, 5, 6), rng.uniform(-5, 5, model.n)
    contact = rng.uniform(-5, 5, 6)
    friction = Friction(rng.uniform(0, 1, model.n), rng.uniform(0, 1, model.n), slip=0.1)
    # The same efforts as the ports take them: in body axes, at the frames' origins.
    f, m = rotation.T @ base[:3], rotation.T @ base[3:]
    centre = model.pinocchio.inertias[1].lever
    tool = d.placement(model.end_effector)[:3, :3]
    ports = Ports(
        torque,
        np.concatenate([f, m + np.cross(centre, f)]),
        np.concatenate([tool.T @ contact[:3], tool.T @ contact[3:]]),
        friction=friction,
    )
    expected = acceleration_by_aba(e, ports)
    force = e.force(base, torque + friction.force(d.v[6:]), contact)
    found = e.acceleration(force)
    # Through the inverse of an inertia whose condition is some thousands.
    agree(found, expected, 1e-10)
    # [38] and [37] term by term: H xddot + Hdot xdot + c = force.
    gravity = e.from_inertial.T @ d.g
    agree(e.H @ expected + e.bias + gravity, force, 1e-10)


@given(trees, seeds)
@settings(max_examples=40, deadline=None)
def test_a_tree_accelerates_as_aba_under_contact_actuation_and_friction(
    tree: VMSModel, seed: int
) -> None:
    check_motion(tree, np.random.default_rng(seed))


@pytest.mark.parametrize("name", FLOATING)
def test_a_bundled_robot_accelerates_as_aba_under_contact_actuation_and_friction(
    name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    for _ in range(5):
        check_motion(model, rng)


@given(trees, seeds)
@settings(max_examples=20, deadline=None)
def test_the_terms_of_37_are_the_rates_and_gradients_they_are_called(
    tree: VMSModel, seed: int
) -> None:
    _, e, _ = case(tree, np.random.default_rng(seed))
    d, of = e.d, FreeFloating(tree)

    def moved(dq: np.ndarray) -> FreeFloatingEvaluation:
        return of.evaluate(tree.integrate(d.q, dq), d.v)

    rate = (moved(STEP * d.v).H - moved(-STEP * d.v).H) / (2 * STEP)
    agree(e.Hdot, rate, DIFFERENCE)
    x = e.velocity
    gradient = [
        (x @ moved(STEP * u).H @ x - x @ moved(-STEP * u).H @ x) / (4 * STEP)
        for u in np.eye(tree.nv)[6:]
    ]
    agree(e.c_m, -np.array(gradient), DIFFERENCE)
    agree(e.bias, e.Hdot @ x + np.concatenate([e.c_0, e.c_m]))


def test_the_gradient_of_the_energy_enters_with_a_minus(space_robot: Space) -> None:
    # [35], [36]: c = -dL/dq is printed as + 1/2 d(...).
    _, e = space_robot
    expected = acceleration_by_aba(e, Ports())
    inertial = e.H @ expected
    agree((inertial + e.bias)[6:], np.zeros(e.d.model.n), 1e-10)
    differs((inertial + e.bias - 2 * np.concatenate([e.c_0, e.c_m]))[6:], 0 * e.c_m)


def test_the_attitude_is_no_coordinate_whose_rate_is_the_angular_velocity(
    space_robot: Space,
) -> None:
    # [28], [35], [37]: -dL/dx_0 taken literally, the base turned about its centre of mass with
    # V_0, w_0 and phidot held, is V_0 x P + w_0 x L_0; the equations hold with V_0 x P alone.
    _, e = space_robot
    d, model = e.d, e.d.model
    of, group = FreeFloating(model), SO3()
    rotation, centre = e.to_inertial[:3, :3], model.pinocchio.inertias[1].lever

    def energy(turn: np.ndarray) -> float:
        turned = group.exp(turn) @ rotation
        q = d.q.copy()
        q[:3] = e.r_0 - turned @ centre
        q[3:7] = pin.Quaternion(turned).coeffs()
        x = of.evaluate(q, d.v)
        np.testing.assert_allclose(x.r_0, e.r_0, atol=1e-12)
        return float(0.5 * e.velocity @ x.H @ e.velocity)

    literal = np.array([-(energy(STEP * u) - energy(-STEP * u)) / (2 * STEP) for u in np.eye(3)])
    V_0, w_0 = e.velocity[:3], e.velocity[3:6]
    agree(literal, np.cross(V_0, e.P) + np.cross(w_0, e.L_0), DIFFERENCE)
    agree(e.c_0, np.concatenate([np.zeros(3), np.cross(V_0, e.P)]), 1e-15)
    expected = e.H @ acceleration_by_aba(e, Ports()) + e.bias
    agree(expected[:6], np.zeros(6), 1e-10)
    as_printed = expected[3:6] - e.c_0[3:] + literal
    agree(as_printed, np.cross(w_0, e.L_0), DIFFERENCE)
    differs(as_printed, np.zeros(3))


@given(trees, seeds)
@settings(max_examples=20, deadline=None)
def test_the_velocities_are_those_of_the_base_centre_of_mass(tree: VMSModel, seed: int) -> None:
    _, e, _ = case(tree, np.random.default_rng(seed))
    agree(e.to_inertial @ e.from_inertial, np.eye(tree.nv), 1e-13)
    of = FreeFloating(tree)
    ahead, behind = (of.evaluate(tree.integrate(e.d.q, s * e.d.v), e.d.v) for s in (STEP, -STEP))
    agree(e.velocity[:3], (ahead.r_0 - behind.r_0) / (2 * STEP), DIFFERENCE)


# --- what space robotics uses it for --------------------------------------------------------------


@given(trees, seeds)
@settings(max_examples=30, deadline=None)
def test_the_generalized_jacobian_moves_the_end_effector_at_zero_momentum(
    tree: VMSModel, seed: int
) -> None:
    s, e, _ = case(tree, np.random.default_rng(seed))
    agree(e.J_g @ s.phidot + e.momentum_velocity, s.V_tool, 1e-10)
    # At zero momentum the base moves with -A phidot.
    at_rest = np.concatenate([-e.d.A @ s.phidot, s.phidot])
    of, still = FreeFloating(tree), sums_of(tree, e.d.q, at_rest)
    f = of.evaluate(e.d.q, at_rest)
    agree(np.concatenate([f.P, f.L]), np.zeros(6), 1e-10)
    agree(f.J_g @ s.phidot, still.V_tool, 1e-10)


@given(trees, seeds)
@settings(max_examples=30, deadline=None)
def test_the_reaction_null_space_does_not_turn_the_base(tree: VMSModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, e, _ = case(tree, rng)
    null = e.reaction_null_space
    assert null.shape == (tree.n, tree.n - np.linalg.matrix_rank(e.H_w_phi, 1e-9))
    phidot = null @ rng.normal(size=null.shape[1])
    v = np.concatenate([-e.d.A @ phidot, phidot])
    agree(v[3:6], np.zeros(3), 1e-10)


def test_along_the_reaction_null_space_the_satellite_keeps_its_attitude() -> None:
    model = robots.load("satellite_panda", bus_mass="20", bus_ixx="1", bus_iyy="1", bus_izz="1")
    of = FreeFloating(model)
    home = {f"panda_joint{i + 1}": x for i, x in enumerate((0.3, -0.4, 0.2, -1.8, 0.1, 1.6, 0.4))}
    q = model.configuration(home)
    attitude, joints = q[3:7].copy(), q[7:].copy()
    push, dt = np.array([1.0, -0.5, 0.3, 0.8, -0.6, 0.4, 0.2]), 1e-2
    for _ in range(100):
        null = of.evaluate(q, np.zeros(model.nv)).reaction_null_space
        assert null.shape == (7, 4)
        phidot = null @ null.T @ push
        v = np.concatenate([-model.evaluate(q, np.zeros(model.nv)).A @ phidot, phidot])
        q = model.integrate(q, dt * v)
    assert np.linalg.norm(q[7:] - joints) > 0.5
    # The base is held by the null space at every step, so not even the steps' error turns it.
    np.testing.assert_allclose(q[3:7], attitude, atol=1e-12)


def test_momenta_are_conserved_whatever_the_joints_do() -> None:
    model = robots.load("satellite_panda", bus_mass="20", bus_ixx="1", bus_iyy="1", bus_izz="1")
    form, of = StandardForm(model), FreeFloating(model)
    rng = np.random.default_rng(3)
    q, v = state_of(model, rng)
    strength = rng.uniform(-5, 5, 7)
    friction = Friction(np.full(7, 0.5), np.zeros(7))
    start = of.evaluate(q, v)
    before = np.concatenate([start.P, start.L, start.L_g])

    def drift(steps: int) -> float:
        x, dt = form.state(q, v), 0.2 / steps
        for k in range(steps):
            x = rk4_step(
                form,
                x,
                lambda t, _: Ports(np.cos(9 * t) * strength, friction=friction, gravity=False),
                k * dt,
                dt,
            ).state
        e = of.evaluate(x.q, form.velocity(x))
        # The joints have moved, and with them the base.
        assert np.linalg.norm(e.d.q[7:] - q[7:]) > 0.1
        return float(np.abs(np.concatenate([e.P, e.L, e.L_g]) - before).max())

    coarse, fine = drift(100), drift(200)
    assert coarse < 1e-3 * np.abs(before).max()
    # What is left is the scheme's: it falls at least with the square of the step, to rounding.
    assert fine < max(coarse / 3.5, 1e-11)


def test_contact_changes_the_momenta_by_its_impulse(space_robot: Space) -> None:
    s, e = space_robot
    contact = np.array([3.0, -1.0, 2.0, 0.4, 0.2, -0.3])
    acceleration = e.acceleration(e.force(np.zeros(6), np.zeros(7), contact))
    # d/dt (P, L_0) = H xddot + Hdot xdot; about the origin L = L_0 + r_0 x P.
    rate = (e.H @ acceleration + e.Hdot @ e.velocity)[:6]
    agree(rate[:3], contact[:3], 1e-10)
    about_origin = rate[3:] + np.cross(e.velocity[:3], e.P) + np.cross(e.r_0, rate[:3])
    agree(about_origin, contact[3:] + np.cross(s.p_r, contact[:3]), 1e-10)


def test_other_bases_and_fluids_are_refused() -> None:
    with pytest.raises(ModelError, match="floating base in space; given: on a fixed base"):
        FreeFloating(robots.load("panda"))
    with pytest.raises(ModelError, match="on a planar base"):
        FreeFloating(robots.load("omnidirectional_panda"))
    with pytest.raises(ModelError, match="in a fluid"):
        FreeFloating(robots.load("bluerov2_alpha5"))
