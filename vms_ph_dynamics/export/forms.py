# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The forms of a robot at a configuration, over the array namespace of its exported tree.

The exports to CasADi and to JAX share them. A vector is a column (k,1) in CasADi and (k,) in JAX;
products, ``.T`` and slices by one index mean the same for both.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..actuation.friction import Friction
from ..arrays import Array
from ..errors import ModelError
from ..model import VMSModel
from ..tasks import Task
from .spatial import ArrayNamespace, Expression, rotation_of
from .task_jacobian import task_jacobian


class FormArrays(ArrayNamespace):
    """What forms need of a library, beside what the recursions over the tree need.

    Attributes:
        root_steps: of the iteration for an inverse square root, which converges quadratically; 12
            are to rounding for eigenvalues above 0.01, the squares of alignments above 0.1.
    """

    root_steps = 12

    def concatenate(self, vectors: Sequence[Expression]) -> Expression:
        """Return vectors one after the other."""
        return self.module.concatenate(vectors)

    def take(self, vector: Expression, selection: Any) -> Expression:
        """Return some entries of a vector, by a slice or by their indices."""
        return vector[selection]

    def column(self, x: Expression) -> Expression:
        """Return a vector as a matrix with one column, (k,1)."""
        return x

    @abstractmethod
    def factorise(self, matrix: Expression) -> Any:
        """Return an object that solves with a symmetric positive definite matrix (n,n).

        Its method ``solve`` takes a vector or a matrix (n,m).
        """

    def repeat(self, improve: Callable[[Any], Any], arrays: Any, times: int) -> Any:
        """Return what a function makes of some arrays when it is applied some times."""
        for _ in range(times):
            arrays = improve(arrays)
        return arrays

    def inverse(self, matrix: Expression) -> Expression:
        """Return the inverse of a symmetric positive definite matrix, symmetric."""
        if (size := matrix.shape[0]) == 0:
            return matrix
        return self.symmetric_from_upper(self.factorise(matrix).solve(self.constant(np.eye(size))))


def checked_friction(model: VMSModel, friction: Friction | None) -> Friction | None:
    """Return the friction after checking that it is that of all joints.

    Raises:
        ModelError: it is that of another number of joints.
    """
    if friction is not None and len(friction.viscous) != model.n:
        raise ModelError(
            f"friction must be that of {model.n} joints; given: {len(friction.viscous)}"
        )
    return friction


class FormTerms(ABC):
    """A form at a configuration.

    Attributes:
        tree: the robot at the configuration.
        xp: its array namespace.
        b: dimension of the base velocity.
    """

    def __init__(self, tree: Any) -> None:
        self.tree, self.xp, self.b = tree, tree.xp, tree.model.b

    @cached_property
    def factors(self) -> Any:
        """The mass matrix, factorised."""
        return self.xp.factorise(self.tree.M)

    @abstractmethod
    def velocity(self, z: Expression) -> Expression:
        """Return the velocity (nv,) of momenta (nv,)."""

    @abstractmethod
    def momenta(self, v: Expression) -> Expression:
        """Return the momenta (nv,) of a velocity (nv,)."""

    @abstractmethod
    def kinetic(self, z: Expression, v: Expression) -> dict[str, Expression]:
        """Return the parts of the kinetic energy of momenta and their velocity, J."""

    @abstractmethod
    def momentum_rate(self, z: Expression, v: Expression, force: Expression) -> Expression:
        """Return the rate (nv,) of momenta, with their velocity, under a generalised force."""

    def hamiltonian(self, z: Expression, v: Expression) -> dict[str, Expression]:
        """Return the energy ``total`` and its parts, as in the form's ``Energy``, J."""
        energies = self.kinetic(z, v) | {"potential": self.tree.potential}
        return energies | {"total": sum(energies.values())}


class StandardTerms(FormTerms):
    """The standard form [A (47)-(50)]: ``z = (p, pi)``."""

    def velocity(self, z: Expression) -> Expression:
        """Return ``M^-1 z``."""
        return self.factors.solve(z)

    def momenta(self, v: Expression) -> Expression:
        """Return ``M v``."""
        return self.tree.M @ v

    def kinetic(self, z: Expression, v: Expression) -> dict[str, Expression]:
        """Return the kinetic energy [A (49)]."""
        return {"kinetic": z.T @ v / 2}

    def momentum_rate(self, z: Expression, v: Expression, force: Expression) -> Expression:
        """Return ``C^T v + force``."""
        return self.tree.slope(v) + force


class DecoupledTerms(FormTerms):
    """The inertially decoupled form [A (59)-(73)]: ``z = (p, pi_hat)``."""

    @cached_property
    def coupling(self) -> Expression:
        """M_bm, (b,n)."""
        return self.tree.M[: self.b, self.b :]

    @cached_property
    def locked_inverse(self) -> Expression:
        """M_b^-1, (b,b)."""
        return self.xp.inverse(self.tree.M[: self.b, : self.b])

    @cached_property
    def connection(self) -> Expression:
        """The mechanical connection A, (b,n) [A (53)]."""
        return self.locked_inverse @ self.coupling

    @cached_property
    def shape_factors(self) -> Any:
        """The shape inertia, factorised [A (55)]."""
        shape_inertia = self.tree.M[self.b :, self.b :] - self.coupling.T @ self.connection
        return self.xp.factorise(shape_inertia)

    def velocity(self, z: Expression) -> Expression:
        """Return ``(v_hat - A qdot, qdot)`` with ``qdot = M_hat_m^-1 pi_hat``."""
        p, pi_hat = self._parts(z)
        rates = self.shape_factors.solve(pi_hat)
        return self.xp.concatenate([self.locked_inverse @ p - self.connection @ rates, rates])

    def momenta(self, v: Expression) -> Expression:
        """Return ``(p, pi - A^T p)``."""
        p, pi = self._parts(self.tree.M @ v)
        return self.xp.concatenate([p, pi - self.connection.T @ p])

    def kinetic(self, z: Expression, v: Expression) -> dict[str, Expression]:
        """Return the energies of the locked motion and of the shape [A (60)]."""
        p, pi_hat = self._parts(z)
        base = p.T @ (self.locked_inverse @ p) / 2
        return {"kinetic_base": base, "kinetic_shape": pi_hat.T @ v[self.b :] / 2}

    def momentum_rate(self, z: Expression, v: Expression, force: Expression) -> Expression:
        """Return the rate without any derivative of the connection, as ``DecoupledForm`` does."""
        p, pi_hat = self._parts(z)
        base_rate, shape_rate = self._parts(self.tree.slope(v) + force)
        locked_velocity = self.xp.concatenate([self.locked_inverse @ p, 0.0 * pi_hat])
        base_drift, shape_drift = self._parts(self.tree.mass_rate_times(v, locked_velocity))
        coupled_rate = self.connection.T @ (base_drift - base_rate)
        return self.xp.concatenate([base_rate, shape_rate + coupled_rate - shape_drift])

    def _parts(self, vector: Expression) -> tuple[Expression, Expression]:
        """Return the entries of the base, and those of the joints."""
        base, joints = slice(self.b), slice(self.b, None)
        return self.xp.take(vector, base), self.xp.take(vector, joints)


class TaskTerms(FormTerms):
    """The task-space form [D (13)-(27)]: ``z = (pi, pi_nu)``.

    The basis of the null space is that of the form it comes from, aligned with the same reference,
    for alignments above 0.1. The Jacobian is that of the task itself, not lifted near
    singularities.

    Args:
        tree: the robot at the configuration.
        task: the task, of dimension m.
        reference: (nv-m,nv) orthonormal rows, to which those of the null space are nearest.
        drift: returns the rate (nv,) of :meth:`momenta` along a velocity (nv,) at fixed generalised
            momentum ``M v``; libraries differentiate in their own way.

    Raises:
        ModelError: the task has no export.
    """

    def __init__(
        self, tree: Any, task: Task, reference: Array, drift: Callable[[Expression], Expression]
    ) -> None:
        super().__init__(tree)
        self.m, self._reference_basis, self._drift = task.dimension, reference, drift
        self.jacobian = task_jacobian(tree, task)

    @cached_property
    def basis(self) -> Expression:
        """Z, (nv-m,nv)."""
        reference = self.xp.constant(self._reference_basis)
        return nearest_orthonormal(self.xp, reference, orthonormal_rows(self.xp, self.jacobian))

    @cached_property
    def M_inv_JT(self) -> Expression:
        """``M^-1 J^T``, (nv,m)."""
        return self.factors.solve(self.jacobian.T)

    @cached_property
    def task_inertia(self) -> Expression:
        """Lambda_t, (m,m)."""
        return self.xp.inverse(self.xp.symmetric_from_upper(self.jacobian @ self.M_inv_JT))

    @cached_property
    def null_inertia(self) -> Expression:
        """Lambda_nu, (nv-m,nv-m)."""
        return self.xp.symmetric_from_upper(self.basis @ self.tree.M @ self.basis.T)

    @cached_property
    def null_factors(self) -> Any:
        """The inertia of the null space, factorised."""
        return self.xp.factorise(self.null_inertia)

    @cached_property
    def sharp(self) -> Expression:
        """J_sharp, (nv,m)."""
        return self.M_inv_JT @ self.task_inertia

    @cached_property
    def inverse_map(self) -> Expression:
        """``J_bar^-1 = [J_sharp, Z^T]``, (nv,nv)."""
        return self.xp.hstack([self.sharp, self.basis.T])

    def rates(self, z: Expression) -> Expression:
        """Return ``(eta, nu)`` of momenta, (nv,)."""
        eta = self.jacobian @ (self.M_inv_JT @ z[: self.m])
        return self.xp.concatenate([eta, self.null_factors.solve(z[self.m :])])

    def velocity(self, z: Expression) -> Expression:
        """Return ``M^-1 J^T pi + Z^T nu``."""
        return self.M_inv_JT @ z[: self.m] + self.basis.T @ self.null_factors.solve(z[self.m :])

    def momenta(self, v: Expression) -> Expression:
        """Return ``J_bar^-T M v`` [D (25)]."""
        return self.inverse_map.T @ (self.tree.M @ v)

    def kinetic(self, z: Expression, v: Expression) -> dict[str, Expression]:
        """Return the energies of the task and of its null space [D, after (26)]."""
        velocities, m = self.rates(z), self.m
        task, null = z[:m].T @ velocities[:m] / 2, z[m:].T @ velocities[m:] / 2
        return {"kinetic_task": task, "kinetic_null": null}

    def momentum_rate(self, z: Expression, v: Expression, force: Expression) -> Expression:
        """Return ``E v + J_bar^-T (C^T v + force)``, without the matrix E."""
        return self._drift(v) + self.inverse_map.T @ (self.tree.slope(v) + force)


def orthonormal_rows(xp: FormArrays, matrix: Expression) -> Expression:
    """Return orthonormal rows with the span of those of a matrix of full rank.

    Gram and Schmidt's process, twice: once more makes them orthogonal to rounding.
    """
    rows: list[Expression] = []
    for i in range(matrix.shape[0]):
        row = matrix[i : i + 1, :]
        for _ in range(2):
            for previous_row in rows:
                row = row - (row @ previous_row.T) * previous_row
            row = row / (row @ row.T) ** 0.5
        rows.append(row)
    return xp.vstack(rows)


def square_roots(xp: FormArrays, matrix: Expression) -> tuple[Expression, Expression]:
    """Return ``S^1/2`` and ``S^-1/2`` of a symmetric matrix with eigenvalues within (0, 1].

    By the coupled iteration of Newton and Schulz, which needs no eigenvectors (Higham, Functions
    of Matrices, 2008, 6.7).
    """
    unit = xp.constant(np.eye(matrix.shape[0]))

    def improve(roots: tuple[Expression, Expression]) -> tuple[Expression, Expression]:
        root, inverse = roots
        step = (3.0 * unit - inverse @ root) / 2.0
        return root @ step, step @ inverse

    return xp.repeat(improve, (matrix, unit), xp.root_steps)


def nearest_orthonormal(xp: FormArrays, rows: Expression, normal: Expression) -> Expression:
    """Return the orthonormal rows nearest to ``rows``, orthogonal to the rows of ``normal``.

    ``(B B^T)^-1/2 B`` with ``B = rows (I - normal^T normal)``. As ``B B^T = I - X X^T`` with
    ``X = rows normal^T``, its root follows from that of the smaller ``T^2 = I - X^T X``:
    ``(B B^T)^-1/2 = I + X T^-1 (I + T)^-1 X^T``.

    Args:
        xp: the array namespace.
        rows: (k,n), orthonormal.
        normal: (m,n), orthonormal.
    """
    x = rows @ normal.T
    k, m = x.shape
    projected = rows - x @ normal
    if k <= m:
        return square_roots(xp, projected @ projected.T)[1] @ projected
    unit = xp.constant(np.eye(m))
    square_root, inverse_root = square_roots(xp, unit - x.T @ x)
    return projected + x @ (inverse_root @ xp.factorise(unit + square_root).solve(x.T @ projected))


class CoordinateRates:
    """The time derivative of the entries of a configuration, for all joints at once.

    Args:
        model: the robot.
    """

    def __init__(self, model: VMSModel) -> None:
        self._b, first = model.b, model.nq_base
        # Of each entry of the joints: its velocity; the other of a pair (cos, sin), or itself; and
        # -1 for a cosine, 1 for a sine, 0 for others.
        self._partner = np.arange(first, model.nq)
        self._sign = np.zeros(len(self._partner))
        for entry in filter(model.is_continuous, range(first, model.nq)):
            pair = slice(entry - first, entry - first + 2)
            self._partner[pair], self._sign[pair] = (entry + 1, entry), (-1, 1)
        self._v_index = model.b - 1 + np.cumsum(self._sign < 1)  # a sine has that of its cosine

    def rate(self, xp: FormArrays, q: Expression, v: Expression) -> Expression:
        """Return the derivative (nq,) at ``q`` (nq,) for a velocity (nv,)."""
        rates = []
        if self._b == 3:
            c, s = q[2:3], q[3:4]
            rates = [c * v[0:1] - s * v[1:2], s * v[0:1] + c * v[1:2], -s * v[2:3], c * v[2:3]]
        elif self._b == 6:
            quaternion_vector, w = q[3:6], v[3:6]
            twice_rate = q[6:7] * w + xp.cross(quaternion_vector, w)
            rates = [rotation_of(xp, xp.column(q[3:7])) @ v[:3], twice_rate / 2]
            rates.append(-(q[3:4] * w[0:1] + q[4:5] * w[1:2] + q[5:6] * w[2:3]) / 2)
        factors = self._sign * q[self._partner] + (1.0 - np.abs(self._sign))
        return xp.concatenate([*rates, factors * xp.take(v, self._v_index)])
