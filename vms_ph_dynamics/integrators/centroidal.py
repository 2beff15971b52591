# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The motion of a robot relative to its centre of mass.

Uniform gravity moves the centre of mass of a free robot along a parabola and has no other effect.
In the frame that falls with the centre of mass the linear momentum is zero, and the remaining
system is a robot on a base that only rotates: angular momentum about the centre of mass, shape, and
their energy. The split is exact, independently of the scheme.

On a planar base this holds for gravity within the plane; the component across it acts on the
joints, as all of gravity does on a fixed base.

All vectors are in the axes of the base's mount, in which the positions in ``q`` are given: the
inertial axes, unless a URDF gives its floating or planar joint an ``<origin>``.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..energy.audit import CompensatedSum
from ..errors import ModelError
from ..evaluation import Evaluation
from ..groups import cross
from ..model import VMSModel
from ..robot.joints import BASE_POSITION_SIZE
from .moving_base import base_rotation


class Fall(NamedTuple):
    """The parabola of the centre of mass since the last instant at which a port acted.

    It is not summed step by step: a million equal summands give a million roundings of the same
    sign. A time may be given as an instant and the time passed since: adding a step to a long time
    and subtracting it again would lose the digits that distinguish thrust from weight.

    Attributes:
        start_time: the instant since which it falls, s.
        centre: (k,) centre of mass then, from the mount, m.
        linear_momentum: (k,) linear momentum then, kg m/s.
        mass: kg.
        gravity: (k,) m/s^2.
    """

    start_time: float
    centre: Array
    linear_momentum: Array
    mass: float
    gravity: Array

    def centre_at(self, t: float, elapsed: float = 0.0) -> Array:
        """Return the centre of mass at the time ``t + elapsed``, (k,), m."""
        s = (t - self.start_time) + elapsed
        return self.centre + s * (self.linear_momentum / self.mass + (0.5 * s) * self.gravity)

    def velocity_at(self, t: float, elapsed: float = 0.0) -> Array:
        """Return its velocity, (k,), m/s."""
        return self.linear_momentum / self.mass + ((t - self.start_time) + elapsed) * self.gravity

    def after_impulse(
        self, t: float, displacement: Array, impulse: Array, elapsed: float = 0.0
    ) -> "Fall":
        """Return the parabola from then on, after an impulse and the displacement by it."""
        linear_momentum = self.mass * self.velocity_at(t, elapsed) + impulse
        centre = self.centre_at(t, elapsed) + displacement
        return Fall(t + elapsed, centre, linear_momentum, self.mass, self.gravity)


class CentroidalState(NamedTuple):
    """The motion about the centre of mass, that of the centre of mass, and conserved quantities.

    With k = 3 on a floating, 2 on a planar and 0 on a fixed base, and r = b - k:

    Attributes:
        q: (nq,) configuration; the base position is that relative to the centre of mass.
        v: (nv,) velocity relative to the centre of mass.
        fall: motion of the centre of mass.
        angular: (r,) angular momentum about the centre of mass, mount axes, kg m^2/s.
        energy: internal: kinetic energy of ``v`` and :meth:`CentroidalRobot.potential`, J.
        t: time, s.
    """

    q: Array
    v: Array
    fall: Fall
    angular: Array
    energy: CompensatedSum
    t: float


class LockedRobot(NamedTuple):
    """The robot as one body at a configuration.

    Attributes:
        inverse_inertia: (b,b) inverse of the locked inertia in the base frame.
        lever: (k,) from the base to the centre of mass, base axes.
        momentum: (b,) momentum of a motion, base frame.
        kinetic_energy: energy of that motion, J.
    """

    inverse_inertia: Array
    lever: Array
    momentum: Array
    kinetic_energy: float


class CentroidalRobot:
    """The split of a robot's motion into that of its centre of mass and that around it.

    Attributes:
        model: the robot.
        centre_dim: k, dimensions in which the centre of mass moves freely.
        rotation_dim: r, degrees of freedom of the rotation of the base.
        mass: kg.
        fall_acceleration: (k,) gravitational acceleration of the centre of mass, m/s^2.
        acceleration: (q, v, force) -> (nv,), with the part of gravity that does not accelerate the
            centre of mass.
        integrate: as :meth:`VMSModel.integrate`, without checks.
        zeros: (nv,) zeros.
    """

    def __init__(self, model: VMSModel, gravity: bool) -> None:
        """Split the motion of a robot.

        Raises:
            ModelError: the robot is in a fluid, whose added mass does not move with the centre of
                mass.
        """
        if model.fluid is not None:
            raise ModelError(
                f"'{model.name}' is in a fluid, whose added mass does not move with the centre of "
                "mass; use the scheme rk4 or rkmk4"
            )
        self.model = model
        self.centre_dim = BASE_POSITION_SIZE[model.base]
        self.rotation_dim = model.b - self.centre_dim
        self.mass = model.total_mass
        # The positions of a moving base count along the axes of its mount.
        gravity_vector = np.array(model.base_gravity) if gravity else np.zeros(3)
        self.fall_acceleration = gravity_vector[: self.centre_dim].copy()
        gravity_vector[: self.centre_dim] = 0.0
        self._pin = model.pinocchio
        if self.centre_dim:
            self._pin.jointPlacements[1] = pin.SE3.Identity()
        self._pin.gravity.linear = gravity_vector
        self._data = self._pin.createData()
        self.has_potential = bool(gravity_vector.any())
        self.integrate = partial(pin.integrate, self._pin) if model.is_plain else model.integrate
        self.acceleration = (
            partial(pin.aba, self._pin, self._data) if model.is_plain else self._acceleration
        )
        self.zeros = np.zeros(model.nv)

    def split(self, q: Array, v: Array, t: float) -> CentroidalState:
        """Return the state of a motion (q, v) in the inertial frame at a time, s."""
        if self.centre_dim == 0:
            empty = np.zeros(0)
            fall = Fall(t, empty, empty, self.mass, empty)
            return CentroidalState(q, v, fall, empty, CompensatedSum(self.energy(q, v)), t)
        rotation = base_rotation(self.model.base, q)
        k, locked_robot = self.centre_dim, self.locked(q, v)
        lever, linear_momentum = rotation @ locked_robot.lever, locked_robot.momentum[:k].copy()
        relative_q, relative_v = q.copy(), v.copy()
        relative_q[:k] = -lever
        relative_v[:k] -= linear_momentum / self.mass
        locked_robot = self.locked(relative_q, relative_v)
        return CentroidalState(
            relative_q,
            relative_v,
            Fall(t, q[:k] + lever, rotation @ linear_momentum, self.mass, self.fall_acceleration),
            self.angular_momentum(rotation, locked_robot.momentum, locked_robot.lever),
            CompensatedSum(self.energy(relative_q, relative_v)),
            t,
        )

    def to_inertial(
        self, q: Array, v: Array, position: Array, velocity: Array
    ) -> tuple[Array, Array]:
        """Return the motion in the inertial frame, from that in a moving frame.

        Args:
            q: (nq,) in the moving frame.
            v: (nv,) in it.
            position: (k,) of that frame, m.
            velocity: (k,) of it, m/s.
        """
        if self.centre_dim == 0:
            return q, v
        q, v = q.copy(), v.copy()
        v[: self.centre_dim] += velocity @ base_rotation(self.model.base, q)
        q[: self.centre_dim] += position
        return q, v

    def angular_momentum(self, rotation: Array, momentum: Array, lever: Array) -> Array:
        """Return the angular momentum about the centre of mass in mount axes, (r,)."""
        p, k = momentum, self.centre_dim
        if k == 2:
            return np.array([p[2] - lever[0] * p[1] + lever[1] * p[0]])
        return rotation @ (p[k:] - cross(lever, p[:k]))

    def moment(self, position: Array, force: Array) -> Array:
        """Return the moment (r,) of a force (k,) at a point (k,)."""
        if self.centre_dim == 2:
            return np.array([position[0] * force[1] - position[1] * force[0]])
        return cross(position, force)

    def _acceleration(self, q: Array, v: Array, force: Array) -> Array:
        d = Evaluation(self.model, q, v)
        if self.has_potential:
            force = force - self.weight(q)
        return np.linalg.solve(d.M, force - d.C @ v)

    def lagrangian_gradient(self, q: Array, v: Array) -> Array:
        """Return ``dT/dq - dV/dq`` at fixed velocity, (n,), V being :meth:`potential`."""
        b = self.model.b
        gradient = v.dot(Evaluation(self.model, q, v).C)[b:]
        return gradient - self.weight(q)[b:] if self.has_potential else gradient

    def weight(self, q: Array) -> Array:
        """Return the gradient of :meth:`potential`, (nv,)."""
        tree = self.model.tree
        q_full = tree.full_configuration(q)
        return tree.restrict(pin.computeGeneralizedGravity(self._pin, self._data, q_full))

    def potential(self, q: Array) -> float:
        """Return the potential of the part of gravity that acts on the shape, J."""
        if not self.has_potential:
            return 0.0
        q_full = self.model.tree.full_configuration(q)
        return float(pin.computePotentialEnergy(self._pin, self._data, q_full))

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix at a configuration, (nv,nv)."""
        return Evaluation(self.model, q, self.zeros).M

    def energy(self, q: Array, v: Array) -> float:
        """Return the kinetic energy of a motion and :meth:`potential`, J."""
        return Evaluation(self.model, q, v).kinetic_energy + self.potential(q)

    def locked(self, q: Array, v: Array) -> LockedRobot:
        """Return the robot as one body, with the momentum and the kinetic energy of a motion."""
        d = Evaluation(self.model, q, v)
        lever = lever_of(d.M, self.mass, self.centre_dim)
        return LockedRobot(d.M_b_inverse, lever, d.p, d.kinetic_energy)

    def move_centre_to_origin(self, q: Array, locked_robot: LockedRobot, angular: Array) -> Array:
        """Move the centre of mass of ``q`` to the origin, in place.

        Returns the angular momentum ``angular`` (r,) in base axes.
        """
        rotation = base_rotation(self.model.base, q)
        q[: self.centre_dim] = rotation.dot(-locked_robot.lever)
        return angular if self.centre_dim == 2 else angular.dot(rotation)


def lever_of(M: Array, mass: float, k: int) -> Array:
    """Return the centre of mass in the base frame, (k,), of the mass matrix."""
    if k == 2:
        return np.array([M[1, 2], -M[0, 2]]) / mass
    # m (v + w x lever) in the rows of v.
    return np.array([M[1, 5], -M[0, 5], M[0, 4]]) / mass
