"""The Coriolis matrices of the Hamel and of the Euler-Newton equations [B, 3.1 and 3.3.3].

Both give the same forces on the robot's own velocity, and differ as matrices. That of
:attr:`Evaluation.C` is a third one; ``Mdot`` below is taken from it.
"""

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen
from ..errors import ModelError
from ..evaluation import Evaluation
from ..groups import SE3
from .frames import base_group

_SE3 = SE3()


def check_moving_rigid(d: Evaluation) -> None:
    """Refuse a robot whose base does not move, or that is in a fluid.

    Raises:
        ModelError: saying which.
    """
    if d.model.base == "fixed":
        raise ModelError(
            f"decoupling is that of a moving base; '{d.model.name}' has a fixed base: load it "
            "with base='planar' or base='floating'"
        )
    if d.model.fluid is not None:
        raise ModelError(
            f"decoupling is offered for rigid bodies; '{d.model.name}' is in a fluid, whose added "
            "mass belongs to no rigid body"
        )


def mass_rate(d: Evaluation) -> Array:
    """Return ``Mdot`` along the motion, (nv,nv)."""
    return frozen(d.C + d.C.T)


def hamel_coriolis(d: Evaluation) -> Array:
    """Return the Coriolis matrix of the Hamel equations, (nv,nv) [B (3.39)].

    ``[[Mdot_bb - a^T M_bb, Mdot_bq - a^T M_bq], [Mdot_bq^T - M_b,q / 2, Mdot_qq - M_bq,q -
    M_q,q / 2]]`` with ``a = ad_v`` of the base twist. It is not passive.

    Raises:
        ModelError: a fixed base, or a fluid.
    """
    check_moving_rigid(d)
    b, group = d.model.b, base_group(d.model)
    c = mass_rate(d).copy()
    c[:b] -= group.coad(d.v[:b]) @ d.M[:b]
    # Row k: half of v_b^T dM_bb/dq_k; v_b^T dM_bq/dq_k and half of qdot^T dM_qq/dq_k.
    base, arm = d.v[:b] @ d.dM[:, :b], d.v[b:] @ d.dM[:, b:, b:]
    c[b:, :b] -= 0.5 * base[:, :b]
    c[b:, b:] -= base[:, b:] + 0.5 * arm
    return frozen(c)


class BodyCoriolis:
    """The Coriolis matrices that are sums over the bodies [B (3.41), (3.83)].

    With the body Jacobians ``J_j = [A_jb, J_jq]``, inertias ``Lambda_j`` and ``a_j = ad`` of the
    body twists ``J_j v``.

    Attributes:
        plain: ``sum J^T (Lambda Jdot - a^T Lambda J)``, (nv,nv): not passive.
        passivity: ``sum J^T Lambda a J``, (nv,nv): gives no force, for ``a_j nu_j = 0``.
    """

    def __init__(self, d: Evaluation) -> None:
        """Sum over the bodies.

        Raises:
            ModelError: a fixed base, or a fluid.
        """
        check_moving_rigid(d)
        model, data = d.model, d.model.workspace()
        m, p = model._pin, d.model.projection
        pin.computeJointJacobiansTimeVariation(m, data, d.q_origin, d._v_full)
        self.plain, self.passivity = np.zeros((2, model.nv, model.nv))
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

        The first lines of (3.83c, d) mix terms of vectors and of matrices.
        """
        return self.plain + self.passivity


def passive_coriolis(d: Evaluation) -> Array:
    """Return the passive matrix of [B (3.82)], (nv,nv); see :class:`BodyCoriolis`.

    Raises:
        ModelError: a fixed base, or a fluid.
    """
    return frozen(BodyCoriolis(d).passive)
