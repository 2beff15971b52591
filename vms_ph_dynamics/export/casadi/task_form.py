# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The task-space form as functions of CasADi."""

from functools import cached_property
from typing import Any

import casadi as ca

from ...arrays import Array
from ...model import VMSModel
from ...tasks import Task
from ..forms import TaskTerms
from ..spatial import Expression
from .form import CasadiForm, Function
from .momentum_forms import coadjoint_matrix


class CasadiTaskForm(CasadiForm):
    """The task-space form [D (13)-(27)]: ``z = (pi, pi_nu)``, layout ``(q, pi, pi_nu)``.

    The basis of the null space is that of the form it comes from, nearest to the same reference,
    for alignments above 0.1. The Jacobian is that of the task itself: near a singularity, where
    ``TaskSpaceForm.evaluate(q, v).is_regular`` is false, the form continues with a lifted Jacobian
    and the export does not.

    Attributes:
        task: the task.
    """

    def __init__(self, model: VMSModel, task: Task, reference_basis: Array, **options: Any) -> None:
        """Export a form; see :meth:`.Form.casadi`.

        Args:
            model: the robot.
            task: the task.
            reference_basis: of the null space of the form, (nv-m,nv).
            options: ``gravity``, ``friction`` and ``parameters`` of :class:`CasadiForm`.

        Raises:
            ModelError: the task has no symbolic Jacobian.
        """
        super().__init__(model, **options)
        self.task, self._reference_basis = task, reference_basis
        _ = self._terms  # refuses a task without an export

    @cached_property
    def _terms(self) -> TaskTerms:
        return TaskTerms(self._tree, self.task, self._reference_basis, self._momentum_map_rate)

    def _momentum_map_rate(self, v: Expression) -> Expression:
        p = ca.SX.sym("p", self.model.nv)
        # Along the motion, at fixed p: E v without the matrix E.
        rate = ca.jtimes(self._terms.inverse_map.T @ p, self._q, self._tangent @ v)
        (rate,) = ca.substitute([rate], [p], [self._tree.M @ v])
        return rate

    @cached_property
    def gradient(self) -> Function:
        """``(q, z)`` to ``(dK/dq at fixed z, eta, nu)``, (2nv,)."""
        slope = -(self._drift.T @ self._rates)
        slope[self.model.b :] -= self._slope[self.model.b :]
        return self._function("gradient", {"dH": ca.vertcat(slope, self._rates)})

    @cached_property
    def interconnection(self) -> Function:
        """``(q, z)`` to ``J_z = [[0, J_bar^-1], [-J_bar^-T, G]]``, (2nv,2nv) [D (27)]."""
        nv, inverse_map = self.model.nv, self._terms.inverse_map
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
        task_terms, m = self._terms, self.task.dimension
        momenta = task_terms.momenta(self._v)
        return self._function(
            "terms",
            {
                "J": task_terms.jacobian,
                "Z": task_terms.basis,
                "Lambda_t": task_terms.task_inertia,
                "Lambda_nu": task_terms.null_inertia,
                "J_sharp": task_terms.sharp,
                "eta": task_terms.jacobian @ self._v,
                "nu": task_terms.null_factors.solve(momenta[m:]),
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
    def _rates(self) -> Expression:
        return self._terms.rates(self._z)

    @cached_property
    def _input_matrix(self) -> Expression:
        nv = self.model.nv
        return ca.vertcat(ca.SX(nv, nv), self._terms.inverse_map.T)

    @cached_property
    def _drift(self) -> Expression:
        """E: the derivatives of ``J_bar^-T p`` at fixed momentum p, (nv,nv) [D, Prop. 1]."""
        return self._derivatives(self._terms.inverse_map, self._tree.M @ self._velocity)

    @cached_property
    def _coupling(self) -> Expression:
        b, inverse_map = self.model.b, self._terms.inverse_map
        product = self._drift @ inverse_map
        coupling = product - product.T
        if b:
            p = (self._tree.M @ self._velocity)[:b]
            coupling += inverse_map[:b, :].T @ coadjoint_matrix(p) @ inverse_map[:b, :]
        return coupling
