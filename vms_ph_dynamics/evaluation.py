# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The terms of the equations of motion at one state, and the momenta in inertial axes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .arrays import Array, cached_property, frozen, summary
from .errors import ModelError, WithHints
from .groups import base_group, cross
from .robot.joints import BASE_COMPONENTS, BASE_POSITION_SIZE
from .robot.kinematic_tree import Kinematics
from .robot_model import RobotModel


def _evaluation(cls: type["Evaluation"], model: RobotModel, q: Array, v: Array) -> "Evaluation":
    return cls(model, frozen(q), frozen(v))


class Evaluation(Kinematics, WithHints):
    """An immutable snapshot at a state; every term is computed on first use.

    All arrays are read-only and full. ``b``, ``n`` and ``nv = b + n`` are the model's; on a fixed
    base the base blocks are empty. In a fluid, inertia and momentum include the added mass, and
    gravity the buoyancy.

    Inertias are in kg, kg m and kg m^2, velocities in m/s and rad/s, momenta in N s and N m s,
    generalised forces in N and N m; entries of prismatic joints have the linear unit.

    Attributes:
        model: the robot.
    """

    HINTS: ClassVar[Mapping[str, str]] = {
        "M": "mass_matrix inertia",
        "C": "coriolis coriolis_matrix",
        "g": "gravity",
        "C @ v + g": "nle bias h",
        "A, the mechanical connection": "connection mechanical_connection",
        "momentum; p, pi and pi_hat are its parts": "momenta",
        "momenta(evaluation) of vms_ph_dynamics": (
            "com center_of_mass centre_of_mass centroidal_momentum"
        ),
        "v_hat": "locked_velocity",
        "M_hat_m": "shape_inertia",
        "M_b": "locked_inertia",
        "kinetic_energy and potential_energy": "energy total_energy hamiltonian H",
        "StandardForm(model).dissipation(state)": "R D damping dissipation dissipation_matrix",
        'J_end_effector, or jacobian("frame", axes="world")': "J frame_jacobian",
        'jacobian_rate("frame")': "Jdot dJ frame_jacobian_rate",
        'placement("frame")': "forward_kinematics fk pose",
        "placement(model.end_effector)": "end_effector_pose end_effector_placement ee_pose T",
        "TaskSpaceForm(model, PoseTask(model)).evaluate(q, v).Lambda_t, in inertial axes": (
            "task_inertia operational_inertia operational_space_inertia Lambda Lambda_t"
        ),
    }

    def __init__(self, model: RobotModel, q: Array, v: Array) -> None:
        """Store the arrays as they are; :meth:`VMSModel.evaluate` copies the caller's.

        Args:
            model: the robot.
            q: (nq,) configuration.
            v: (nv,) velocity.
        """
        super().__init__(model.tree, q, v)
        self.model = model
        self._native_core = native_core = model.plain_core
        self._native_dynamics = None if native_core is None else native_core.dynamics
        self._algorithms = model.tree.algorithms if native_core is None else native_core
        self._fluid = model.fluid if native_core is None else None  # beside the algorithms

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy robot and state; a copy computes its terms anew."""
        return _evaluation, (type(self), self.model, self.q, self.v)

    def __repr__(self) -> str:
        """Return robot and state, in a few lines."""
        energy = f"kinetic {self.kinetic_energy:.4g} J, potential {self.potential_energy:.4g} J"
        return summary(self, f"'{self.model.name}'", "q", self.q, "v", self.v, energy)

    @property
    def sampled_algebra(self) -> Any:
        """The workspace in C++ for the algebra of sampled laws; None without it."""
        return None if self._native_core is None else self._native_core.sampled_algebra

    @cached_property
    def M(self) -> Array:
        """Mass matrix, (nv,nv) [A (17)]."""
        fluid, mass = self._fluid, self.tree.project(self._algorithms.mass(self))
        return frozen(mass if fluid is None else mass + fluid.added_mass(self))

    @cached_property
    def M_b(self) -> Array:
        """Locked inertia of the whole system in the base frame, (b,b)."""
        return self.M[: self.model.b, : self.model.b]

    @cached_property
    def M_bm(self) -> Array:
        """Coupling inertia, (b,n)."""
        return self.M[: self.model.b, self.model.b :]

    @cached_property
    def M_m(self) -> Array:
        """Mass matrix of the arm on a fixed base, (n,n)."""
        return self.M[self.model.b :, self.model.b :]

    @cached_property
    def A(self) -> Array:
        """Mechanical connection ``M_b^-1 M_bm``, (b,n) [A (53)]."""
        if self._native_dynamics is not None:
            return self._native_dynamics.connection(self.q)
        return frozen(self.M_b_inverse.dot(self.M_bm))

    @cached_property
    def A_rate(self) -> Array:
        """Derivative of the connection along the motion, (b,n)."""
        b, mass_rate = self.model.b, self.C + self.C.T
        return frozen(self.M_b_inverse @ (mass_rate[:b, b:] - mass_rate[:b, :b] @ self.A))

    @cached_property
    def M_b_inverse(self) -> Array:
        """Inverse of the locked inertia, (b,b)."""
        if self._native_dynamics is not None:
            return self._native_dynamics.locked_inverse(self.q)
        return frozen(np.linalg.inv(self.M_b))

    @cached_property
    def M_hat_m(self) -> Array:
        """Shape inertia ``M_m - A^T M_bm``, (n,n) [A (55)]."""
        if self._native_dynamics is not None:
            return self._native_dynamics.shape_inertia(self.q)
        inertia = self.M_m - self.A.T @ self.M_bm
        return frozen((inertia + inertia.T) / 2)

    @cached_property
    def v_hat(self) -> Array:
        """Locked velocity ``v_b + A qdot``, (b,) in the base frame, m/s and rad/s [A (54)]."""
        if self._native_dynamics is not None:
            return self._native_dynamics.locked_velocity(self.q, self.v)
        b = self.model.b
        return frozen(self.v[:b] + self.A @ self.v[b:])

    @cached_property
    def momentum(self) -> Array:
        """Generalised momentum ``M v = (p, pi)``, (nv,)."""
        if self._native_dynamics is not None:
            return self._native_dynamics.momentum(self.q, self.v)
        return frozen(self.M @ self.v)

    @cached_property
    def p(self) -> Array:
        """Momentum of the whole system in the base frame, (b,) [A (45)]."""
        return self.momentum[: self.model.b]

    @cached_property
    def pi(self) -> Array:
        """Joint momentum, (n,) [A (46)]."""
        return self.momentum[self.model.b :]

    @cached_property
    def pi_hat(self) -> Array:
        """Shape momentum ``pi - A^T p = M_hat_m qdot``, (n,) [A (56)]."""
        if self._native_dynamics is not None:
            return self._native_dynamics.shape_momentum(self.q, self.v)
        return frozen(self.pi - self.A.T @ self.p)

    @cached_property
    def C(self) -> Array:
        """Coriolis matrix, (nv,nv): ``Mdot = C + C^T``, for the base twist in the base frame.

        It is that of the Levi-Civita connection. Joints whose motion subspace depends on the
        configuration, for which Pinocchio's matrix is wrong, are not accepted in a model. In a
        fluid the part of the added mass is another matrix with the same property.
        """
        fluid, c = self._fluid, self.tree.project(self._algorithms.coriolis(self))
        return frozen(c if fluid is None else c + fluid.coriolis(self))

    @cached_property
    def C_hamel(self) -> Array:
        """Coriolis matrix of the Hamel equations, (nv,nv): not passive [B (3.39)].

        ``[[Mdot_bb - a^T M_bb, Mdot_bq - a^T M_bq], [Mdot_bq^T - M_b,q / 2, Mdot_qq - M_bq,q -
        M_q,q / 2]]`` with ``a = ad_v`` of the base twist.

        Raises:
            ModelError: the base is fixed, or the robot is in a fluid.
        """
        check_moving_rigid(self)
        b = self.model.b
        twist, rates = self.v[:b], self.v[b:]
        matrix = self.C + self.C.T
        matrix[:b] -= base_group(self.model.base).coad(twist) @ self.M[:b]
        # Row k: half of v_b^T dM_bb/dq_k; v_b^T dM_bq/dq_k and half of qdot^T dM_qq/dq_k.
        base_part, arm_part = twist @ self.dM[:, :b], rates @ self.dM[:, b:, b:]
        matrix[b:, :b] -= 0.5 * base_part[:, :b]
        matrix[b:, b:] -= base_part[:, b:] + 0.5 * arm_part
        return frozen(matrix)

    @cached_property
    def dM(self) -> Array:
        """Derivatives of the mass matrix along the joints, (n,nv,nv): ``dM[k] = dM/dq_k``."""
        model, tree = self.model, self.tree
        units = np.eye(model.nv)[model.b :]
        if self._fluid is None:
            p = tree.projection
            rates = self._algorithms.mass_rates(self, units if p is None else units @ p.T)
            return frozen(tree.project(rates))
        matrices = [Evaluation(model, self.q, unit).C for unit in units]
        return frozen(np.array([c + c.T for c in matrices]).reshape(-1, model.nv, model.nv))

    @cached_property
    def g(self) -> Array:
        """Generalised gravity, (nv,): the generalised force that holds the robot at rest."""
        fluid, g = self._fluid, self.tree.restrict(self._algorithms.gravity(self))
        return frozen(g if fluid is None else g - fluid.buoyancy(self))

    def lifting_power(self, q: Array) -> float:
        """Return the power ``v^T g(q)`` that raises the robot at another configuration (nq,), W."""
        if self._native_dynamics is not None:
            return float(self.v @ self._native_dynamics.gravity(q))
        return float(self.v @ Evaluation(self.model, q, np.zeros(self.model.nv)).g)

    @cached_property
    def kinetic_energy(self) -> float:
        """``1/2 v^T M v``, J."""
        if self._native_dynamics is not None:
            return self._native_dynamics.kinetic_energy(self.q, self.v)
        return 0.5 * float(self.v @ self.momentum)

    @cached_property
    def potential_energy(self) -> float:
        """Gravity potential, J; zero with the centre of mass at the inertial frame's origin."""
        model = self.model
        if self._native_dynamics is not None:
            return self._native_dynamics.potential_energy(self.q)
        potential = self.tree.algorithms.potential_energy(self)
        size = BASE_POSITION_SIZE[model.base]
        net_mass = model.total_mass
        if model.fluid is not None:
            potential += model.fluid.buoyancy_potential(self)
            net_mass -= model.fluid.displaced_mass
        return float(potential - net_mass * (model.base_gravity[:size] @ self.q[:size]))

    @cached_property
    def J_end_effector(self) -> Array:
        """Jacobian of the end effector in its own frame, linear first, (6,nv)."""
        return frozen(self.jacobian(self.model.end_effector_id))

    @cached_property
    def J_tools(self) -> Mapping[str, Array]:
        """Jacobians of ``model.tools`` in their own frames, linear first, (6,nv) each."""
        model = self.model
        jacobians = (frozen(self.jacobian(index)) for index in model.tool_ids)
        return MappingProxyType(dict(zip(model.tools, jacobians, strict=True)))

    @property
    def J_wrenches(self) -> Array:
        """Jacobians of the end effector and of all tools, in this order, (6 (1+tools),nv)."""
        return np.vstack([self.J_end_effector, *self.J_tools.values()])


def check_moving_rigid(d: Evaluation) -> None:
    """Check that the base of a robot moves, and that it is not in a fluid.

    Raises:
        ModelError: one of these does not hold.
    """
    if d.model.base == "fixed":
        text = f"decoupling needs a moving base; '{d.model.name}' has a fixed base: load it "
        text += "with base='planar' or base='floating'"
        raise ModelError(text)
    if d.model.fluid is not None:
        text = f"decoupling covers rigid bodies only; '{d.model.name}' is in a fluid, whose added "
        text += "mass belongs to no rigid body"
        raise ModelError(text)


@dataclass(frozen=True)
class Momenta:
    """Momentum in inertial axes, linear first, in kg m/s and kg m^2/s.

    In a fluid all of them include the momentum of the added mass.

    Attributes:
        centre_of_mass: (3,) of the robot in the inertial frame, m.
        centroidal: (6,) the angular part about the centre of mass.
        spatial: (6,) the angular part about the origin of the inertial frame; constant without
            external forces.
    """

    centre_of_mass: Array
    centroidal: Array
    spatial: Array


class SpatialVector(NamedTuple):
    """The linear and the angular part of a twist or a momentum, (3,) each."""

    linear: Array
    angular: Array


def momenta(d: Evaluation) -> Momenta:
    """Return the momentum of the whole robot, on any base.

    On a moving base ``spatial = Ad_{h^-1}^T p`` [A (45)]; on a fixed or planar base it also
    includes the components that the support of the base constrains.
    """
    centre, momentum = d._algorithms.centroidal(d)
    if d._fluid is not None:
        momentum = momentum + d._fluid.momentum(d, centre)
    spatial_momentum = np.concatenate([momentum[:3], momentum[3:] + cross(centre, momentum[:3])])
    return Momenta(frozen(centre), frozen(momentum), frozen(spatial_momentum))


def in_space(b: int, value: Array) -> SpatialVector:
    """Return a twist or momentum of the base, (0,), (3,) or (6,), as two vectors in space."""
    spatial_vector = np.zeros(6)
    spatial_vector[BASE_COMPONENTS[b]] = value
    return SpatialVector(spatial_vector[:3], spatial_vector[3:])


def pose_in_space(b: int, q: Array) -> tuple[Array, Array]:
    """Return position (3,), m, and quaternion (4,), x y z w, of a base that moves.

    Args:
        b: dimension of its velocity.
        q: (nq,) configuration; a planar base moves in the plane of x and y.
    """
    if b == 6:
        return q[:3], q[3:7]
    half_yaw = 0.5 * np.arctan2(q[3], q[2])
    return np.array([q[0], q[1], 0.0]), np.array([0.0, 0.0, np.sin(half_yaw), np.cos(half_yaw)])


__all__ = ["Momenta", "SpatialVector", "in_space", "momenta", "pose_in_space"]
