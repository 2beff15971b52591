# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A port-Hamiltonian form of a robot as functions of JAX."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...actuation.friction import Friction
from ...arrays import Array
from ...errors import ModelError
from ...model import VMSModel
from ...tasks import Task
from ..spatial import Expression, rotation_of
from ..task_jacobian import task_jacobian
from .tree import JAX, JaxTree, PlacedTree, solve


class JaxForm(ABC):
    """A port-Hamiltonian form as pure functions, which ``jit``, ``vmap`` and ``grad`` take.

    States, layouts, frames and signs are those of the form it comes from. Arguments are ``q``
    (nq,), ``z`` (nv,) or ``v`` (nv,), and the efforts at the ports by name as in
    :class:`.Ports`: ``torque`` (n,), ``wrench_base`` (b,), ``wrench_end_effector`` (6,) and
    ``wrench_tools``, a mapping of names to (6,); those left out are zero. Numbers are of the
    precision of the arguments: ``jax.config.update("jax_enable_x64", True)`` allows double.

    Attributes:
        model: the robot.
        gravity: whether gravity acts.
        friction: in the joints, or None.
    """

    def __init__(
        self, model: VMSModel, gravity: bool = True, friction: Friction | None = None
    ) -> None:
        """Export a form; see :meth:`.Form.jax`.

        Raises:
            ModelError: the robot is not covered, or the friction is that of other joints.
        """
        if friction is not None and len(friction.viscous) != model.n:
            raise ModelError(
                f"friction must be that of {model.n} joints; given: {len(friction.viscous)}"
            )
        self.model, self.gravity, self.friction = model, gravity, friction
        self._tree = JaxTree(model)

    def mass_matrix(self, q: Expression) -> Expression:
        """Return M, (nv,nv)."""
        return self._at(q).M

    def generalised_gravity(self, q: Expression) -> Expression:
        """Return g, (nv,), whether gravity acts in the form or not."""
        return self._at(q).gravity

    def coriolis_force(self, q: Expression, v: Expression) -> Expression:
        """Return ``C v``, (nv,): the bias of the equations of motion without gravity."""
        tree = self._at(q)
        return tree.mass_rate_times(v, v) - tree.slope(v)

    def connection(self, q: Expression) -> Expression:
        """Return the mechanical connection A, (b,n) [A (53)]."""
        return self._state(q).connection

    def locked_velocity(self, q: Expression, v: Expression) -> Expression:
        """Return ``v_hat = v_b + A qdot``, (b,) [A (54)]."""
        return v[: self.model.b] + self.connection(q) @ v[self.model.b :]

    def frame(self, q: Expression, name: str | None = None) -> dict[str, Expression]:
        """Return the pose ``T`` (4,4) and the Jacobian ``J`` (6,nv) of a frame.

        The Jacobian is in the axes of the frame, linear first; the end effector when None.
        """
        tree, name = self._at(q), self.model.end_effector if name is None else name
        pose = tree.pose(name)
        upper = jnp.hstack([pose.rotation, pose.position])
        bottom = jnp.array([[0.0, 0.0, 0.0, 1.0]])
        return {"T": jnp.vstack([upper, bottom]), "J": tree.jacobian(name)}

    def velocity(self, q: Expression, z: Expression) -> Expression:
        """Return the velocity, (nv,)."""
        return self._velocity(self._state(q), z)

    def momenta(self, q: Expression, v: Expression) -> Expression:
        """Return the momenta z, (nv,), of a velocity."""
        return self._momenta(self._state(q), v)

    def hamiltonian(self, q: Expression, z: Expression) -> dict[str, Expression]:
        """Return the energy ``total`` and its parts as in the form's ``Energy``, J."""
        state = self._state(q)
        parts = self._kinetic(state, z)
        parts["potential"] = state.tree.potential
        return parts | {"total": sum(parts.values())}

    def rate(self, q: Expression, z: Expression, **ports: Any) -> dict[str, Expression]:
        """Return ``qdot`` (nv,), the velocity, and ``zdot`` (nv,) under efforts at the ports."""
        state = self._state(q)
        v = self._velocity(state, z)
        return {"qdot": v, "zdot": self._momentum_rate(state, z, v, self._force(state, v, **ports))}

    def coordinate_rate(self, q: Expression, v: Expression) -> Expression:
        """Return the time derivative (nq,) of the entries of a configuration."""
        b, parts = self.model.b, []
        if b == 3:
            c, s = q[2], q[3]
            parts = [jnp.stack([c * v[0] - s * v[1], s * v[0] + c * v[1], -s * v[2], c * v[2]])]
        elif b == 6:
            vector, w = q[3:6], v[3:6]
            turn = q[6] * w + jnp.cross(vector, w)
            parts = [
                rotation_of(JAX, q[3:7, None]) @ v[:3],
                turn / 2,
                -jnp.dot(vector, w)[None] / 2,
            ]
        columns = jnp.where(self._sign, self._sign * q[self._partner], 1.0)
        return jnp.concatenate([*parts, columns * v[self._joint]])

    def step(self, q: Expression, z: Expression, dt: Any, **ports: Any) -> tuple[Any, Any]:
        """Return configuration and momenta after a step of RK4 under held efforts.

        Rotations in the configuration are scaled to length one after the step.
        """

        def slope(x: tuple[Any, Any]) -> tuple[Any, Any]:
            rate = self.rate(*x, **ports)
            return self.coordinate_rate(x[0], rate["qdot"]), rate["zdot"]

        def after(share: Any, k: tuple[Any, Any]) -> tuple[Any, Any]:
            return q + share * k[0], z + share * k[1]

        first = slope((q, z))
        second = slope(after(dt / 2, first))
        third = slope(after(dt / 2, second))
        fourth = slope(after(dt, third))
        both = zip(first, second, third, fourth, strict=True)
        q_step, z_step = ((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in both)
        after_q, after_z = after(dt, (q_step, z_step))
        for rotation in self.model.tree.rotations:
            part = after_q[rotation.entries]
            after_q = after_q.at[rotation.entries].set(part / jnp.linalg.norm(part))
        return after_q, after_z

    @cached_property
    def _joint(self) -> Array:
        """The velocity of each entry of the joints in a configuration, (nq - base,)."""
        m = self.model
        pairs = [m.is_continuous(row) for row in self._first_entries]
        return np.repeat(np.arange(m.b, m.nv), [2 if pair else 1 for pair in pairs])

    @cached_property
    def _first_entries(self) -> list[int]:
        rows, row = [], self.model.nq_base
        for _ in range(self.model.n):
            rows.append(row)
            row += 2 if self.model.is_continuous(row) else 1
        return rows

    @cached_property
    def _partner(self) -> Array:
        """The entry that each changes with: the other of a pair."""
        partner = np.arange(self.model.nq_base, self.model.nq)
        return partner + self._sign.astype(int) * -1

    @cached_property
    def _sign(self) -> Array:
        """-1 for the cosine and 1 for the sine of a pair, 0 for other entries."""
        signs = np.zeros(self.model.nq)
        for row in self._first_entries:
            if self.model.is_continuous(row):
                signs[row], signs[row + 1] = -1.0, 1.0
        return signs[self.model.nq_base :]

    def _at(self, q: Expression) -> PlacedTree:
        return PlacedTree(self._tree, jnp.asarray(q))

    def _state(self, q: Expression) -> "_State":
        return _State(self._at(q))

    def _force(
        self,
        state: "_State",
        v: Expression,
        torque: Any = None,
        wrench_base: Any = None,
        wrench_end_effector: Any = None,
        wrench_tools: dict[str, Any] | None = None,
    ) -> Expression:
        model, b = self.model, self.model.b
        base = jnp.zeros(b) if wrench_base is None else wrench_base
        force = jnp.concatenate([base, jnp.zeros(model.n) if torque is None else torque])
        wrenches = dict(wrench_tools or {})
        if wrench_end_effector is not None:
            wrenches[model.end_effector] = wrench_end_effector
        for name, wrench in wrenches.items():
            force += state.tree.jacobian(name).T @ wrench
        if self.friction is not None:
            f = self.friction
            lost = f.viscous * v[b:] + f.coulomb * jnp.tanh(v[b:] / f.slip)
            force -= jnp.concatenate([jnp.zeros(b), lost])
        return force - state.tree.gravity if self.gravity else force

    @abstractmethod
    def _velocity(self, state: "_State", z: Expression) -> Expression: ...

    @abstractmethod
    def _momenta(self, state: "_State", v: Expression) -> Expression: ...

    @abstractmethod
    def _kinetic(self, state: "_State", z: Expression) -> dict[str, Expression]: ...

    @abstractmethod
    def _momentum_rate(
        self, state: "_State", z: Expression, v: Expression, force: Expression
    ) -> Expression: ...


class _State:
    """What the forms share at a configuration."""

    def __init__(self, tree: PlacedTree) -> None:
        self.tree, self.b = tree, tree.model.b

    @cached_property
    def coupling(self) -> Expression:
        """M_bm, (b,n)."""
        return self.tree.M[: self.b, self.b :]

    @cached_property
    def locked_inverse(self) -> Expression:
        """M_b^-1, (b,b)."""
        return solve(self.tree.M[: self.b, : self.b], jnp.eye(self.b))

    @cached_property
    def connection(self) -> Expression:
        """A, (b,n)."""
        return self.locked_inverse @ self.coupling


class JaxStandardForm(JaxForm):
    """The standard form [A (47)-(50)]: ``z = (p, pi)``."""

    def _velocity(self, state: _State, z: Expression) -> Expression:
        return solve(state.tree.M, z[:, None])[:, 0]

    def _momenta(self, state: _State, v: Expression) -> Expression:
        return state.tree.M @ v

    def _kinetic(self, state: _State, z: Expression) -> dict[str, Expression]:
        return {"kinetic": jnp.dot(z, self._velocity(state, z)) / 2}

    def _momentum_rate(
        self, state: _State, z: Expression, v: Expression, force: Expression
    ) -> Expression:
        return state.tree.slope(v) + force


class JaxDecoupledForm(JaxForm):
    """The inertially decoupled form [A (59)-(73)]: ``z = (p, pi_hat)``."""

    def _velocity(self, state: _State, z: Expression) -> Expression:
        b, a = state.b, state.connection
        shape = state.tree.M[b:, b:] - state.coupling.T @ a
        rates = solve(shape, z[b:, None])[:, 0]
        return jnp.concatenate([state.locked_inverse @ z[:b] - a @ rates, rates])

    def _momenta(self, state: _State, v: Expression) -> Expression:
        z, b = state.tree.M @ v, state.b
        return jnp.concatenate([z[:b], z[b:] - state.connection.T @ z[:b]])

    def _kinetic(self, state: _State, z: Expression) -> dict[str, Expression]:
        b = state.b
        shape = jnp.dot(z[b:], self._velocity(state, z)[b:]) / 2
        base = jnp.dot(z[:b], state.locked_inverse @ z[:b]) / 2
        return {"kinetic_base": base, "kinetic_shape": shape}

    def _momentum_rate(
        self, state: _State, z: Expression, v: Expression, force: Expression
    ) -> Expression:
        b, rate = state.b, state.tree.slope(v) + force
        if b == 0:
            return rate
        locked = jnp.concatenate([state.locked_inverse @ z[:b], jnp.zeros(self.model.n)])
        drift = state.tree.mass_rate_times(v, locked)
        coupled = state.connection.T @ (drift[:b] - rate[:b])
        return jnp.concatenate([rate[:b], rate[b:] + coupled - drift[b:]])


# Of Newton and Schulz's iteration: to rounding for alignments with the reference above 0.1.
_ROOT_STEPS = 20


class JaxTaskForm(JaxForm):
    """The task-space form [D (13)-(27)]: ``z = (pi, pi_nu)``.

    The basis of the null space is that of the form it comes from, aligned with the same reference.
    The Jacobian is that of the task itself, not lifted near singularities.

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
    ) -> None:
        """Export a form; see :meth:`.Form.jax`.

        Raises:
            ModelError: the robot or the task is not covered.
        """
        super().__init__(model, gravity, friction)
        self.task, self._reference = task, np.asarray(reference)

    def terms(self, q: Expression) -> dict[str, Expression]:
        """Return ``J`` (m,nv), ``Z`` (nv-m,nv), ``J_sharp``, ``Lambda_t`` and ``Lambda_nu``."""
        state = self._state(q)
        jacobian = task_jacobian(state.tree, self.task)
        mobile = solve(state.tree.M, jacobian.T)
        inertia = solve(jacobian @ mobile, jnp.eye(len(jacobian)))
        basis = self._basis(jacobian)
        return {
            "J": jacobian,
            "Z": basis,
            "J_sharp": mobile @ inertia,
            "Lambda_t": inertia,
            "Lambda_nu": basis @ state.tree.M @ basis.T,
        }

    def _basis(self, jacobian: Expression) -> Expression:
        """The orthonormal rows nearest to the reference that the Jacobian maps to zero."""
        share = solve(jacobian @ jacobian.T, jacobian @ self._reference.T)
        across = self._reference - share.T @ jacobian
        unit = jnp.eye(len(across))

        def improve(_: Any, roots: tuple[Expression, Expression]) -> tuple[Expression, Expression]:
            root, inverse = roots
            step = (3.0 * unit - inverse @ root) / 2.0
            return root @ step, step @ inverse

        roots = jax.lax.fori_loop(0, _ROOT_STEPS, improve, (across @ across.T, unit))
        return roots[1] @ across

    def _inverse_map(self, q: Expression) -> Expression:
        """``J_bar^-1 = [J_sharp, Z^T]``, (nv,nv)."""
        terms = self.terms(q)
        return jnp.hstack([terms["J_sharp"], terms["Z"].T])

    def _velocity(self, state: _State, z: Expression) -> Expression:
        m, terms = self.task.dimension, self.terms(state.tree.q)
        nu = solve(terms["Lambda_nu"], z[m:, None])[:, 0]
        # M^-1 J^T is J_sharp times the inverse of the task's inertia.
        eta = solve(terms["Lambda_t"], z[:m, None])[:, 0]
        return terms["J_sharp"] @ eta + terms["Z"].T @ nu

    def _momenta(self, state: _State, v: Expression) -> Expression:
        return self._inverse_map(state.tree.q).T @ (state.tree.M @ v)

    def _kinetic(self, state: _State, z: Expression) -> dict[str, Expression]:
        m, terms = self.task.dimension, self.terms(state.tree.q)
        v = self._velocity(state, z)
        task = jnp.dot(z[:m], terms["J"] @ v) / 2
        return {"kinetic_task": task, "kinetic_null": jnp.dot(z, self._rates(terms, v)) / 2 - task}

    def _rates(self, terms: dict[str, Expression], v: Expression) -> Expression:
        eta = terms["J"] @ v
        return jnp.concatenate([eta, terms["Z"] @ (v - terms["J_sharp"] @ eta)])

    def _momentum_rate(
        self, state: _State, z: Expression, v: Expression, force: Expression
    ) -> Expression:
        q, p = state.tree.q, state.tree.M @ v
        # Along the motion, at fixed momentum: E v without the matrix E.
        turned = jax.jvp(lambda q: self._inverse_map(q).T @ p, (q,), (self.coordinate_rate(q, v),))
        return turned[1] + self._inverse_map(q).T @ (state.tree.slope(v) + force)
