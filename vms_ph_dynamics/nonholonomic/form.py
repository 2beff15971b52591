# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot under velocity constraints, such as wheels, in the velocities that they allow."""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen, vector
from ..errors import ModelError, StateError
from ..evaluation import Evaluation
from ..forms import PHRate, PHState, Ports, PowerBalance
from ..forms.standard import coadjoint_matrix
from ..forms.state import StandardEnergy
from ..groups import skew
from ..model import VMSModel
from ..robot.joints import BASE_COMPONENTS
from ..tasks import Task

_UP = np.array([0.0, 0.0, 1.0])
_UP_CROSS = skew(_UP)


class WheelConstraint(Task):
    """A wheel that rolls on the plane of the base without slip.

    The velocity of the point of contact, below the centre of the wheel, is zero along the wheel and
    across it. A wheel with rollers lets it move across their axes: there is one row, for the
    direction of the axis of the roller that touches the ground.

    The axle is the axis of the joint that moves the wheel, and stays parallel to the plane: steered
    wheels and casters turn about the normal of the plane.

    Attributes:
        wheel: the joint that turns it.
        radius: m.
        has_rollers: whether it has rollers.
    """

    def __init__(
        self, model: VMSModel, wheel: str, radius: float, roller_angle: float | None = None
    ) -> None:
        """Constrain a wheel.

        Args:
            model: a robot on a planar base.
            wheel: the joint that turns it, about an axis in its own frame; the centre of the wheel
                is the origin of the joint.
            radius: m.
            roller_angle: angle of the rollers' axes from the direction of travel about the normal
                of the plane, rad: 0 for omnidirectional wheels, whose rollers turn about tangents
                of the rim, plus or minus pi/4 for mecanum wheels. None for a wheel without rollers.

        Raises:
            ModelError: the base is not planar, there is no such joint, its axis is not parallel to
                the plane, or the radius is not positive.
        """
        super().__init__(model)
        if model.base != "planar":
            raise ModelError(
                f"wheels roll on the plane of a planar base; '{model.name}' has a {model.base} "
                "base: load it with base='planar'"
            )
        if not radius > 0.0:
            raise ModelError(f"the radius of wheel '{wheel}' must be positive; given: {radius}")
        pinocchio = model.tree.pinocchio
        if not pinocchio.existJointName(wheel):
            joints = ", ".join(model.joint_names)
            raise ModelError(f"'{wheel}' is no joint of '{model.name}'; its joints are {joints}")
        self.wheel, self.radius = wheel, radius
        self.dimension = 2 if roller_angle is None else 1
        self._roller_angle = roller_angle
        self.has_rollers = roller_angle is not None
        joint = pinocchio.getJointId(wheel)
        self._frame = pinocchio.getFrameId(wheel, pin.FrameType.JOINT)
        joint_rates = model.tree.full_velocity(np.eye(model.nv))[:, pinocchio.idx_vs[joint]]
        self._velocity_index = int(np.argmax(np.abs(joint_rates)))
        d = Evaluation(model, model.neutral_configuration(), np.zeros(model.nv))
        axle = self._joint_jacobian(d)[3:, self._velocity_index]
        self._axis_length = float(np.linalg.norm(axle))
        if self._axis_length < 1e-9 or abs(float(axle @ _UP)) > 1e-6 * self._axis_length:
            raise ModelError(
                f"'{wheel}' must turn a wheel about an axis that is parallel to the plane of the "
                "base; its axis has a component along the normal, or it does not turn"
            )

    def _joint_jacobian(self, d: Evaluation) -> Array:
        return d.jacobian(self._frame, "world")

    def _axle(self, jacobian: Array) -> Array:
        """Return the axis about which the wheel turns, in inertial axes, (3,)."""
        return jacobian[3:, self._velocity_index] / self._axis_length

    def jacobian(self, d: Evaluation) -> Array:
        """Return the rows of the velocity of the point of contact, (m,nv)."""
        jacobian = self._joint_jacobian(d)
        return self._directions(self._axle(jacobian)) @ self._J_contact(jacobian)

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative along ``d.v``, (m,nv)."""
        J = self._joint_jacobian(d)
        axle = self._axle(J)
        axle_rate = skew(J[3:] @ d.v) @ axle
        rate = self._J_contact(d.jacobian_rate(self._frame, "world"))
        return self._directions(axle) @ rate + self._directions(axle_rate) @ self._J_contact(J)

    def _J_contact(self, jacobian: Array) -> Array:
        """Return the Jacobian of the velocity of the point of contact, (3,nv)."""
        return jacobian[:3] + self.radius * (_UP_CROSS @ jacobian[3:])

    def _directions(self, axle: Array) -> Array:
        """Return the constrained directions, (m,3); linear in the axle."""
        travel = -(_UP_CROSS @ axle)
        if self._roller_angle is None:
            return np.stack([travel, axle])
        return (np.cos(self._roller_angle) * travel + np.sin(self._roller_angle) * axle)[None, :]


# Singular values up to this count as zero; of dependent entries this share of all.
_RANK_TOLERANCE = 1e-9
# Violation of a constraint up to which a velocity is taken as one that it allows, m/s.
_MAX_VIOLATION = 1e-9
_BASE_NAMES = ("base x", "base y", "base z", "base roll", "base pitch", "base yaw")


class NonholonomicForm:
    r"""``v = S(q) nu``: the Dirac structure of a robot restricted to what its wheels allow.

    The constraints ``J_c(q) v = 0`` are eliminated: with a basis S of the velocities that they
    allow, the momentum is ``z = S^T M v = M_nu nu`` with ``M_nu = S^T M S``, and forces act by
    ``S^T f``. The constraint forces do no work on S and never appear; there are no multipliers,
    and a constraint is met to rounding at any time. In ``xdot = J dT/dx + G f`` with ``x = (q, z)``
    and the kinetic energy T, J is skew-symmetric::

        qdot = S nu,   zdot = -S^T dT/dq + K nu + S^T f,   K_ij = (M S nu) . [S_j, S_i]

    with the brackets of the columns of S as vector fields on the group of the base and the joints.
    As in all forms gravity is one of the forces f.

    Independent velocities ``nu`` are entries of v, chosen once: :attr:`independent_ids`. At some
    postures they do not determine the others: on a bicycle whose front wheel is steered by 90
    degrees, the speed of the driven rear wheel does not. :meth:`basis` then raises an error, and
    :meth:`chart` chooses others.

    Attributes:
        model: the robot.
        constraints: velocity constraints as given.
        dimension: m, number of independent velocities.
        independent_ids: (m,) their indices in v.
    """

    def __init__(self, model: VMSModel, constraints: Sequence[Task]) -> None:
        """Constrain a robot.

        Args:
            model: the robot.
            constraints: tasks whose velocity is zero; rows that follow from others are left out.

        Raises:
            ModelError: there is no constraint, one is of another robot, or all or none of the
                motions of the robot are left.
        """
        if not constraints or any(task.model.tree is not model.tree for task in constraints):
            raise ModelError("give at least one constraint, all made for the model of the form")
        self.model, self.constraints = model, tuple(constraints)
        self._row_ids, self._dependent_ids, self.independent_ids = self._partition()
        self.dimension = len(self.independent_ids)

    def _partition(self) -> tuple[Array, Array, Array]:
        """Return the independent rows of the constraints, and dependent and independent entries."""
        model, rng = self.model, np.random.default_rng(0)
        postures = [model.neutral_configuration()]
        postures += [model.random_configuration(rng) for _ in range(4)]
        evaluations = (Evaluation(model, posture, np.zeros(model.nv)) for posture in postures)
        jacobians = [self._stacked_jacobian(d) for d in evaluations]
        rank = max(int(np.linalg.matrix_rank(J, _RANK_TOLERANCE)) for J in jacobians)
        if not rank:
            raise ModelError("the constraints allow every motion of the robot; leave them out")
        if rank == model.nv:
            raise ModelError("the constraints leave the robot no motion; remove superfluous ones")
        # Pivots over several configurations order rows and columns by their share in the rank.
        row_ids = _pivot_rows(
            np.concatenate([J / max(1e-300, np.abs(J).max()) for J in jacobians], axis=1), rank
        )
        column_ids = _pivot_rows(np.concatenate([J[row_ids] for J in jacobians]).T, rank)
        return np.sort(row_ids), np.sort(column_ids), np.setdiff1d(np.arange(model.nv), column_ids)

    def chart(self, q: Array) -> "NonholonomicForm":
        """Return this robot in the independent velocities that are best at a posture ``q`` (nq,).

        They determine the others wherever the wheels allow no further motion, so that a motion may
        pass through any posture; the momenta of the chart are not those of this form.
        """
        chart = copy(self)
        jacobian = self.constraint_jacobian(Evaluation(self.model, q, np.zeros(self.model.nv)))
        chart._dependent_ids = np.sort(_pivot_rows(jacobian.T, len(jacobian)))
        chart.independent_ids = np.setdiff1d(np.arange(self.model.nv), chart._dependent_ids)
        return chart

    def momentum(self, q: Array, v: Array) -> Array:
        """Return ``S^T M v``, (m,), at ``q`` (nq,) for a velocity ``v`` (nv,), unchecked.

        Raises:
            StateError: as for :meth:`basis`.
        """
        d = Evaluation(self.model, q, v)
        return self.basis(d).T @ d.momentum

    def _stacked_jacobian(self, d: Evaluation) -> Array:
        return np.concatenate([task.jacobian(d) for task in self.constraints])

    def constraint_jacobian(self, d: Evaluation) -> Array:
        """Return the independent rows of ``J_c``, (nv-m,nv)."""
        return self._stacked_jacobian(d)[self._row_ids]

    def basis(self, d: Evaluation) -> Array:
        """Return S, (nv,m): a column for each independent velocity.

        Raises:
            StateError: the others are not determined by these at this posture.
        """
        J = self.constraint_jacobian(d)
        block = J[:, self._dependent_ids]
        if np.linalg.svd(block, compute_uv=False)[-1] <= _RANK_TOLERANCE * np.linalg.norm(J):
            base_names = [_BASE_NAMES[k] for k in BASE_COMPONENTS[self.model.b]]
            names = [*base_names, *self.model.joint_names]
            independent_names = ", ".join(names[i] for i in self.independent_ids)
            raise StateError(
                f"the velocities {independent_names} do not determine the others at this posture: "
                "a wheel stands across the motion that they describe"
            )
        basis = np.zeros((self.model.nv, self.dimension))
        basis[self.independent_ids] = np.eye(self.dimension)
        basis[self._dependent_ids] = -np.linalg.solve(block, J[:, self.independent_ids])
        return frozen(basis)

    def terms(self, q: Array, nu: Array) -> "NonholonomicTerms":
        """Return the terms of the reduced equations at ``q`` (nq,) and ``nu`` (m,), unchecked."""
        basis = self.basis(Evaluation(self.model, q, np.zeros(self.model.nv)))
        return NonholonomicTerms(self, Evaluation(self.model, q, basis @ nu), basis, nu)

    def rate_of_basis(self, d: Evaluation, basis: Array) -> Array:
        """Return the derivative of S along ``d.v``, (nv,m)."""
        rates = np.concatenate([task.jacobian_rate(d) for task in self.constraints])[self._row_ids]
        block = self.constraint_jacobian(d)[:, self._dependent_ids]
        basis_rate = np.zeros_like(basis)
        basis_rate[self._dependent_ids] = -np.linalg.solve(block, rates @ basis)
        return basis_rate

    def state(self, q: Array, v: Array) -> PHState:
        """Return the state ``(q, S^T M v)`` of a velocity that the constraints allow.

        Raises:
            StateError: the velocity violates a constraint (the message says by how much), or an
                argument is not valid.
        """
        d = self.model.evaluate(q, v)
        violation = float(np.abs(self._stacked_jacobian(d) @ d.v).max())
        if violation > _MAX_VIOLATION * max(1.0, float(np.abs(d.v).max())):
            raise StateError(
                f"the velocity violates a constraint by {violation:.3g} m/s; a velocity that they "
                "allow is basis(d) @ nu for independent velocities nu"
            )
        return PHState(d.q, self.terms(d.q, d.v[self.independent_ids]).momentum)

    def velocity(self, x: PHState) -> Array:
        """Return the velocity (nv,) of a state.

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        q, z = self.model.checked_configuration(x.q), vector(x.z, self.dimension, "z")
        rest_evaluation = Evaluation(self.model, q, np.zeros(self.model.nv))
        basis = self.basis(rest_evaluation)
        return basis @ np.linalg.solve(basis.T @ rest_evaluation.M @ basis, z)

    def _terms_at(self, x: PHState) -> "NonholonomicTerms":
        return self.terms(x.q, self.velocity(x)[self.independent_ids])

    def hamiltonian(self, x: PHState) -> StandardEnergy:
        """Return ``1/2 z^T M_nu^-1 z + V(q)``."""
        d = self._terms_at(x).d
        return StandardEnergy(d.kinetic_energy, d.potential_energy)

    def rate(self, x: PHState, ports: Ports) -> PHRate:
        """Return ``(v, zdot)`` under the efforts at the ports.

        Raises:
            StateError: a state or effort has the wrong shape or is not finite.
        """
        terms = self._terms_at(x)
        force = terms.basis.T @ Ports.checked(self.model, ports).force(terms.d)
        return PHRate(terms.d.v, terms.coriolis.T @ terms.nu + force)

    def gradient(self, x: PHState) -> Array:
        """Return ``(dT/dq at fixed z, nu)``, (nv+m,), the gradient of the kinetic energy T.

        The derivatives are along unit velocities, those of the base in its own axes. That of the
        Hamiltonian has ``dT/dq + g``: gravity is a force, as in :meth:`.Form.gradient`.
        """
        terms, energy_gradient = self._terms_at(x), []
        for unit_velocity in np.eye(self.model.nv):
            d = Evaluation(self.model, terms.d.q, unit_velocity)
            mass_rate = NonholonomicTerms(self, d, terms.basis, terms.nu).mass_rate
            energy_gradient.append(-0.5 * float(terms.nu @ mass_rate @ terms.nu))
        return np.concatenate([energy_gradient, terms.nu])

    def interconnection(self, x: PHState) -> Array:
        """Return the skew-symmetric J of :meth:`gradient`, (nv+m,nv+m)."""
        terms, m, nv, b = self._terms_at(x), self.dimension, self.model.nv, self.model.b
        d, basis = terms.d, terms.basis
        # rates[i]: derivative of S^T p along column i of S, at fixed p.
        evaluations = (Evaluation(self.model, d.q, column) for column in basis.T)
        rates = np.array([d.momentum @ self.rate_of_basis(e, basis) for e in evaluations])
        brackets = rates.T + 0.5 * (basis[:b].T @ coadjoint_matrix(self.model, d.p) @ basis[:b])
        matrix = np.zeros((nv + m, nv + m))
        matrix[:nv, nv:], matrix[nv:, :nv] = basis, -basis.T
        matrix[nv:, nv:] = brackets - brackets.T
        return matrix

    def input_map(self, x: PHState) -> Array:
        """Return G, (nv+m,nv): generalised forces act on the momentum by ``S^T``."""
        return np.concatenate([np.zeros((self.model.nv, self.model.nv)), self._terms_at(x).basis.T])

    def power_balance(self, x: PHState, ports: Ports) -> PowerBalance:
        """Return the power balance; its residual is zero up to rounding.

        Raises:
            StateError: a state or effort has the wrong shape or is not finite.
        """
        terms, zdot = self._terms_at(x), self.rate(x, ports).zdot
        # dH/dt = nu . zdot - 1/2 nu . dM_nu/dt nu at fixed z, with the rate of the reduced inertia.
        stored_power = float(terms.nu @ zdot) - 0.5 * float(terms.nu @ terms.mass_rate @ terms.nu)
        if ports.gravity:
            stored_power += float(terms.d.g @ terms.d.v)
        return PowerBalance(stored_power, ports.supplied(terms.d), ports.dissipated(terms.d))


class NonholonomicTerms:
    """The terms of the reduced equations at one state.

    Attributes:
        d: the evaluation at ``(q, v = S nu)``.
        basis: S, (nv,m).
        nu: (m,) independent velocities.
    """

    def __init__(self, form: NonholonomicForm, d: Evaluation, basis: Array, nu: Array) -> None:
        """Hold the terms; :meth:`NonholonomicForm.terms` makes them.

        Args:
            form: the form that makes the terms.
            d: the evaluation at ``(q, v = S nu)``.
            basis: S, (nv,m).
            nu: (m,) independent velocities, m/s and rad/s.
        """
        self._form, self.d, self.basis, self.nu = form, d, basis, nu

    @cached_property
    def mass(self) -> Array:
        """Reduced mass matrix ``M_nu = S^T M S``, (m,m)."""
        mass = self.basis.T @ self.d.M @ self.basis
        return frozen((mass + mass.T) / 2)

    @cached_property
    def basis_rate(self) -> Array:
        """Derivative of S along the motion, (nv,m)."""
        return frozen(self._form.rate_of_basis(self.d, self.basis))

    @cached_property
    def mass_rate(self) -> Array:
        """Derivative of the reduced mass matrix along the motion, (m,m)."""
        return frozen(self.coriolis + self.coriolis.T)

    @cached_property
    def coriolis(self) -> Array:
        """``S^T (C S + M Sdot)``, (m,m): ``mass_rate`` is the sum of it and its transpose."""
        return frozen(self.basis.T @ (self.d.C @ self.basis + self.d.M @ self.basis_rate))

    @cached_property
    def momentum(self) -> Array:
        """``S^T M v``, (m,)."""
        return frozen(self.mass @ self.nu)

    def acceleration(self, force: Array) -> Array:
        """Return nudot, (m,), m/s^2 and rad/s^2, under a generalised force (nv,) with gravity."""
        return np.linalg.solve(self.mass, self.basis.T @ force - self.coriolis @ self.nu)

    def constraint_force(self, force: Array) -> Array:
        """Return the generalised force (nv,) of the wheels on the robot; its power is zero.

        Args:
            force: (nv,) all other forces, including gravity.
        """
        acceleration = self.basis @ self.acceleration(force) + self.basis_rate @ self.nu
        return self.d.M @ acceleration + self.d.C @ self.d.v - force


def _pivot_rows(matrix: Array, row_count: int) -> Array:
    """Return the indices of rows that are independent, by pivoted Gram-Schmidt, (row_count,)."""
    residuals = np.array(matrix, float)
    pivots: list[int] = []
    for _ in range(row_count):
        norms = np.linalg.norm(residuals, axis=1)
        norms[pivots] = -1.0
        best_row = int(np.argmax(np.round(norms, 9)))
        pivots.append(best_row)
        unit_vector = residuals[best_row] / np.linalg.norm(residuals[best_row])
        residuals = residuals - np.outer(residuals @ unit_vector, unit_vector)
    return np.array(pivots)


def wheeled_form(model: VMSModel, radii: Mapping[str, float]) -> NonholonomicForm | None:
    """Return the form of a robot on wheels without slip, or None without any.

    Args:
        model: a robot on a planar base.
        radii: of the wheels by the names of their joints, m.

    Raises:
        ModelError: the base is not planar, a joint is unknown or turns no wheel, or a radius is not
            positive.
    """
    if not radii:
        return None
    return NonholonomicForm(model, [WheelConstraint(model, name, r) for name, r in radii.items()])
