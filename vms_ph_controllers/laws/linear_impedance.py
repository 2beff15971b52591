# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The mechanical impedance of a task, linearised at an equilibrium of the shaped energy."""

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array, TaskEvaluation
from vms_ph_dynamics.arrays import summary

ComplexArray = npt.NDArray[np.complexfloating]


class LinearImpedance:
    r"""Force over displacement at the task, ``F(s) = Z(s) dx(s)``, linearised at rest in ``q*``.

    With ``(dx, xi) = J_bar dq`` the closed loop is

    ``Lambda_t dx'' + D_t dx' + K_tt dx + K_tn xi = F``,
    ``Lambda_nu xi'' + D_nu xi' + K_nt dx + K_nn xi = 0``,

    where the K are the blocks of ``J_bar^-T W J_bar^-1``. Elimination of xi gives

    ``Z(s) = Lambda_t s^2 + D_t s + K_tt - K_tn (Lambda_nu s^2 + D_nu s + K_nn)^-1 K_nt``.

    [D (40)] has ``K_tt`` only: it is valid for fast motions, or where W is block-diagonal in these
    coordinates. The static stiffness is ``Z(0) = K_tt - K_tn K_nn^-1 K_nt = (J W^-1 J^T)^-1``.
    Gyroscopic terms are of second order and do not appear, for any G_bar.
    """

    def __init__(
        self, t: TaskEvaluation, weight: Array, damping_task: Array, damping_null: Array
    ) -> None:
        """Linearise at the configuration of ``t``.

        Args:
            t: the terms of the task-space form there.
            weight: W (nv,nv), the Hessian of the shaped potential.
            damping_task: D_t (m,m), N s/m.
            damping_null: D_nu (nv-m,nv-m) in the null-space basis of ``t``, N m s/rad.
        """
        m, inverse = len(t.J), t.J_bar_inverse
        stiffness = inverse.T @ weight @ inverse
        self._task = (t.Lambda_t, damping_task, stiffness[:m, :m])
        self._null = (t.Lambda_nu, damping_null, stiffness[m:, m:])
        self._coupling = stiffness[:m, m:]

    def __repr__(self) -> str:
        """Return its sizes, in one line."""
        task, null = self._coupling.shape
        return summary(self, f"{task} task velocities", f"{null} of the null space")

    def at(self, s: complex) -> ComplexArray:
        """Return ``Z(s)`` at a complex frequency s, 1/s, as a matrix (m,m), N/m."""
        null = self._polynomial(self._null, s)
        coupled = self._coupling @ np.linalg.solve(null, self._coupling.T)
        return self._polynomial(self._task, s) - coupled

    @property
    def static(self) -> Array:
        """The static stiffness ``Z(0)``, (m,m) N/m."""
        return np.real(self.at(0.0))

    @staticmethod
    def _polynomial(terms: tuple[Array, Array, Array], s: complex) -> ComplexArray:
        inertia, damping, stiffness = terms
        return np.asarray(inertia * s**2 + damping * s + stiffness, dtype=np.complex128)
