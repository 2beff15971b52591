# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The inertially decoupled form, with its matrices at one state in the notation of the source."""

import numpy as np

from ..arrays import Array, cached_property, frozen
from ..evaluation import Evaluation, check_moving_rigid
from ..groups import base_group
from .form import Form, velocity_of_momentum
from .ports import Ports
from .rates import native_rate, native_velocity
from .standard import canonical_input, canonical_structure, coadjoint_matrix, dirac_matrix
from .state import BaseShapeEnergy, PHRate, PHState


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
        return frozen(np.linalg.solve(d.M_b, d.dM[:, :b, b:] - d.dM[:, :b, :b] @ d.A))

    @cached_property
    def dM_hat_m(self) -> Array:
        """Derivatives of the shape inertia along the joints, (n,n,n)."""
        d, b = self.d, self.d.model.b
        mixed_block = d.dM[:, b:, :b] @ d.A
        inner_block = d.A.T @ d.dM[:, :b, :b] @ d.A
        return frozen(d.dM[:, b:, b:] - mixed_block - mixed_block.transpose(0, 2, 1) + inner_block)

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
        return frozen(-d.A.T @ self.coadjoint_matrix @ d.A + self.L - self.L.T)

    @cached_property
    def curvature(self) -> Array:
        """Curvature of the connection, (n,n,b), linear first in base axes [B (3.72), (3.73)].

        ``dT^i/dq_j - dT^j/dq_i + [T^i, T^j]`` for the columns T^i of the connection. A small loop
        of the joints i and j, traversed from i to j, moves the base at zero momentum by ``[i, j]``
        times its area. Where it vanishes, the attitude of the base is a function of the joints.

        Raises:
            ModelError: the base is fixed, or the robot is in a fluid.
        """
        d = self.d
        check_moving_rigid(d)
        group = base_group(d.model.base)
        two_form = np.einsum("jbi->ijb", self.dA) - np.einsum("ibj->ijb", self.dA)
        return frozen(two_form + np.stack([(group.ad(column) @ d.A).T for column in d.A.T]))

    @cached_property
    def coadjoint_matrix(self) -> Array:
        """``ad~_p`` of the base group, (b,b) [A (38)]."""
        return frozen(coadjoint_matrix(self.d.model, self.d.p))

    @cached_property
    def N_b(self) -> Array:
        """``1/2 [d(M_b^-1)/dq_k p]``, (b,n) [A (64)]."""
        d, b = self.d, self.d.model.b
        return frozen(np.linalg.solve(d.M_b, (-0.5 * d.dM[:, :b, :b] @ d.v_hat).T))

    @cached_property
    def N_hat_m(self) -> Array:
        """``1/2 [d(M_hat_m^-1)/dq_k pi_hat]``, (n,n) [A (65)]."""
        d = self.d
        return frozen(np.linalg.solve(d.M_hat_m, (-0.5 * self.dM_hat_m @ d.v[d.model.b :]).T))

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
        matrix, block = canonical_structure(self.coadjoint_matrix, n), self.coadjoint_matrix @ d.A
        matrix[:b, b + n :], matrix[b + n :, :b] = -block, block.T
        matrix[b + n :, b + n :] = -self.B
        return frozen(matrix)

    @cached_property
    def G_hat(self) -> Array:
        """Input map, (b+2n,b+n) [A (69)]."""
        d, b, n = self.d, self.d.model.b, self.d.model.n
        matrix = canonical_input(b, n)
        matrix[b + n :, :b] = -d.A.T
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
        inertia_rate = np.einsum("kij,k->ij", self.dM_hat_m, rates)
        gradient = np.einsum("jik,k->ij", self.dM_hat_m, rates)
        return frozen(0.5 * (inertia_rate + gradient - gradient.T))


class DecoupledForm(Form):
    """A robot on any base in inertially decoupled coordinates [A (56)-(73)].

    The momenta are ``z = (p, pi_hat)`` with ``pi_hat = pi - A(q)^T p``; gradient and structure are
    laid out as ``(p, q, pi_hat)``. The kinetic energy is the sum of that of the locked motion and
    that of the shape. On a fixed base the form is the canonical one.

    Examples:
        >>> from vms_ph_io import robots
        >>> satellite = robots.load("satellite_panda")
        >>> form = DecoupledForm(satellite)
        >>> x = form.state(satellite.home, np.full(satellite.nv, 0.1))
        >>> print(f"{form.hamiltonian(x).kinetic_base:.2f} J")
        123.01 J
    """

    _decoupled = True

    def terms(self, x: PHState) -> DecoupledEvaluation:
        """Return the matrices of the form at a state: B, L, N_b and so on."""
        return DecoupledEvaluation(self.evaluation(x))

    def state(self, q: Array, v: Array) -> PHState:
        """Return the state ``(q, (p, pi_hat))``; see :meth:`Form.state`."""
        d = self.model.evaluate(q, v)
        return PHState(d.q, np.concatenate([d.p, d.pi_hat]))

    def velocity_arrays(self, q: Array, z: Array) -> Array:
        """Return the velocity, (nv,)."""
        velocity = native_velocity(self.model, self._decoupled, q, z)
        if velocity is not None:
            return velocity
        b, A = self.model.b, Evaluation(self.model, q, 0.0 * z).A
        return velocity_of_momentum(self.model, q, np.concatenate([z[:b], z[b:] + A.T @ z[:b]]))

    def hamiltonian(self, x: PHState) -> BaseShapeEnergy:
        """Return ``1/2 p^T M_b^-1 p + 1/2 pi_hat^T M_hat_m^-1 pi_hat + V(q)`` [A (60)]."""
        d, b = self.evaluation(x), self.model.b
        base, shape = 0.5 * float(d.p @ d.v_hat), 0.5 * float(d.pi_hat @ d.v[b:])
        return BaseShapeEnergy(base, shape, d.potential_energy)

    def gradient(self, x: PHState) -> Array:
        """Return ``(v_hat, N_b^T p + N_hat_m^T pi_hat, qdot)``, (b+2n,) [A (61)-(63)]."""
        core, b = self.model.cpp_core, self.model.b
        if core is not None and core.state(x.q, x.z) is not None:
            by_q, by_z, _ = core.dynamics.energy_derivatives(True, x.q, x.z, False)
            return np.concatenate([by_z[:b], by_q[b:], by_z[b:]])
        terms = self.terms(x)
        by_q = terms.N_b.T @ terms.d.p + terms.N_hat_m.T @ terms.d.pi_hat
        return np.concatenate([terms.d.v_hat, by_q, terms.d.v[b:]])

    def interconnection(self, x: PHState) -> Array:
        """Return J_hat, (b+2n,b+2n) [A (68)]."""
        return self.terms(x).J_hat

    def input_map(self, x: PHState) -> Array:
        """Return G_hat, (b+2n,b+n) [A (69)]."""
        return self.terms(x).G_hat

    def dirac(self, x: PHState) -> Array:
        """Return the Dirac structure with all ports; laid out as :meth:`StandardForm.dirac`."""
        terms = self.terms(x)
        return dirac_matrix(terms.J_hat, terms.G_hat, terms.d.J_wrenches)

    def rate_arrays(self, q: Array, z: Array, ports: Ports) -> PHRate:
        """Return ``(v, (pdot, pi_hat_dot))``; see :meth:`Form.rate_arrays`.

        (59) in three lines, without L, B or any derivative tensor:
        ``pdot = ad_v^T p + w``,
        ``pi_hat_dot = dT/dq + tau - Mdot_bm^T v_hat + M_bm^T M_b^-1 (Mdot_b v_hat - pdot)``.
        """
        core_rate = native_rate(self.model, self._decoupled, q, z, ports)
        if core_rate is not None:
            return core_rate
        b, v = self.model.b, self.velocity_arrays(q, z)
        d = Evaluation(self.model, q, v)
        momentum_rate = d.C.T @ v + ports.force(d)
        if b:
            inertia_rate = (d.C + d.C.T)[:, :b] @ d.v_hat
            momentum_rate[b:] += d.A.T @ (inertia_rate[:b] - momentum_rate[:b]) - inertia_rate[b:]
        return PHRate(v, momentum_rate)
