# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The standard and the inertially decoupled form as functions of CasADi.

Slices that may be empty have both indices: by one, CasADi makes a row of what is (1,1).
"""

from functools import cached_property

import casadi as ca

from ..forms import DecoupledTerms, FormTerms, StandardTerms
from ..spatial import Expression
from .form import CasadiForm, Function


def coadjoint_matrix(p: Expression) -> Expression:
    """Return ``ad~_p`` with ``ad~_p v = ad_v^T p`` of a base momentum, (b,b) [A (38)]."""
    b = p.shape[0]
    if b == 6:
        linear, angular = ca.skew(p[:3]), ca.skew(p[3:])
        return ca.vertcat(ca.horzcat(ca.SX(3, 3), linear), ca.horzcat(linear, angular))
    matrix = ca.SX(b, b)
    if b == 3:
        matrix[0, 2], matrix[1, 2] = p[1], -p[0]
        matrix[2, 0], matrix[2, 1] = -p[1], p[0]
    return matrix


class CasadiStandardForm(CasadiForm):
    """The standard form [A (47)-(50)]: ``z = (p, pi)``, layout ``(p, q, pi)``."""

    @cached_property
    def _terms(self) -> FormTerms:
        return StandardTerms(self._tree)

    @cached_property
    def gradient(self) -> Function:
        """``(q, z)`` to ``(v_b, dK/dq at fixed z, qdot)``, (b+2n,) [A (47)]."""
        v, b = self._velocity, self.model.b
        return self._function("gradient", {"dH": ca.vertcat(v[:b, :], -self._slope[b:], v[b:])})

    @cached_property
    def interconnection(self) -> Function:
        """``(q, z)`` to ``J = diag(ad~_p, [[0, I], [-I, 0]])``, (b+2n,b+2n) [A (48)]."""
        b, n = self.model.b, self.model.n
        matrix = _canonical_structure(b, n)
        matrix[:b, :b] = coadjoint_matrix(self._z[:b, :])
        return self._function("interconnection", {"J": matrix})

    @cached_property
    def _input_matrix(self) -> Expression:
        return _input_matrix_of(self.model.b, self.model.n)


class CasadiDecoupledForm(CasadiForm):
    """The decoupled form [A (59)-(73)]: ``z = (p, pi_hat)``, layout ``(p, q, pi_hat)``."""

    @cached_property
    def _terms(self) -> DecoupledTerms:
        return DecoupledTerms(self._tree)

    @cached_property
    def gradient(self) -> Function:
        """``(q, z)`` to ``(v_hat, dK/dq at fixed z, qdot)``, (b+2n,) [A (61)-(63)].

        At fixed ``(p, pi_hat)`` the connection contributes ``-(dA^T/dq p)^T qdot``.
        """
        b, v = self.model.b, self._velocity
        v_hat, slope = self._terms.locked_inverse @ self._z[:b, :], -self._slope[b:]
        if b:
            # dK/dq at fixed (p, pi) is that at fixed (p, pi_hat), less L^T of the joint rates.
            slope += self._connection_slope.T @ v[b:]
        return self._function("gradient", {"dH": ca.vertcat(v_hat, slope, v[b:])})

    @cached_property
    def interconnection(self) -> Function:
        """``(q, z)`` to ``J_hat``, (b+2n,b+2n) [A (68)]."""
        b, n = self.model.b, self.model.n
        matrix = _canonical_structure(b, n)
        if b:
            A, slope = self._terms.connection, self._connection_slope
            poisson = coadjoint_matrix(self._z[:b])
            coupled_block = poisson @ A
            matrix[:b, :b], matrix[:b, b + n :] = poisson, -coupled_block
            matrix[b + n :, :b] = coupled_block.T
            matrix[b + n :, b + n :] = A.T @ coupled_block - slope + slope.T
        return self._function("interconnection", {"J": matrix})

    @cached_property
    def connection(self) -> Function:
        """``(q)`` to the mechanical connection ``A`` (b,n) [A (53)]."""
        return self._function("connection", {"A": self._terms.connection}, state=None)

    @cached_property
    def _input_matrix(self) -> Expression:
        b, n = self.model.b, self.model.n
        matrix = _input_matrix_of(b, n)
        if b:
            matrix[b + n :, :b] = -self._terms.connection.T
        return matrix

    @cached_property
    def _connection_slope(self) -> Expression:
        """L = ``[dA^T/dq_k p]`` as columns, (n,n) [A (58)]."""
        b = self.model.b
        return self._derivatives(self._terms.connection, self._z[:b])[:, b:]


def _canonical_structure(b: int, n: int) -> Expression:
    matrix = ca.SX(b + 2 * n, b + 2 * n)
    matrix[b : b + n, b + n :] = ca.SX.eye(n)
    matrix[b + n :, b : b + n] = -ca.SX.eye(n)
    return matrix


def _input_matrix_of(b: int, n: int) -> Expression:
    matrix = ca.SX(b + 2 * n, b + n)
    matrix[:b, :b], matrix[b + n :, b:] = ca.SX.eye(b), ca.SX.eye(n)
    return matrix
