# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The matrices of the inertially decoupled form at one state, in the notation of the source."""

import numpy as np

from ..arrays import Array, frozen
from ..cached import cached_property
from ..evaluation import Evaluation
from .standard import lie_poisson


class DecoupledEvaluation:
    """An immutable snapshot of the matrices of [A, sections 5.2 and 6], each computed on first use.

    They include the derivative tensors and matrices that the rates of the form do not need, and are
    slow to compute. All arrays are read-only.

    Args:
        d: the terms of the equations of motion at the state.
    """

    def __init__(self, d: Evaluation) -> None:
        self.d = d

    @cached_property
    def dA(self) -> Array:
        """Derivatives of the connection along the joints, (n,b,n)."""
        d, b = self.d, self.d.model.b
        columns = d.dM[:, :b, b:] - d.dM[:, :b, :b] @ d.A
        return frozen(np.linalg.solve(d.M_b, columns))

    @cached_property
    def dM_hat_m(self) -> Array:
        """Derivatives of the shape inertia along the joints, (n,n,n)."""
        d, b = self.d, self.d.model.b
        mixed = d.dM[:, b:, :b] @ d.A
        inner = d.A.T @ d.dM[:, :b, :b] @ d.A
        return frozen(d.dM[:, b:, b:] - mixed - mixed.transpose(0, 2, 1) + inner)

    @cached_property
    def L(self) -> Array:
        """``[dA^T/dq_1 p, ..., dA^T/dq_n p]``, (n,n) [A (58), whose last column is misprinted]."""
        return frozen(np.einsum("kbi,b->ik", self.dA, self.d.p))

    @cached_property
    def B(self) -> Array:
        """``-A^T ad~_p A + L - L^T``, skew, (n,n) [A (70)].

        Depends on the centroidal angular momentum only: it is the curvature of the connection
        paired with p.
        """
        d = self.d
        return frozen(-d.A.T @ self.lie_poisson @ d.A + self.L - self.L.T)

    @cached_property
    def lie_poisson(self) -> Array:
        """``ad~_p`` of the base group, (b,b) [A (38)]."""
        return frozen(lie_poisson(self.d.model, self.d.p))

    @cached_property
    def N_b(self) -> Array:
        """``1/2 [d(M_b^-1)/dq_k p]``, (b,n) [A (64)]."""
        d, b = self.d, self.d.model.b
        columns = -0.5 * d.dM[:, :b, :b] @ d.v_hat
        return frozen(np.linalg.solve(d.M_b, columns.T))

    @cached_property
    def N_hat_m(self) -> Array:
        """``1/2 [d(M_hat_m^-1)/dq_k pi_hat]``, (n,n) [A (65)]."""
        d = self.d
        columns = -0.5 * self.dM_hat_m @ d.v[d.model.b :]
        return frozen(np.linalg.solve(d.M_hat_m, columns.T))

    @cached_property
    def Phi(self) -> Array:
        """Tangent of the change of coordinates phi, (b+2n,b+2n) [A (57)]."""
        d, b, n = self.d, self.d.model.b, self.d.model.n
        matrix = np.eye(b + 2 * n)
        matrix[b + n :, :b] = -d.A.T
        matrix[b + n :, b : b + n] = -self.L
        return frozen(matrix)

    @cached_property
    def J_hat(self) -> Array:
        """Interconnection, skew, (b+2n,b+2n) [A (68)]."""
        d, b, n = self.d, self.d.model.b, self.d.model.n
        coupled = self.lie_poisson @ d.A
        matrix = np.zeros((b + 2 * n, b + 2 * n))
        matrix[:b, :b] = self.lie_poisson
        matrix[:b, b + n :] = -coupled
        matrix[b : b + n, b + n :] = np.eye(n)
        matrix[b + n :, :b] = coupled.T
        matrix[b + n :, b : b + n] = -np.eye(n)
        matrix[b + n :, b + n :] = -self.B
        return frozen(matrix)

    @cached_property
    def G_hat(self) -> Array:
        """Input map, (b+2n,b+n) [A (69)]."""
        d, b, n = self.d, self.d.model.b, self.d.model.n
        matrix = np.zeros((b + 2 * n, b + n))
        matrix[:b, :b] = np.eye(b)
        matrix[b + n :, :b] = -d.A.T
        matrix[b + n :, b:] = np.eye(n)
        return frozen(matrix)

    @cached_property
    def E_b(self) -> Array:
        """``1/2 [dM_b/dq_k v_hat]``, (b,n) [A (78)]."""
        d, b = self.d, self.d.model.b
        return frozen(0.5 * (d.dM[:, :b, :b] @ d.v_hat).T)

    @cached_property
    def P_b(self) -> Array:
        """Half of the rate of the locked inertia, (b,b) [A (79)]."""
        d, b = self.d, self.d.model.b
        return frozen(0.5 * np.einsum("kij,k->ij", d.dM[:, :b, :b], d.v[b:]))

    @cached_property
    def C_hat_m(self) -> Array:
        """Christoffel matrix of the shape inertia, (n,n) [A (80)]."""
        rates = self.d.v[self.d.model.b :]
        # dM_hat_m[k,i,j] = d_k M_ij; the matrix is that of [k d_k M_ij + j d_j M_ik - i d_i M_jk].
        along = np.einsum("kij,k->ij", self.dM_hat_m, rates)
        across = np.einsum("jik,k->ij", self.dM_hat_m, rates)
        return frozen(0.5 * (along + across - across.T))
