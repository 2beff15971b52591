# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The equations of source C as printed, compared with the assembled EPHS.

Of the library only the adjoint of SE(3) is used, no bodies and joints. Twists are
linear first here, angular first in the source.
"""

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.groups import SE3
from vms_ph_ephs import Equations, assemble
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import TwoBodies, damped_oscillator, oscillator

_SE3 = SE3()
_GRAVITY = np.array([0.0, 0.0, -9.81])


def coadjoint(u: Array, p: Array) -> Array:
    """Return ``ad*_u(p)`` [C (15)]."""
    f, m, v, w = p[:3], p[3:], u[:3], u[3:]
    return np.concatenate([np.cross(f, w), np.cross(m, w) + np.cross(f, v)])


def oscillator_error(rng: np.random.Generator, sample_count: int) -> tuple[float, float]:
    """Return the violation of (5) and (8) by the assembled equations."""
    k, m, d, theta_0 = rng.uniform(0.5, 5.0, 4)
    theta_0 *= 100.0
    ideal, damped_system = assemble(oscillator(k, m)), assemble(damped_oscillator(k, m, d, theta_0))
    ideal_error = damped_error = 0.0
    for _ in range(sample_count):
        q, p, f = rng.normal(size=3)
        rate = ideal.rates(ideal.states.vector({"q": q, "p": p}), {"p": np.array([f])}).tangent
        entries = ideal.layout.entries
        expected = np.array([p / m, -k * q + f])
        ideal_error = max(
            ideal_error, np.abs(np.append(rate[entries["q"]], rate[entries["p"]]) - expected).max()
        )
        rate = damped_system.rates(damped_system.states.vector({"osc.q": q, "p": p})).tangent
        entries = damped_system.layout.entries
        v = p / m
        expected = np.array([v, -k * q - d * v, d * v * v / theta_0])
        assembled_rates = np.concatenate([rate[entries[name]] for name in ("osc.q", "p", "s")])
        damped_error = max(damped_error, np.abs(assembled_rates - expected).max())
    return float(ideal_error), float(damped_error)


def body_error(bodies: TwoBodies, rng: np.random.Generator, sample_count: int) -> float:
    """Return the violation of (22)."""
    mass, inertia = bodies.masses[0], np.array(bodies.inertias[0])
    equations = assemble(bodies.bodies["b1"])
    entries, error = equations.layout.entries, 0.0
    for _ in range(sample_count):
        q, p, f = _SE3.random(rng), rng.normal(size=6), rng.normal(size=6)
        rate = equations.rates(equations.states.vector({"q": q, "p": p}), {"p": f}).tangent
        u = np.concatenate([p[:3] / mass, p[3:] / inertia])
        grad = np.append(-mass * q[:3, :3].T @ _GRAVITY, np.zeros(3))
        expected = coadjoint(u, p) - grad + f
        error = max(
            error, np.abs(rate[entries["q"]] - u).max(), np.abs(rate[entries["p"]] - expected).max()
        )
    return float(error)


def joint_matrices(
    offsets: tuple[Array, Array], inclusion: Array, as_printed: bool = False
) -> tuple[Array, Array]:
    """Return the maps of u_1 and u_2 to frame C2, as in (31) or as section 6 prints them."""
    o1, o2 = offsets if as_printed else (_SE3.inverse(offsets[0]), _SE3.inverse(offsets[1]))
    return _SE3.Ad(_SE3.inverse(inclusion)) @ _SE3.Ad(o1), _SE3.Ad(o2)


def section_6_errors(
    bodies: TwoBodies, rng: np.random.Generator, sample_count: int
) -> tuple[float, float]:
    """Return the violation of section 6 by the assembled equations: corrected, and as printed.

    The second is that of its constraint on velocities only.
    """
    equations = assemble(bodies.free())
    corrected_error = printed = 0.0
    for _ in range(sample_count):
        x = mb.consistent_state(
            equations,
            {"j": rng.uniform(-3.0, 3.0)},
            {"j": rng.normal()},
            poses={"b1": _SE3.random(rng)},
            twists={"b1": rng.normal(size=6)},
        )
        violation = _section_6_violations(bodies, equations, x)
        corrected_error, printed = max(corrected_error, violation[0]), max(printed, violation[1])
    return corrected_error, printed


def _section_6_violations(bodies: TwoBodies, equations: Equations, x: Array) -> tuple[float, float]:
    rates = equations.rates(x)
    entries, lam = equations.layout.entries, rates.constraint_forces["j.hc"]
    q_r, u_r = equations.states.value(x, "j.q_r"), rates.efforts[entries["j.p_r"]]
    i = np.eye(6)[:, [5]]
    inclusion = _SE3.exp(i[:, 0] * q_r[0])
    first_joint, second_joint = joint_matrices(bodies.offsets, inclusion)
    u = [rates.efforts[entries[f"b{n}.p"]] for n in (1, 2)]
    mu, k = bodies.friction[1], bodies.stiffness[1]
    errors = [
        rates.tangent[entries["j.q_r"]] - u_r,
        rates.tangent[entries["j.s"]] - mu * u_r**2 / equations.theta_0,
        k * q_r + i.T @ lam + mu * u_r,
        first_joint @ u[0] - second_joint @ u[1] + i @ u_r,
    ]
    for n, force in ((0, first_joint.T @ lam), (1, -second_joint.T @ lam)):
        p = equations.states.value(x, f"b{n + 1}.p")
        q = equations.states.value(x, f"b{n + 1}.q")
        grad = np.append(-bodies.masses[n] * q[:3, :3].T @ _GRAVITY, np.zeros(3))
        errors.append(rates.tangent[entries[f"b{n + 1}.q"]] - u[n])
        errors.append(rates.tangent[entries[f"b{n + 1}.p"]] - (coadjoint(u[n], p) - grad - force))
    printed_maps = joint_matrices(bodies.offsets, inclusion, as_printed=True)
    printed_residual = printed_maps[0] @ u[0] - printed_maps[1] @ u[1] + i @ u_r
    return float(np.abs(np.concatenate(errors)).max()), float(np.abs(printed_residual).max())


def frame_of_relative_velocity(rng: np.random.Generator) -> tuple[float, float]:
    """Return the difference of u_r of a planar pair from the relative twist in C2, and in C1."""
    pair, h = mb.Planar(), 1e-5
    q, u_r = pair.random(rng), rng.normal(size=3)
    inclusions = [pair.inclusion(pair.step(q, s * h * u_r)) for s in (1.0, -1.0)]
    rate = (inclusions[0] - inclusions[1]) / (2.0 * h)
    inverse = _SE3.inverse(pair.inclusion(q))
    twist_in_c2, twist_in_c1 = _SE3.vee(inverse @ rate), _SE3.vee(rate @ inverse)
    i = np.eye(6)[:, [0, 1, 5]]
    return float(np.abs(i @ u_r - twist_in_c2).max()), float(np.abs(i @ u_r - twist_in_c1).max())
