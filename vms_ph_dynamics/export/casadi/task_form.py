# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The task-space form as functions of CasADi."""

from functools import cached_property

import casadi as ca

from ...actuation.friction import Friction
from ...arrays import Array
from ...model import VMSModel
from ...tasks import Task
from ..spatial import Expression
from ..task_jacobian import task_jacobian
from .configurations import tangent
from .form import CasadiForm, Function
from .linear_algebra import Factorised, inverse, nearest_orthonormal, orthonormal_rows
from .momentum_forms import coadjoint_matrix


class CasadiTaskForm(CasadiForm):
    """The task-space form [D (13)-(27)]: ``z = (pi, pi_nu)``, layout ``(q, pi, pi_nu)``.

    The basis of the null space is that of the form it comes from, aligned with the same reference,
    for alignments above 0.1. The Jacobian is that of the task itself: near a singularity, where
    ``TaskSpaceForm.evaluate(q, v).is_regular`` is false, the form continues with a lifted Jacobian
    and the export does not.

    Attributes:
        task: the task.
    """

    def __init__(
        self,
        model: VMSModel,
        task: Task,
        reference: Array,
        gravity: bool = True,
        friction: Friction | None = None,
        parameters: bool = False,
    ) -> None:
        """Export a form; see :meth:`.Form.casadi`.

        Raises:
            ModelError: the task has no symbolic Jacobian.
        """
        super().__init__(model, gravity, friction, parameters)
        self.task = task
        self._jacobian = task_jacobian(self._tree, task)
        self._reference = ca.SX(reference)

    @cached_property
    def hamiltonian(self) -> Function:
        """``(q, z)`` to ``kinetic_task``, ``kinetic_null``, ``potential``, ``total`` [D (26)]."""
        m = self.task.dimension
        task = ca.dot(self._z[:m], self._rates[:m]) / 2
        null = ca.dot(self._z[m:], self._rates[m:]) / 2
        return self._function(
            "hamiltonian",
            {
                "kinetic_task": task,
                "kinetic_null": null,
                "potential": self._potential,
                "total": task + null + self._potential,
            },
        )

    @cached_property
    def gradient(self) -> Function:
        """``(q, z)`` to ``(dK/dq at fixed z, eta, nu)``, (2nv,)."""
        slope = -(self._drift.T @ self._rates)
        slope[self.model.b :] -= self._slope[self.model.b :]
        return self._function("gradient", {"dH": ca.vertcat(slope, self._rates)})

    @cached_property
    def interconnection(self) -> Function:
        """``(q, z)`` to ``J_z = [[0, J_bar^-1], [-J_bar^-T, G]]``, (2nv,2nv) [D (27)]."""
        nv, inverse_map = self.model.nv, self._inverse_map
        matrix = ca.SX(2 * nv, 2 * nv)
        matrix[:nv, nv:], matrix[nv:, :nv] = inverse_map, -inverse_map.T
        matrix[nv:, nv:] = self._coupling
        return self._function("interconnection", {"J": matrix})

    @cached_property
    def terms(self) -> Function:
        """``(q, v)`` to the terms of the task.

        ``J`` (m,nv), ``Z`` (nv-m,nv), ``Lambda_t``, ``Lambda_nu``, ``J_sharp`` (nv,m), ``eta``
        (m,), ``nu`` (nv-m,), ``pi`` and ``pi_nu``.
        """
        m, eta = self.task.dimension, self._jacobian @ self._v
        momentum = self._tree.M @ self._v
        momenta = self._inverse_map.T @ momentum
        return self._function(
            "terms",
            {
                "J": self._jacobian,
                "Z": self._basis,
                "Lambda_t": self._task_inertia,
                "Lambda_nu": self._null_inertia,
                "J_sharp": self._sharp,
                "eta": eta,
                "nu": self._null_factors.solve(momenta[m:]),
                "pi": momenta[:m],
                "pi_nu": momenta[m:],
            },
            state=self._v,
        )

    @cached_property
    def coupling(self) -> Function:
        """``(q, z)`` to the gyroscopic matrix ``G`` of task and null space, (nv,nv) [D (27)]."""
        return self._function("coupling", {"G": self._coupling})

    @cached_property
    def _basis(self) -> Expression:
        return nearest_orthonormal(self._reference, orthonormal_rows(self._jacobian))

    @cached_property
    def _mobile(self) -> Expression:
        return self._factorised.solve(self._jacobian.T)

    @cached_property
    def _task_inertia(self) -> Expression:
        return inverse(ca.triu2symm(ca.triu(self._jacobian @ self._mobile)))

    @cached_property
    def _sharp(self) -> Expression:
        return self._mobile @ self._task_inertia

    @cached_property
    def _null_inertia(self) -> Expression:
        return ca.triu2symm(ca.triu(self._basis @ self._tree.M @ self._basis.T))

    @cached_property
    def _null_factors(self) -> Factorised:
        return Factorised(self._null_inertia)

    @cached_property
    def _inverse_map(self) -> Expression:
        """``J_bar^-1 = [J_sharp, Z^T]``, (nv,nv)."""
        return ca.horzcat(self._sharp, self._basis.T)

    @cached_property
    def _rates(self) -> Expression:
        """``(eta, nu)`` of the momenta, (nv,)."""
        m = self.task.dimension
        eta = self._jacobian @ (self._mobile @ self._z[:m])
        return ca.vertcat(eta, self._null_factors.solve(self._z[m:]))

    @cached_property
    def _velocity(self) -> Expression:
        m = self.task.dimension
        return self._mobile @ self._z[:m] + self._basis.T @ self._rates[m:]

    @cached_property
    def _input_matrix(self) -> Expression:
        nv = self.model.nv
        return ca.vertcat(ca.SX(nv, nv), self._inverse_map.T)

    @cached_property
    def _drift(self) -> Expression:
        """E: the derivatives of ``J_bar^-T p`` at fixed momentum p, (nv,nv) [D, Prop. 1]."""
        p = ca.SX.sym("p", self.model.nv)
        slope = ca.jacobian(self._inverse_map.T @ p, self._q) @ tangent(self.model, self._q)
        (result,) = ca.substitute([slope], [p], [self._tree.M @ self._velocity])
        return result

    @cached_property
    def _coupling(self) -> Expression:
        b, inverse_map = self.model.b, self._inverse_map
        product = self._drift @ inverse_map
        skew = product - product.T
        if b:
            p = (self._tree.M @ self._velocity)[:b]
            skew += inverse_map[:b, :].T @ coadjoint_matrix(p) @ inverse_map[:b, :]
        return skew

    def _momenta_of(self, v: Expression) -> Expression:
        return self._inverse_map.T @ (self._tree.M @ v)

    def _momentum_rate(self, force: Expression) -> Expression:
        p = ca.SX.sym("p", self.model.nv)
        momenta = self._inverse_map.T @ p
        # Along the motion, at fixed momentum: E v without the matrix E.
        drift = ca.jtimes(momenta, self._q, tangent(self.model, self._q) @ self._velocity)
        (drift,) = ca.substitute([drift], [p], [self._tree.M @ self._velocity])
        return drift + self._inverse_map.T @ (self._slope + force)
