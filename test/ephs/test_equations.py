# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The equations of the source come out of the assembly, term by term.

The right-hand sides are written here with matrices of their own; nothing of the library's joints
or bodies is used for them but the adjoint of SE(3), which has tests of its own.
"""

import numpy as np
import pytest

from vms_ph_dynamics.groups import SE3, skew
from vms_ph_ephs import assemble, compose
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.quantities import SE3_SPACE, SO3_TIMES_R3_SPACE, LieGroup, SO3TimesR3

from .examples import (
    PARAMETERS,
    damped_oscillator,
    golden_pose,
    oscillator,
    random_pose,
    two_free_bodies,
    two_free_bodies_state,
)

GROUP = SE3()
GRAVITY = np.array([0.0, 0.0, -9.81])

# Sums and products of a few numbers of order one to a hundred.
ROUNDING = 1e-12


def test_the_oscillator_obeys_equation_5(rng: np.random.Generator) -> None:
    k, m = 2.0, 3.0
    equations = assemble(oscillator(k, m))
    for _ in range(5):
        q, p, f = rng.normal(size=3)
        x = equations.states.vector({"q": q, "p": p})
        rates = equations.rates(x, {"p": np.array([f])})
        at = equations.layout.entries
        assert rates.tangent[at["q"]][0] == pytest.approx(p / m, rel=1e-15)
        assert rates.tangent[at["p"]][0] == pytest.approx(-k * q + f, rel=1e-14)
        assert rates.efforts[at["p"]][0] == pytest.approx(p / m, rel=1e-15)


def test_the_damped_oscillator_obeys_equation_8(rng: np.random.Generator) -> None:
    k, m, d, theta_0 = 2.0, 3.0, 0.7, 300.0
    equations = assemble(damped_oscillator(k, m, d))
    for _ in range(5):
        q, p = rng.normal(size=2)
        rates = equations.rates(equations.states.vector({"osc.q": q, "p": p})).tangent
        at = equations.layout.entries
        assert rates[at["osc.q"]][0] == pytest.approx(p / m, rel=1e-15)
        assert rates[at["p"]][0] == pytest.approx(-k * q - d * p / m, rel=1e-14)
        # M and theta_0 multiply and divide: a few more roundings.
        assert rates[at["s"]][0] == pytest.approx(d * (p / m) ** 2 / theta_0, rel=1e-12)


def coadjoint(space: LieGroup, p: np.ndarray, u: np.ndarray) -> np.ndarray:
    """[C (15)], linear first."""
    f, m, v, w = p[:3], p[3:], u[:3], u[3:]
    if space.name == "SE(3)":
        return np.concatenate([np.cross(f, w), np.cross(m, w) + np.cross(f, v)])
    return np.concatenate([np.zeros(3), np.cross(m, w)])


@pytest.mark.parametrize("space", [SE3_SPACE, SO3_TIMES_R3_SPACE], ids=lambda s: s.name)
def test_the_rigid_body_obeys_equation_22(space: LieGroup, rng: np.random.Generator) -> None:
    mass, inertia = 1.3, np.array([[0.5, 0.05, 0.0], [0.05, 0.4, 0.02], [0.0, 0.02, 0.3]])
    equations = assemble(mb.rigid_body(mass, inertia, GRAVITY, space))
    for _ in range(5):
        q, p, wrench = random_pose(rng), rng.normal(size=6), rng.normal(size=6)
        rates = equations.rates(equations.states.vector({"q": q, "p": p}), {"p": wrench})
        u = np.concatenate([p[:3] / mass, np.linalg.solve(inertia, p[3:])])
        rotation = q[:3, :3]
        # T*L_q dV: the force that does the work of the weight along qdot = T L_q u.
        force = -mass * GRAVITY if space.name != "SE(3)" else -mass * rotation.T @ GRAVITY
        pdot = coadjoint(space, p, u) - np.concatenate([force, np.zeros(3)]) + wrench
        at = equations.layout.entries
        np.testing.assert_allclose(rates.tangent[at["q"]], u, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(rates.tangent[at["p"]], pdot, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(rates.efforts[at["p"]], u, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("space", [SE3_SPACE, SO3_TIMES_R3_SPACE], ids=lambda s: s.name)
def test_both_group_structures_describe_the_same_motion_of_a_body(
    space: LieGroup, rng: np.random.Generator
) -> None:
    # [C (12)] for each group, and the laws of Newton and Euler in inertial axes.
    mass, inertia = 1.3, np.diag([0.5, 0.4, 0.3])
    equations = assemble(mb.rigid_body(mass, inertia, GRAVITY, space))
    q, p = random_pose(rng), rng.normal(size=6)
    rates = equations.rates(equations.states.vector({"q": q, "p": p})).tangent
    at = equations.layout.entries
    u, pdot = rates[at["q"]], rates[at["p"]]
    rotation, w = q[:3, :3], np.linalg.solve(inertia, p[3:])
    to_inertial = rotation if space.name == "SE(3)" else np.eye(3)
    rdot = to_inertial @ u[:3]
    np.testing.assert_allclose(rdot, to_inertial @ p[:3] / mass, atol=ROUNDING)
    angular = rotation @ skew(w) if space.name == "SE(3)" else np.zeros((3, 3))
    momentum_rate = to_inertial @ pdot[:3] + angular @ p[:3]
    np.testing.assert_allclose(momentum_rate, mass * GRAVITY, atol=ROUNDING)
    spin_rate = rotation @ (pdot[3:] + np.cross(w, p[3:]))
    np.testing.assert_allclose(spin_rate, np.zeros(3), atol=ROUNDING)


def test_the_joint_obeys_equation_31(rng: np.random.Generator) -> None:
    mu, k, theta_0 = np.array([[0.3, 0.1], [0.1, 0.2]]), np.array([3.0, 4.0]), 298.15
    o1, o2 = random_pose(rng), random_pose(rng)
    pair = mb.Cylindrical()
    joint = mb.joint(pair, o1, o2, friction=mu, potential=mb.Spring(pair, k))
    body = mb.rigid_body(1.3, [0.5, 0.4, 0.3])
    system = mb.mechanism({"b1": body, "b2": body}, {"j": mb.Between("b1", "b2", joint)})
    equations = assemble(system)
    q_r, u_r = rng.normal(size=2), rng.normal(size=2)
    x = mb.consistent_state(
        equations,
        {"j": q_r},
        {"j": u_r},
        poses={"b1": random_pose(rng)},
        twists={"b1": rng.normal(size=6)},
    )
    rates = equations.rates(x)
    at = equations.layout.entries
    u1, u2 = rates.efforts[at["b1.p"]], rates.efforts[at["b2.p"]]
    lam = rates.constraint_forces["j.hc"]
    ad_1, ad_2 = GROUP.Ad(GROUP.inverse(o1)), GROUP.Ad(GROUP.inverse(o2))
    ad_r = GROUP.Ad(GROUP.inverse(pair.inclusion(q_r)))
    i = np.eye(6)[:, [2, 5]]
    np.testing.assert_allclose(rates.tangent[at["j.q_r"]], u_r, atol=ROUNDING)
    heat = u_r @ mu @ u_r / theta_0
    np.testing.assert_allclose(rates.tangent[at["j.s"]], [heat], atol=ROUNDING)
    np.testing.assert_allclose(k * q_r + i.T @ lam + mu @ u_r, 0.0, atol=1e-11)
    np.testing.assert_allclose(ad_r @ ad_1 @ u1 - ad_2 @ u2 + i @ u_r, 0.0, atol=1e-11)
    # What the joint takes from the bodies is what their momenta lack: p_i.f flows into the joint.
    for name, force, u in (
        ("b1", ad_1.T @ ad_r.T @ lam, u1),
        ("b2", -ad_2.T @ lam, u2),
    ):
        p, q = equations.states.value(x, f"{name}.p"), equations.states.value(x, f"{name}.q")
        weight = np.concatenate([1.3 * q[:3, :3].T @ GRAVITY, np.zeros(3)])
        free = coadjoint(SE3_SPACE, p, u) + weight
        np.testing.assert_allclose(rates.tangent[at[f"{name}.p"]], free - force, atol=1e-11)


def test_the_whole_obeys_the_equations_of_section_6_with_its_constraint_corrected() -> None:
    equations = assemble(two_free_bodies())
    x = two_free_bodies_state(equations)
    rates = equations.rates(x)
    at = equations.layout.entries
    lam = rates.constraint_forces["j.hc"]
    u1, u2, u_r = (rates.efforts[at[name]] for name in ("b1.p", "b2.p", "j.p_r"))
    q_r = equations.states.value(x, "j.q_r")
    o1, o2 = golden_pose("o1"), golden_pose("o2")
    ad_r = GROUP.Ad(GROUP.inverse(GROUP.exp(np.append(np.zeros(5), q_r))))
    right = [GROUP.Ad(GROUP.inverse(o)) for o in (o1, o2)]
    printed = [GROUP.Ad(o) for o in (o1, o2)]
    i = np.eye(6)[:, [5]]
    mu, k = PARAMETERS["mu"][1], PARAMETERS["kr"][1]

    def violation(offsets: list[np.ndarray]) -> float:
        return float(np.abs(ad_r @ offsets[0] @ u1 - offsets[1] @ u2 + i @ u_r).max())

    assert violation(right) < ROUNDING
    # The source prints Ad_{o1} and Ad_{o2} here, against its own (24) and (31).
    assert violation(printed) > 0.5
    np.testing.assert_allclose(k * q_r + i.T @ lam + mu * u_r, 0.0, atol=ROUNDING)
    for name, force in (("b1", right[0].T @ ad_r.T @ lam), ("b2", -right[1].T @ lam)):
        n = int(name[1]) - 1
        p, q = equations.states.value(x, f"{name}.p"), equations.states.value(x, f"{name}.q")
        weight = PARAMETERS["mass"][n] * q[:3, :3].T @ GRAVITY
        u = rates.efforts[at[f"{name}.p"]]
        expected = coadjoint(SE3_SPACE, p, u) + np.append(weight, np.zeros(3)) - force
        np.testing.assert_allclose(rates.tangent[at[f"{name}.p"]], expected, atol=1e-11)
    entropy = mu * u_r[0] ** 2 / PARAMETERS["theta0"]
    assert rates.tangent[at["j.s"]][0] == pytest.approx(entropy, rel=1e-13)


def test_the_constraint_stays_satisfied_to_first_order() -> None:
    equations = assemble(two_free_bodies())
    x = two_free_bodies_state(equations)
    step = 1e-6
    ahead = equations.states.step(x, step * equations.rates(x).tangent)
    # The residual of the step is of second order; a wrong multiplier leaves one of first, 1e-5.
    assert np.abs(equations.velocity_residual(ahead)).max() < 1e-9


def test_energy_is_balanced_at_every_junction(rng: np.random.Generator) -> None:
    from vms_ph_ephs.equations.assembly import port_powers

    equations = assemble(two_free_bodies())
    powers = port_powers(equations, two_free_bodies_state(equations))
    pattern = equations.system.pattern
    for ends in pattern.junctions.values():
        passing = [end for end in ends if pattern.port(end).kind == "power"]
        assert sum(powers[end] for end in passing) == pytest.approx(0.0, abs=1e-12)


def test_a_spring_and_a_damper_in_series_relax_as_maxwell_says() -> None:
    # No mass at the junction between them: its velocity follows from the balance of forces.
    from vms_ph_ephs import Environment, simulate
    from vms_ph_ephs.library import Damper

    k, d, q_0 = 2.0, 0.5, 0.3
    spring = oscillator(k).fillings
    system = compose(
        {"pe": spring["pe"], "pkc": spring["pkc"], "mf": Damper(d), "env": Environment(300.0)},
        {"q": ("pe.q", "pkc.q"), "p": ("pkc.p", "mf.p"), "s": ("mf.s", "env.s")},
    )
    equations = assemble(system)
    motion = simulate(equations, equations.states.vector({"q": q_0}), dt=5e-3, steps=200)
    # Fourth order: (k dt / d)^5 / 120 a step.
    assert motion.value("q")[-1, 0] == pytest.approx(q_0 * np.exp(-k / d), rel=1e-7)
    assert np.abs(motion.first_law).max() < 1e-9


def test_the_adjoint_of_the_direct_product_is_that_of_the_source(rng: np.random.Generator) -> None:
    group, pose = SO3TimesR3(), random_pose(rng)
    u = rng.normal(size=6)
    expected = np.concatenate([u[:3], pose[:3, :3] @ u[3:]])  # [C (13)]
    np.testing.assert_allclose(group.Ad(pose) @ u, expected, atol=1e-15)
