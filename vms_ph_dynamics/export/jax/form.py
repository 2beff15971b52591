# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A port-Hamiltonian form of a robot as functions of JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...actuation.friction import Friction
from ...arrays import Array
from ...model import VMSModel
from ...tasks import Task
from ..forms import (
    CoordinateRates,
    DecoupledTerms,
    FormTerms,
    StandardTerms,
    TaskTerms,
    checked_friction,
)
from ..spatial import Expression
from .tree import JAX, JaxTree, PlacedTree


class JaxForm:
    """A port-Hamiltonian form as pure functions, for ``jit``, ``vmap`` and ``grad``.

    States, layouts, frames and signs are those of the form it comes from. Arguments are ``q``
    (nq,), ``z`` (nv,) or ``v`` (nv,), and the efforts at the ports by name as in
    :class:`.Ports`: ``torque`` (n,), ``wrench_base`` (b,), ``wrench_end_effector`` (6,) and
    ``wrench_tools``, a mapping of names to (6,); those left out are zero. Numbers have
    the precision of the arguments; ``jax.config.update("jax_enable_x64", True)`` allows double
    precision.

    Attributes:
        model: the robot.
        gravity: whether gravity acts.
        friction: in the joints, or None.
    """

    def __init__(
        self,
        model: VMSModel,
        gravity: bool = True,
        friction: Friction | None = None,
        make_terms: Callable[[PlacedTree], FormTerms] = StandardTerms,
    ) -> None:
        """Export a form; see :meth:`.Form.jax`.

        Args:
            model: the robot.
            gravity: whether gravity acts.
            friction: in the joints, or None.
            make_terms: StandardTerms or DecoupledTerms.

        Raises:
            ModelError: the robot is not supported, or the friction is that of other joints.
        """
        self.model, self.gravity, self._make_terms = model, gravity, make_terms
        self.friction = checked_friction(model, friction)
        self._tree, self._coordinate_rates = JaxTree(model), CoordinateRates(model)

    def mass_matrix(self, q: Expression) -> Expression:
        """Return M, (nv,nv)."""
        return self._tree_at(q).M

    def generalised_gravity(self, q: Expression) -> Expression:
        """Return g, (nv,), whether gravity acts in the form or not."""
        return self._tree_at(q).gravity

    def coriolis_force(self, q: Expression, v: Expression) -> Expression:
        """Return ``C v``, (nv,): the bias of the equations of motion without gravity."""
        tree = self._tree_at(q)
        return tree.mass_rate_times(v, v) - tree.slope(v)

    def connection(self, q: Expression) -> Expression:
        """Return the mechanical connection A, (b,n) [A (53)]."""
        return DecoupledTerms(self._tree_at(q)).connection

    def locked_velocity(self, q: Expression, v: Expression) -> Expression:
        """Return ``v_hat = v_b + A qdot``, (b,) [A (54)]."""
        return v[: self.model.b] + self.connection(q) @ v[self.model.b :]

    def frame(self, q: Expression, name: str | None = None) -> dict[str, Expression]:
        """Return the pose ``T`` (4,4) and the Jacobian ``J`` (6,nv) of a frame.

        The Jacobian is in the axes of the frame, linear first; the end effector when None.
        """
        tree, name = self._tree_at(q), self.model.end_effector if name is None else name
        return {"T": tree.pose(name).matrix, "J": tree.jacobian(name)}

    def velocity(self, q: Expression, z: Expression) -> Expression:
        """Return the velocity, (nv,)."""
        return self._terms(q).velocity(z)

    def momenta(self, q: Expression, v: Expression) -> Expression:
        """Return the momenta z, (nv,), of a velocity."""
        return self._terms(q).momenta(v)

    def hamiltonian(self, q: Expression, z: Expression) -> dict[str, Expression]:
        """Return the energy ``total`` and its parts as in the form's ``Energy``, J."""
        terms = self._terms(q)
        return terms.hamiltonian(z, terms.velocity(z))

    def rate(self, q: Expression, z: Expression, **ports: Any) -> dict[str, Expression]:
        """Return ``qdot`` (nv,), the velocity, and ``zdot`` (nv,) under efforts at the ports."""
        terms = self._terms(q)
        v = terms.velocity(z)
        return {"qdot": v, "zdot": terms.momentum_rate(z, v, self._force(terms.tree, v, **ports))}

    def coordinate_rate(self, q: Expression, v: Expression) -> Expression:
        """Return the time derivative (nq,) of the entries of a configuration."""
        return self._coordinate_rates.rate(JAX, q, v)

    def step(self, q: Expression, z: Expression, dt: Any, **ports: Any) -> tuple[Any, Any]:
        """Return configuration and momenta after a step of RK4 under held efforts.

        Rotations in the configuration are scaled to length one after the step.
        """

        def state_rate(x: tuple[Any, Any]) -> tuple[Any, Any]:
            rates = self.rate(*x, **ports)
            return self.coordinate_rate(x[0], rates["qdot"]), rates["zdot"]

        def state_after(duration: Any, rates: tuple[Any, Any]) -> tuple[Any, Any]:
            return q + duration * rates[0], z + duration * rates[1]

        k1 = state_rate((q, z))
        k2 = state_rate(state_after(dt / 2, k1))
        k3 = state_rate(state_after(dt / 2, k2))
        stages = zip(k1, k2, k3, state_rate(state_after(dt, k3)), strict=True)
        q_rate, z_rate = ((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in stages)
        q_next, z_next = state_after(dt, (q_rate, z_rate))
        for rotation in self.model.tree.rotations:
            rotation_part = q_next[rotation.entries]
            q_next = q_next.at[rotation.entries].set(rotation_part / jnp.linalg.norm(rotation_part))
        return q_next, z_next

    def _tree_at(self, q: Expression) -> PlacedTree:
        return PlacedTree(self._tree, jnp.asarray(q))

    def _terms(self, q: Expression) -> FormTerms:
        """The form at a configuration."""
        return self._make_terms(self._tree_at(q))

    def _force(
        self,
        tree: PlacedTree,
        v: Expression,
        torque: Any = None,
        wrench_base: Any = None,
        wrench_end_effector: Any = None,
        wrench_tools: dict[str, Any] | None = None,
    ) -> Expression:
        model, b = self.model, self.model.b
        base_wrench = jnp.zeros(b) if wrench_base is None else wrench_base
        force = jnp.concatenate([base_wrench, jnp.zeros(model.n) if torque is None else torque])
        wrenches = dict(wrench_tools or {})
        if wrench_end_effector is not None:
            wrenches[model.end_effector] = wrench_end_effector
        for name, wrench in wrenches.items():
            force += tree.jacobian(name).T @ wrench
        if self.friction is not None:
            f = self.friction
            friction_torque = f.viscous * v[b:] + f.coulomb * jnp.tanh(v[b:] / f.slip)
            force -= jnp.concatenate([jnp.zeros(b), friction_torque])
        return force - tree.gravity if self.gravity else force


class JaxTaskForm(JaxForm):
    """The task-space form [D (13)-(27)]: ``z = (pi, pi_nu)``.

    The basis of the null space is the one nearest to a reference basis, as in the form that is
    exported. The Jacobian is that of the task itself, not lifted near singularities.

    Attributes:
        task: the task.
    """

    def __init__(self, model: VMSModel, task: Task, reference_basis: Array, **options: Any) -> None:
        """Export a form; see :meth:`.Form.jax`.

        Args:
            model: the robot.
            task: the task.
            reference_basis: of the null space of the form, (nv-m,nv).
            options: ``gravity`` and ``friction`` of :class:`JaxForm`.

        Raises:
            ModelError: the robot or the task is not supported.
        """
        super().__init__(model, **options)
        self.task, self._reference_basis = task, np.asarray(reference_basis)

    def terms(self, q: Expression) -> dict[str, Expression]:
        """Return ``J`` (m,nv), ``Z`` (nv-m,nv), ``J_sharp``, ``Lambda_t`` and ``Lambda_nu``."""
        terms = self._terms(q)
        return {
            "J": terms.jacobian,
            "Z": terms.basis,
            "J_sharp": terms.sharp,
            "Lambda_t": terms.task_inertia,
            "Lambda_nu": terms.null_inertia,
        }

    def _terms(self, q: Expression) -> TaskTerms:
        terms: TaskTerms

        def momentum_map_rate(v: Expression) -> Expression:
            # Of J_bar^-T p along the motion, at fixed p: E v [D, Prop. 1] without the matrix E.
            p = terms.tree.M @ v
            q_rate = self.coordinate_rate(q, v)
            return jax.jvp(lambda q: self._terms(q).inverse_map.T @ p, (q,), (q_rate,))[1]

        terms = TaskTerms(self._tree_at(q), self.task, self._reference_basis, momentum_map_rate)
        return terms
