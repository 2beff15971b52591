"""The terms of the equations of motion at one state."""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from .arrays import Array, frozen
from .robot.joints import BASE_POSITION

if TYPE_CHECKING:
    from .model import VMSModel


class Evaluation:
    """An immutable snapshot at a state; every term is computed when first asked for.

    All arrays are read-only and full. ``b``, ``n`` and ``nv = b + n`` are the model's; on a fixed
    base the base blocks are empty. In a fluid, inertia and momentum include the added mass, and
    gravity the buoyancy.
    """

    def __init__(self, model: "VMSModel", q: Array, v: Array) -> None:
        """Take arrays that nobody will change; :meth:`VMSModel.evaluate` copies the caller's."""
        self.model = model
        self.q = q
        self.v = v
        # What Pinocchio sees: the base at the origin, every joint that mimics another filled in.
        self.q_origin = model.at_origin(model.full_configuration(self.q))
        self._v_full = model.full_velocity(self.v)
        self._locked_inverse: Array | None = None

    @cached_property
    def M(self) -> Array:
        """Mass matrix, (nv,nv) [A (17)]."""
        model = self.model
        data = model.workspace()
        upper = pin.crba(model._pin, data, self.q_origin) * model._upper
        self._locked_inverse = model.locked_inverse(data)
        mass = self._projected(upper + (upper * model._strictly_upper).T)
        if model.fluid is not None:
            mass = mass + model.fluid.added_mass(self)
        return frozen(mass)

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
        """Mass matrix of the arm on a held base, (n,n)."""
        return self.M[self.model.b :, self.model.b :]

    @cached_property
    def A(self) -> Array:
        """Mechanical connection ``M_b^-1 M_bm``, (b,n) [A (53)]."""
        return frozen(self.M_b_inverse.dot(self.M_bm))

    @cached_property
    def M_b_inverse(self) -> Array:
        """Inverse of the locked inertia, (b,b)."""
        locked = self.M_b  # crba leaves the closed form behind
        if self._locked_inverse is not None:
            return frozen(self._locked_inverse)
        return frozen(np.linalg.inv(locked))

    @cached_property
    def M_hat_m(self) -> Array:
        """Shape inertia ``M_m - A^T M_bm``, (n,n) [A (55)]."""
        shape = self.M_m - self.A.T @ self.M_bm
        return frozen((shape + shape.T) / 2)

    @cached_property
    def v_hat(self) -> Array:
        """Locked velocity ``v_b + A qdot``, (b,) in the base frame, m/s and rad/s [A (54)]."""
        b = self.model.b
        return frozen(self.v[:b] + self.A @ self.v[b:])

    @cached_property
    def momentum(self) -> Array:
        """Generalised momentum ``M v = (p, pi)``, (nv,)."""
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
        return frozen(self.pi - self.A.T @ self.p)

    @cached_property
    def C(self) -> Array:
        """Coriolis matrix, (nv,nv): ``Mdot = C + C^T``, for the base twist in the base frame.

        That of the Levi-Civita connection. Joints with a motion subspace that depends on the
        configuration, for which Pinocchio's matrix is wrong, never get into a model. In a fluid the
        part of the added mass is another matrix with the same property.
        """
        model = self.model
        c = pin.computeCoriolisMatrix(model._pin, model.workspace(), self.q_origin, self._v_full)
        c = self._projected(c) if model.projection is not None else c.copy()
        if model.fluid is not None:
            c = c + model.fluid.coriolis(self)
        return frozen(c)

    @cached_property
    def C_hamel(self) -> Array:
        """Coriolis matrix of the Hamel equations, (nv,nv): not passive [B (3.39)].

        Raises:
            ModelError: a fixed base, or a fluid.
        """
        # Here, and not above: the decoupling is built on this class.
        from .decoupling import hamel_coriolis

        return hamel_coriolis(self)

    @cached_property
    def dM(self) -> Array:
        """Derivatives of the mass matrix along the joints, (n,nv,nv): ``dM[k] = dM/dq_k``."""
        model, zero = self.model, np.zeros(self.model.nv)
        slices = []
        for k in range(model.b, model.nv):
            unit = zero.copy()
            unit[k] = 1.0
            c = Evaluation(model, self.q, unit).C
            slices.append(c + c.T)
        return frozen(np.stack(slices))

    @cached_property
    def g(self) -> Array:
        """Generalised gravity, (nv,): the force that holds the robot still."""
        model = self.model
        g = pin.computeGeneralizedGravity(model._pin, model.workspace(), self.q_origin)
        g = model.projection.T @ g if model.projection is not None else g.copy()
        if model.fluid is not None:
            g = g - model.fluid.buoyancy(self)
        return frozen(g)

    @cached_property
    def kinetic_energy(self) -> float:
        """``1/2 v^T M v``, J."""
        return 0.5 * float(self.v @ self.momentum)

    @cached_property
    def potential_energy(self) -> float:
        """Gravity potential, J; zero with the centre of mass at the inertial frame's origin."""
        model = self.model
        local = pin.computePotentialEnergy(model._pin, model.workspace(), self.q_origin)
        size = BASE_POSITION[model.base]
        weight = model.total_mass
        if model.fluid is not None:
            local += model.fluid.buoyancy_potential(self)
            weight -= model.fluid.displaced_mass
        return float(local - weight * (model.base_gravity[:size] @ self.q[:size]))

    @property
    def J_end_effector(self) -> Array:
        """Jacobian of the end effector in its own frame, linear first, (6,nv)."""
        return self._J_end_effector

    @cached_property
    def _J_end_effector(self) -> Array:
        return frozen(self.frame_jacobian(self.model._end_effector_id))

    def jacobian(self, frame: str) -> Array:
        """Return the Jacobian of any frame, expressed in that frame, linear first, (6,nv)."""
        return frozen(self.frame_jacobian(self.model.frame_id(frame)))

    def placement(self, frame: str) -> Array:
        """Return the pose of a frame in the inertial frame, (4,4)."""
        model, data = self.model, self.model.workspace()
        pin.forwardKinematics(model._pin, data, model.full_configuration(self.q))
        pose = pin.updateFramePlacement(model._pin, data, model.frame_id(frame))
        return frozen(pose.homogeneous)

    def frame_jacobian(self, frame_id: int, axes: pin.ReferenceFrame = pin.LOCAL) -> Array:
        """Return the Jacobian of a frame by its index, (6,nv), in the axes asked for."""
        model = self.model
        full = pin.computeFrameJacobian(
            model._pin, model.workspace(), self.q_origin, frame_id, axes
        )
        return full @ model.projection if model.projection is not None else full.copy()

    def frame_jacobian_rate(self, frame_id: int, axes: pin.ReferenceFrame = pin.LOCAL) -> Array:
        """Return the derivative of :meth:`frame_jacobian` along the velocity, (6,nv)."""
        model, data = self.model, self.model.workspace()
        pin.computeJointJacobiansTimeVariation(model._pin, data, self.q_origin, self._v_full)
        pin.updateFramePlacement(model._pin, data, frame_id)
        full = pin.getFrameJacobianTimeVariation(model._pin, data, frame_id, axes)
        return full @ model.projection if model.projection is not None else full.copy()

    def _projected(self, matrix: Array) -> Array:
        p = self.model.projection
        return matrix if p is None else p.T @ matrix @ p
