# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Numerical evaluation of the variational principles (23) and (32) of source C.

A simulated motion is varied and the Hamilton-Pontryagin action of the varied curves is summed up:
no equation of motion is derived. Velocities of the curves come from differences of poses. If the
principle holds, the variation of the action and the work of the forces add up to zero for every
variation that the constraints admit.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.groups import SE3
from vms_ph_ephs import Trajectory
from vms_ph_ephs.examples import TwoBodies

from .equations import joint_matrices

_SE3 = SE3()
_GRAVITY = np.array([0.0, 0.0, -9.81])

# Half width of the finite-difference stencil of poses, in steps.
_REACH = 3

# Variations by these multiples of a small number give its derivative to fourth order.
_VARIATION_STEP = 2e-3
_WEIGHTS = {1.0: 8.0 / 12.0, -1.0: -8.0 / 12.0, 2.0: -1.0 / 12.0, -2.0: 1.0 / 12.0}


@dataclass(frozen=True)
class Curve:
    """The curves of a motion at the instants where they are varied.

    Attributes:
        t: (k,) s, from zero.
        dt: time step, s.
        q: poses of both bodies, (k,4,4).
        u: their velocities, from differences of poses, (k,6).
        p: their momenta, (k,6).
        q_r, u_r: of the joint, (k,1).
        forces: A_1^T lambda and -A_2^T lambda, into the joint, (k,6) each.
    """

    t: Array
    dt: float
    q: tuple[Array, Array]
    u: tuple[Array, Array]
    p: tuple[Array, Array]
    q_r: Array
    u_r: Array
    forces: tuple[Array, Array]


def curve_of(motion: Trajectory, bodies: TwoBodies) -> Curve:
    """Return the curves of a motion of :meth:`TwoBodies.free`."""
    dt = float(motion.t[1] - motion.t[0])
    inner_rows = slice(_REACH, -_REACH)
    poses = tuple(motion.value(f"b{n}.q") for n in (1, 2))
    q_r = motion.value("j.q_r")
    shifts = [(q_r[_REACH + k : q_r.shape[0] - _REACH + k]) for k in range(-_REACH, _REACH + 1)]
    u_r = (
        45.0 * (shifts[4] - shifts[2]) - 9.0 * (shifts[5] - shifts[1]) + shifts[6] - shifts[0]
    ) / (60.0 * dt)
    forces: tuple[list[Array], list[Array]] = ([], [])
    for state in motion.states[inner_rows]:
        lam = motion.equations.rates(state).constraint_forces["j.hc"]
        angle = motion.equations.states.value(state, "j.q_r")[0]
        first_joint, second_joint = joint_matrices(bodies.offsets, _rotation(angle))
        forces[0].append(first_joint.T @ lam)
        forces[1].append(-second_joint.T @ lam)
    t = motion.t[inner_rows]
    return Curve(
        t - t[0],
        dt,
        (poses[0][inner_rows], poses[1][inner_rows]),
        (_velocity(poses[0], dt), _velocity(poses[1], dt)),
        (motion.value("b1.p")[inner_rows], motion.value("b2.p")[inner_rows]),
        q_r[inner_rows],
        u_r,
        (np.array(forces[0]), np.array(forces[1])),
    )


def body_residual(bodies: TwoBodies, curve: Curve, n: int, rng: np.random.Generator) -> float:
    """Return ``<dA | (dq, du, dp)> + int <F | eta> dt`` of (23), over its largest term.

    Args:
        bodies: the parameters.
        curve: of a motion.
        n: which body, 0 or 1.
        rng: of the variation.
    """
    eta, eta_dot = _random_variation(curve, rng, 6)
    delta_u, delta_p = _random_variation(curve, rng, 6)[0], _random_variation(curve, rng, 6)[0]
    action_variation = _derivative(
        lambda e: _body_action(bodies, curve, n, e * eta, e * eta_dot, e * delta_u, e * delta_p)
    )
    work = -_time_integral(curve, np.einsum("ki,ki->k", curve.forces[n], eta))
    return abs(action_variation + work) / max(abs(action_variation), abs(work))


def joint_residual(
    bodies: TwoBodies, curve: Curve, theta_0: float, rng: np.random.Generator
) -> float:
    """Return the same for (32), with variations that both of its constraints admit.

    Args:
        bodies: the parameters.
        curve: of a motion.
        theta_0: temperature of the environment, K.
        rng: of the variation.
    """
    mu, k = bodies.friction[1], bodies.stiffness[1]
    eta_1, eta_r = _random_variation(curve, rng, 6)[0], _random_variation(curve, rng, 1)[0]
    eta_2 = np.empty_like(eta_1)
    for j, angle in enumerate(curve.q_r[:, 0]):
        first, second = joint_matrices(bodies.offsets, _rotation(float(angle)))
        eta_2[j] = np.linalg.solve(second, first @ eta_1[j] + np.append(np.zeros(5), eta_r[j]))
    # dL/ds ds = <F_fr | eta_r> with L = -V_r - theta_0 s and F_fr = -mu u_r.
    delta_s = mu * curve.u_r[:, 0] * eta_r[:, 0] / theta_0

    def action(e: float) -> float:
        potential = 0.5 * k * (curve.q_r[:, 0] + e * eta_r[:, 0]) ** 2
        return _time_integral(curve, -potential - theta_0 * e * delta_s)

    work = _time_integral(
        curve,
        np.einsum("ki,ki->k", curve.forces[0], eta_1)
        + np.einsum("ki,ki->k", curve.forces[1], eta_2),
    )
    action_variation = _derivative(action)
    return abs(action_variation + work) / max(abs(action_variation), abs(work))


def _body_action(
    bodies: TwoBodies, curve: Curve, n: int, eta: Array, eta_dot: Array, du: Array, dp: Array
) -> float:
    """Return the action of (23) with ``L = T(u) - V(q)`` of the curves varied by finite steps."""
    mass, inertia = bodies.masses[n], np.array(bodies.inertias[n])
    lagrangian = np.empty(curve.t.size)
    for j, variation in enumerate(eta):
        g = _SE3.exp(variation)
        q = curve.q[n][j] @ g
        varied_twist = _SE3.Ad(_SE3.inverse(g)) @ curve.u[n][j] + _SE3.dexp(variation) @ eta_dot[j]
        u, p = curve.u[n][j] + du[j], curve.p[n][j] + dp[j]
        kinetic_energy = 0.5 * mass * u[:3] @ u[:3] + 0.5 * u[3:] @ (inertia * u[3:])
        potential_energy = -mass * _GRAVITY @ q[:3, 3]
        lagrangian[j] = kinetic_energy - potential_energy + p @ (varied_twist - u)
    return _time_integral(curve, lagrangian)


def _random_variation(curve: Curve, rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    """Return a random function that vanishes smoothly at both ends, and its rate, (k,d)."""
    duration = curve.t[-1]
    s = np.pi * curve.t / duration
    a, b = rng.normal(size=(2, d))
    window, window_rate = np.sin(s) ** 8, 8.0 * np.sin(s) ** 7 * np.cos(s) * np.pi / duration
    wave = a + np.outer(np.cos(s), b)
    rate = -np.pi / duration * np.outer(np.sin(s), b)
    return window[:, None] * wave, window_rate[:, None] * wave + window[:, None] * rate


def _derivative(f: Callable[[float], float]) -> float:
    return sum(w * f(offset * _VARIATION_STEP) for offset, w in _WEIGHTS.items()) / _VARIATION_STEP


def _time_integral(curve: Curve, values: Array) -> float:
    """Return the integral over time; what is varied vanishes at the ends to eighth order."""
    return float(curve.dt * values.sum())


def _velocity(poses: Array, dt: float) -> Array:
    """Return ``T_q L_{q^-1} qdot`` from poses alone, to sixth order, (k - 2 reach, 6)."""
    velocities = []
    for j in range(_REACH, poses.shape[0] - _REACH):
        mean_twists = [
            _SE3.log(_SE3.inverse(poses[j - m]) @ poses[j + m]) / (2.0 * m * dt) for m in (1, 2, 3)
        ]
        velocities.append((15.0 * mean_twists[0] - 6.0 * mean_twists[1] + mean_twists[2]) / 10.0)
    return np.array(velocities)


def _rotation(angle: float) -> Array:
    return _SE3.exp(np.append(np.zeros(5), angle))
