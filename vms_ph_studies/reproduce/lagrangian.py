# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source A: the Lagrangian counterparts of the decoupled form, section 6."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen
from vms_ph_dynamics.forms import DecoupledEvaluation
from vms_ph_dynamics.groups import base_group
from vms_ph_dynamics.robot_model import RobotModel


@dataclass(frozen=True)
class LockedAcceleration:
    """Accelerations in locked coordinates.

    Attributes:
        v_hat_dot: (b,) rate of the locked velocity.
        qddot: (n,) joint accelerations.
    """

    v_hat_dot: Array
    qddot: Array


class ReducedEulerLagrange:
    """``M_hat (v_hat_dot; qddot) + (C1_hat + C2_hat) (v_hat; qdot) = (w_hat; tau_hat)`` [A (85)].

    Attributes:
        M_hat: block-diagonal inertia, (nv,nv) [A (86)].
        C1_hat: ``Mdot_hat - 2 C1_hat`` is skew [A (87)].
        C2_hat: skew [A (88)].
    """

    def __init__(self, t: DecoupledEvaluation) -> None:
        self._t = t
        d, b, n = t.d, t.d.model.b, t.d.model.n
        zero = np.zeros((b, n))
        self.M_hat = frozen(np.block([[d.M_b, zero], [zero.T, d.M_hat_m]]))
        self.C1_hat = frozen(np.block([[t.P_b, t.E_b], [-t.E_b.T, t.C_hat_m]]))
        poisson = t.coadjoint_matrix
        coupling = poisson @ d.A
        self.C2_hat = frozen(np.block([[-poisson, coupling], [-coupling.T, t.B]]))

    def acceleration(self, wrench_base: Array, torque: Array) -> LockedAcceleration:
        """Return the accelerations under a base wrench (b,) and joint torques (n,).

        Both include all efforts, gravity too; they are transformed by [A (73)] here.
        """
        d, b = self._t.d, self._t.d.model.b
        locked_velocity = np.concatenate([d.v_hat, d.v[b:]])
        force = np.concatenate([wrench_base, torque - d.A.T @ wrench_base])
        rate = np.linalg.solve(self.M_hat, force - (self.C1_hat + self.C2_hat) @ locked_velocity)
        return LockedAcceleration(frozen(rate[:b]), frozen(rate[b:]))


def structure_constants(model: RobotModel) -> Array:
    """Return c with ``[e_I, e_J] = c[K,I,J] e_K`` of the base algebra, (b,b,b) [A, after (92)]."""
    if model.base == "fixed":
        return np.zeros((0, 0, 0))
    group = base_group(model.base)
    return np.stack([group.ad(e) for e in np.eye(group.dimension)], axis=1)


class HamelCoefficients:
    """The coefficients of the Boltzmann-Hamel equations in locked coordinates [A (90)-(92)].

    Attributes:
        base: gamma^K_IJ, (b,b,b), indices K I J.
        mixed: gamma^K_Ij, (b,b,n), indices K I j; gamma^K_jI is its negative.
        shape: gamma^K_ij, (b,n,n), indices K i j: the curvature of the connection.
    """

    def __init__(self, t: DecoupledEvaluation) -> None:
        connection, c = t.d.A, structure_constants(t.d.model)
        self.base = frozen(c)
        self.mixed = frozen(-np.einsum("kij,jm->kim", c, connection))
        # t.dA[j,K,i] = dA_Ki / dq_j.
        dA = t.dA.transpose(1, 2, 0)
        bracket = np.einsum("kij,im,jl->kml", c, connection, connection)
        self.shape = frozen(bracket + dA - dA.transpose(0, 2, 1))


def boltzmann_hamel_forces(t: DecoupledEvaluation, acceleration: LockedAcceleration) -> Array:
    """Return ``(w_hat, tau_hat)`` by the Boltzmann-Hamel equations, (nv,) [A (89)].

    Args:
        t: the state.
        acceleration: of the motion.
    """
    d, b = t.d, t.d.model.b
    gamma, p, rates = HamelCoefficients(t), t.d.p, t.d.v[t.d.model.b :]
    mass_rate = np.einsum("kij,k->ij", d.dM[:, :b, :b], rates)
    shape_rate = np.einsum("kij,k->ij", t.dM_hat_m, rates)
    gradient = 0.5 * np.einsum("kij,i,j->k", d.dM[:, :b, :b], d.v_hat, d.v_hat)
    gradient += 0.5 * np.einsum("kij,i,j->k", t.dM_hat_m, rates, rates)
    base_force = d.M_b @ acceleration.v_hat_dot + mass_rate @ d.v_hat
    base_force += np.einsum("kij,j,k->i", gamma.base, d.v_hat, p)
    base_force += np.einsum("kij,j,k->i", gamma.mixed, rates, p)
    shape_force = d.M_hat_m @ acceleration.qddot + shape_rate @ rates - gradient
    shape_force -= np.einsum("kji,j,k->i", gamma.mixed, d.v_hat, p)
    shape_force += np.einsum("kij,j,k->i", gamma.shape, rates, p)
    return np.concatenate([base_force, shape_force])
