# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The Coriolis matrices of the Hamel and of the Euler-Newton equations [B, 3.1 and 3.3.3].

Their products with the robot's velocity are equal, the matrices differ. :attr:`Evaluation.C` is a
third one with the same product, from which ``Mdot`` below is computed.
"""

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen
from ..evaluation import Evaluation, check_moving_rigid
from ..groups import SE3

_SE3 = SE3()


def mass_rate(d: Evaluation) -> Array:
    """Return ``Mdot`` along the motion, (nv,nv)."""
    return frozen(d.C + d.C.T)


def hamel_coriolis(d: Evaluation) -> Array:
    """Return the Coriolis matrix of the Hamel equations, (nv,nv) [B (3.39)].

    See :attr:`Evaluation.C_hamel`. It is not passive.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    return d.C_hamel


class BodyCoriolis:
    """The Coriolis matrices that are sums over the bodies [B (3.41), (3.83)].

    With the body Jacobians ``J_j = [A_jb, J_jq]``, inertias ``Lambda_j`` and ``a_j = ad`` of the
    body twists ``J_j v``.

    Attributes:
        plain: ``sum J^T (Lambda Jdot - a^T Lambda J)``, (nv,nv): not passive.
        passivity: ``sum J^T Lambda a J``, (nv,nv): its product with the velocity is zero, since
            ``a_j nu_j = 0``.
    """

    def __init__(self, d: Evaluation) -> None:
        """Compute the sums over the bodies.

        Args:
            d: the state.

        Raises:
            ModelError: the base is fixed, or the robot is in a fluid.
        """
        check_moving_rigid(d)
        m, data, p = d.tree.pinocchio, d.tree.data(), d.tree.projection
        pin.computeJointJacobiansTimeVariation(m, data, d.q_origin, d.v_full)
        self.plain, self.passivity = np.zeros((2, d.model.nv, d.model.nv))
        for j in range(1, m.njoints):
            jacobian = pin.getJointJacobian(m, data, j, pin.LOCAL)
            rate = pin.getJointJacobianTimeVariation(m, data, j, pin.LOCAL)
            if p is not None:
                jacobian, rate = jacobian @ p, rate @ p
            inertia = m.inertias[j].matrix()
            ad = _SE3.ad(jacobian @ d.v)
            weighted = inertia @ jacobian
            self.plain += weighted.T @ rate - (ad @ jacobian).T @ weighted
            self.passivity += weighted.T @ (ad @ jacobian)
        frozen(self.plain)
        frozen(self.passivity)

    @property
    def passive(self) -> Array:
        """The passive matrix, ``Mdot = C + C^T``, (nv,nv) [B (3.82), (3.83), second lines].

        The first lines of (3.83c, d) add vectors to matrices.
        """
        return self.plain + self.passivity


def passive_coriolis(d: Evaluation) -> Array:
    """Return the passive matrix of [B (3.82)], (nv,nv); see :class:`BodyCoriolis`.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    return frozen(BodyCoriolis(d).passive)
