# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The motion of the end effector and of its null space, with the coupling of both by inertia.

The velocity splits into ``v = u + n`` with ``M u = J^T pi`` and ``J n = 0``. Inertia alone carries
the power ``X = pi^T Jdot n - u^T C n`` from the null space to the task. It is bilinear in both
motions, which gives forces that cancel it without a basis of the null space and without the
derivatives of one.
"""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, Evaluation
from vms_ph_dynamics.groups import SE3, SO3

_SE3, _SO3 = SE3(), SO3()

# Least eigenvalue of the task mobility, 1/kg or 1/(kg m^2): it bounds the task inertia near
# singularities, and leaves it as it is elsewhere.
_LEAST_MOBILITY = 1e-4


@dataclass(frozen=True, slots=True)
class TaskMotion:
    """The motion of a state in the axes of the end effector.

    Attributes:
        d: the state.
        J: task Jacobian (m,nv), linear rows first.
        J_rate: its derivative along the motion (m,nv).
        inertia: task inertia (m,m), ``(J M^-1 J^T)^-1``.
        projector: Pi (nv,nv), ``n = Pi v``.
        twist: of the end effector (6,).
    """

    d: Evaluation
    J: Array
    J_rate: Array
    inertia: Array
    projector: Array
    twist: Array

    @classmethod
    def at(cls, d: Evaluation, frame_id: int, dimension: int) -> "TaskMotion":
        """Return the motion of a state for the pose (6) or the position (3) of a frame."""
        full = d.frame_jacobian(frame_id)
        rate = d.frame_jacobian_rate(frame_id)
        j = full[:dimension]
        inverse = np.linalg.solve(d.M, j.T)
        values, vectors = np.linalg.eigh(j @ inverse)
        inertia = (vectors / np.maximum(values, _LEAST_MOBILITY)) @ vectors.T
        projector = np.eye(len(d.v)) - inverse @ inertia @ j
        return cls(d, j, rate[:dimension], inertia, projector, full @ d.v)

    @property
    def eta(self) -> Array:
        """Task velocity ``J v``, (m,)."""
        return self.twist[: len(self.J)]

    @property
    def null_velocity(self) -> Array:
        """n, (nv,)."""
        return self.projector @ self.d.v

    @property
    def kinetic_task(self) -> float:
        """Kinetic energy of the task, J."""
        return 0.5 * float(self.eta @ self.inertia @ self.eta)

    def decoupling(self) -> tuple[Array, Array]:
        """Return the forces that cancel the coupling, on the task (m,) and on all motions (nv,).

        Their powers are -X and X: together they move no energy in or out, and leave the task
        without a drift by the null-space motion.
        """
        d, n = self.d, self.null_velocity
        u = d.v - n
        bias = np.linalg.solve(d.M, d.C @ n)
        on_task = -self.inertia @ (self.J_rate @ n - self.J @ bias)
        pi = self.inertia @ self.eta
        on_null = self.projector.T @ (self.J_rate.T @ pi - d.C.T @ u)
        return on_task, on_null

    def drift(self) -> Array:
        """Return the task force (m,) that leaves the task without an acceleration by velocities."""
        d = self.d
        bias = np.linalg.solve(d.M, d.C @ d.v)
        return np.asarray(self.inertia @ (self.J @ bias - self.J_rate @ d.v))

    def inertial_rate(self, inertia: Array) -> Array:
        """Return the task force (m,) on an inertia (m,m), fixed in the axes, that turns with them.

        It has no power. For a pose it is that of a rigid body, ``ad_eta^T Lambda_d eta``.
        """
        if len(self.J) == 6:
            return np.asarray(_SE3.ad(self.twist).T @ (inertia @ self.twist))
        turning = _SO3.hat(self.twist[3:])
        return np.asarray(-0.5 * (turning @ inertia + inertia @ turning) @ self.eta)
