# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Every lower pair moves as its equations in minimal coordinates, or in closed form, say."""

import numpy as np
import pytest

from vms_ph_dynamics.groups import SE3, SO3, pose
from vms_ph_ephs import PatternError, assemble, simulate
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.quantities import momentum_of

from .examples import random_pose

MASS, INERTIA = 1.3, np.diag([0.5, 0.4, 0.3])
G = 9.81
NO_GRAVITY = (0.0, 0.0, 0.0)
PAIRS = [
    mb.Revolute(),
    mb.Prismatic(),
    mb.Screw(0.2),
    mb.Cylindrical(),
    mb.Planar(),
    mb.Spherical(),
]


def on_the_ground(
    pair: mb.LowerPair, o1: np.ndarray, o2: np.ndarray, gravity: tuple[float, float, float]
) -> mb.Between:
    return mb.Between("ground", "b", mb.joint(pair, o1, o2))


def motion_of(
    pair: mb.LowerPair,
    u: object,
    o1: np.ndarray | None = None,
    o2: np.ndarray | None = None,
    gravity: tuple[float, float, float] = (0.0, 0.0, -G),
    t: float = 0.5,
    dt: float = 1e-3,
) -> tuple[object, np.ndarray]:
    """Return the relative pose of a body on the ground after a time, and its pose."""
    system = mb.mechanism(
        {"b": mb.rigid_body(MASS, INERTIA, gravity)},
        {"j": mb.Between("ground", "b", mb.joint(pair, o1, o2))},
    )
    equations = assemble(system)
    x = mb.consistent_state(equations, velocities={"j": u})
    motion = simulate(equations, x, dt=dt, steps=round(t / dt))
    assert motion.violation.max() < 1e-13
    assert np.abs(motion.first_law).max() < 1e-10
    return motion.value("j.q_r")[-1], motion.value("b.q")[-1]


def test_a_revolute_pair_swings_as_the_physical_pendulum() -> None:
    # The axis is horizontal, x; the centre of mass hangs L below it.
    length = 0.4
    o1 = pose(SO3().exp(np.array([0.0, np.pi / 2, 0.0])), np.zeros(3))
    o2 = o1.copy()
    o2[2, 3] = length
    q, _ = motion_of(mb.Revolute(), [2.0], o1, o2, t=0.2)
    about_axis = INERTIA[0, 0] + MASS * length**2

    def rate(y: np.ndarray) -> np.ndarray:
        return np.array([y[1], -MASS * G * length * np.sin(y[0]) / about_axis])

    y, h = np.array([0.0, 2.0]), 1e-3
    for _ in range(200):
        k1 = rate(y)
        k2 = rate(y + 0.5 * h * k1)
        k3 = rate(y + 0.5 * h * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + h * k3))
    assert float(np.asarray(q)[0]) == pytest.approx(y[0], abs=1e-11)


def test_a_prismatic_pair_falls_along_its_inclined_axis() -> None:
    angle = 0.6
    o1 = pose(SO3().exp(np.array([angle, 0.0, 0.0])), np.array([0.1, 0.2, 0.3]))
    q, _ = motion_of(mb.Prismatic(), [0.7], o1, np.eye(4), dt=1e-2)
    # Polynomial motion: exact for the scheme.
    expected = 0.7 * 0.5 - 0.5 * G * np.cos(angle) * 0.5**2
    assert float(np.asarray(q)[0]) == pytest.approx(expected, abs=1e-12)


def test_a_screw_pair_turns_down_its_thread() -> None:
    pitch = 0.2
    lead = pitch / (2 * np.pi)
    q, body = motion_of(mb.Screw(pitch), [0.5], dt=5e-3)
    acceleration = -MASS * G * lead / (INERTIA[2, 2] + MASS * lead**2)
    expected = 0.5 * 0.5 + 0.5 * acceleration * 0.5**2
    assert float(np.asarray(q)[0]) == pytest.approx(expected, abs=1e-11)
    assert body[2, 3] == pytest.approx(lead * expected, abs=1e-12)


def test_a_cylindrical_pair_falls_and_keeps_its_spin() -> None:
    q, _ = motion_of(mb.Cylindrical(), [0.3, 2.0], dt=2.5e-3)
    np.testing.assert_allclose(q, [0.3 * 0.5 - 0.5 * G * 0.25, 1.0], atol=1e-11)


def test_a_planar_pair_flies_as_a_disc_on_ice_about_its_centre_of_mass() -> None:
    # The joint frame is off the centre of mass: only that moves on a straight line.
    o2 = pose(np.eye(3), np.array([0.3, -0.1, 0.2]))
    u = np.array([0.4, -0.2, 3.0])
    _, body = motion_of(mb.Planar(), u, np.eye(4), o2, NO_GRAVITY, dt=2.5e-3)
    start = -o2[:3, 3]
    velocity = np.array([u[0], u[1], 0.0]) + np.cross([0.0, 0.0, u[2]], start)
    np.testing.assert_allclose(body[:3, 3], start + 0.5 * velocity, atol=1e-10)
    np.testing.assert_allclose(
        body[:3, :3], SO3().exp(np.array([0.0, 0.0, 1.5])), rtol=0, atol=1e-11
    )


def test_a_spherical_pair_keeps_the_momenta_of_eulers_top() -> None:
    w = np.array([2.0, -1.0, 3.0])
    _, body = motion_of(mb.Spherical(), w, np.eye(4), np.eye(4), NO_GRAVITY, t=0.2)

    # Euler's equations in minimal form: quaternion and body angular velocity, finely integrated.
    rotation, h = np.eye(3), 2.5e-4
    for _ in range(800):
        k = []
        for c, previous in ((0.0, None), (0.5, 0), (0.5, 1), (1.0, 2)):
            v = w if previous is None else w + c * h * k[previous]
            k.append(np.linalg.solve(INERTIA, np.cross(INERTIA @ v, v)))
        # Fourth-order Magnus on the rotation: the mean of w and the commutator of its ends.
        new = w + h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
        middle = 0.5 * (w + new) + h / 8 * (
            k[0] - np.linalg.solve(INERTIA, np.cross(INERTIA @ new, new))
        )
        mean = (w + 4 * middle + new) / 6
        rotation = rotation @ SO3().exp(h * mean - h**2 / 12 * np.cross(new, w))
        w = new
    np.testing.assert_allclose(body[:3, :3], rotation, rtol=0, atol=1e-9)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)
def test_the_velocity_of_a_pair_is_the_rate_of_its_pose(
    pair: mb.LowerPair, rng: np.random.Generator
) -> None:
    group, h = SE3(), 1e-6
    for _ in range(5):
        q, u = pair.random(rng), rng.uniform(-1, 1, pair.dimension)
        ahead, behind = (pair.inclusion(pair.step(q, s * h * u)) for s in (1.0, -1.0))
        twist = group.vee(group.inverse(pair.inclusion(q)) @ (ahead - behind) / (2 * h))
        np.testing.assert_allclose(twist, pair.subspace @ u, atol=1e-8)
        expected = group.Ad(group.inverse(pair.inclusion(q)))
        np.testing.assert_allclose(pair.adjoint_of_inverse(q), expected, atol=1e-14)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)
def test_the_elements_of_a_pair_are_a_subgroup(
    pair: mb.LowerPair, rng: np.random.Generator
) -> None:
    a, b = (pair.inclusion(pair.random(rng)) for _ in range(2))
    product = a @ SE3().inverse(b)
    near = pair.nearest(product, pair.origin())
    np.testing.assert_allclose(pair.inclusion(near), product, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)
def test_a_pair_between_free_bodies_keeps_energy_and_the_momentum_of_both(
    pair: mb.LowerPair, rng: np.random.Generator
) -> None:
    body = mb.rigid_body(MASS, INERTIA, NO_GRAVITY)
    joint = mb.joint(pair, random_pose(rng), random_pose(rng))
    system = mb.mechanism({"a": body, "b": body}, {"j": mb.Between("a", "b", joint)})
    equations = assemble(system)
    x = mb.consistent_state(
        equations,
        {"j": pair.random(rng)},
        {"j": rng.uniform(-1, 1, pair.dimension)},
        poses={"a": random_pose(rng)},
        twists={"a": rng.uniform(-1, 1, 6)},
    )
    motion = simulate(equations, x, dt=1e-3, steps=100, stride=10)
    group = SE3()
    spatial = np.array(
        [
            sum(
                group.Ad(group.inverse(q)).T @ p
                for q, p in ((motion.value(f"{n}.q")[k], motion.value(f"{n}.p")[k]) for n in "ab")
            )
            for k in range(motion.t.size)
        ]
    )
    # Fourth order at 1 ms and speeds of order one.
    assert np.abs(spatial - spatial[0]).max() < 1e-10
    assert np.abs(motion.first_law).max() < 1e-10
    assert motion.violation.max() < 1e-13


def test_a_joint_may_be_written_from_the_body_to_the_ground() -> None:
    body, o1, o2 = mb.rigid_body(MASS, INERTIA), np.eye(4), np.eye(4)
    o1[:3, :3] = SO3().exp(np.array([0.0, np.pi / 2, 0.0]))
    o2[:3, :3], o2[2, 3] = o1[:3, :3], 0.4
    ends = []
    for first, second, offsets, q in (
        ("ground", "b", (o1, o2), 0.7),
        ("b", "ground", (o2, o1), -0.7),
    ):
        joint = mb.joint(mb.Revolute(), *offsets, friction=0.1)
        equations = assemble(mb.mechanism({"b": body}, {"j": mb.Between(first, second, joint)}))
        motion = simulate(equations, mb.consistent_state(equations, {"j": q}), dt=1e-3, steps=100)
        ends.append((motion.value("b.q")[-1], motion.entropy[-1]))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=0, atol=1e-12)
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-12)


def test_screws_of_different_pitch_are_different_spaces() -> None:
    # To all digits, and whatever they are called.
    a, b = mb.Screw(0.1), mb.Screw(np.nextafter(0.1, 1.0))
    assert a == mb.Screw(0.1)
    assert hash(a) == hash(mb.Screw(0.1))
    assert a != b
    assert mb.Screw(0.1, "spindle") != mb.Screw(0.2, "spindle")
    assert momentum_of(a) != momentum_of(b)
    assert momentum_of(mb.Screw(0.1, "spindle")) != momentum_of(mb.Screw(0.2, "spindle"))
    spindle = mb.joint(mb.Screw(0.1, "spindle"), potential=mb.Spring(mb.Screw(0.1, "spindle"), 1.0))
    assert spindle.interface
    with pytest.raises(PatternError, match="quantity"):
        mb.joint(mb.Screw(0.1, "spindle"), potential=mb.Spring(mb.Screw(0.2, "spindle"), 1.0))
