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

# Least eigenvalue of the task mobility, 1/kg or 1/(kg m^2): it bounds the task inertia near
# singularities, and leaves it as it is elsewhere.
_LEAST_MOBILITY = 1e-4


@dataclass(frozen=True, slots=True)
class TaskMotion:
    """The motion of a state in the axes of the end effector.

    Attributes:
        d: the state.
        J: Jacobian of the end effector (6,nv), linear rows first.
        J_rate: its derivative along the motion (6,nv).
        inertia: task inertia (6,6), ``(J M^-1 J^T)^-1``.
        projector: Pi (nv,nv), ``n = Pi v``.
        eta: twist of the end effector ``J v``, (6,).
    """

    d: Evaluation
    J: Array
    J_rate: Array
    inertia: Array
    projector: Array
    eta: Array

    @classmethod
    def at(cls, d: Evaluation, frame_id: int) -> "TaskMotion":
        """Return the motion of a state for the pose of a frame."""
        j = d.frame_jacobian(frame_id)
        inverse = np.linalg.solve(d.M, j.T)
        values, vectors = np.linalg.eigh(j @ inverse)
        inertia = (vectors / np.maximum(values, _LEAST_MOBILITY)) @ vectors.T
        projector = np.eye(len(d.v)) - inverse @ inertia @ j
        return cls(d, j, d.frame_jacobian_rate(frame_id), inertia, projector, j @ d.v)

    @property
    def null_velocity(self) -> Array:
        """n, (nv,)."""
        return self.projector @ self.d.v

    @property
    def kinetic_task(self) -> float:
        """Kinetic energy of the task, J."""
        return 0.5 * float(self.eta @ self.inertia @ self.eta)

    def decoupling(self) -> tuple[Array, Array]:
        """Return the forces that cancel the coupling, on the task (6,) and on all motions (nv,).

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
