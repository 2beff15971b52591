# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The free-floating equations of space robotics [E] and their relation to the other forms.

Space robotics describes the same robot in other variables: the velocity of the base is that of its
centre of mass in **inertial axes**, ``x0dot = (V_0, omega_0)``, not the body twist at the base
frame. Here, for the base link's centre of mass c in the base frame and its attitude R:
``V_0 = R (v + w x c)``, ``omega_0 = R w``. In ROS terms: ``nav_msgs/Odometry.twist`` is the body
twist (v, w) in its child frame; (V_0, omega_0) is in the axes of its ``header.frame_id``.
"""

import numpy as np

from ..arrays import Array, cached_property, frozen, summary
from ..errors import ModelError
from ..evaluation import Evaluation
from ..groups import skew
from ..model import VMSModel

# Singular values below this fraction of the largest count as zero in the dimension of null spaces.
_RANK_TOLERANCE = 1e-9


class FreeFloating:
    """A robot with a floating base in the variables of [E].

    Examples:
        >>> from vms_ph_io import robots
        >>> satellite = robots.load("satellite_panda")
        >>> e = FreeFloating(satellite).evaluate(satellite.home, np.zeros(satellite.nv))
        >>> e.J_g.shape  # the generalised Jacobian
        (6, 7)
    """

    def __init__(self, model: VMSModel) -> None:
        """Create the description of a robot.

        Args:
            model: the robot.

        Raises:
            ModelError: the base is not floating, or the robot is in a fluid.
        """
        if model.base != "floating" or model.fluid is not None:
            situation = "in a fluid" if model.fluid is not None else f"on a {model.base} base"
            raise ModelError(f"free-floating means a floating base in space; given: {situation}")
        self.model = model
        self.base_centre = frozen(np.array(model.tree.pinocchio.inertias[1].lever))

    def __repr__(self) -> str:
        """Return a summary in one line."""
        return summary(self, repr(self.model))

    def evaluate(self, q: Array, v: Array) -> "FreeFloatingEvaluation":
        """Return the terms at a configuration (nq,) and a velocity (nv,) of the model.

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        return FreeFloatingEvaluation(self.model.evaluate(q, v), self.base_centre)


class FreeFloatingEvaluation:
    """An immutable snapshot of the quantities of [E]; each is computed on first use.

    Vectors and matrices are in inertial axes, linear first; joint parts are those of the model.

    Lengths are in m, velocities in m/s and rad/s, linear momenta in N s, angular ones in N m s,
    generalised forces in N and N m.

    Args:
        d: the terms of the model at the state.
        base_centre: (3,) centre of mass of the base link in its frame, m.
    """

    def __init__(self, d: Evaluation, base_centre: Array) -> None:
        self.d = d
        base_pose = d.model.base_pose(d.q)
        self._rotation = base_pose[:3, :3]
        self._base_centre = base_centre
        self.r_0 = frozen(base_pose[:3, 3] + self._rotation @ base_centre)

    @cached_property
    def to_inertial(self) -> Array:
        """W, (nv,nv): ``(x0dot, phidot) = W v`` from the body twist and joint rates."""
        R, W = self._rotation, np.eye(self.d.model.nv)
        W[:3, :3], W[:3, 3:6], W[3:6, 3:6] = R, -R @ skew(self._base_centre), R
        return frozen(W)

    @cached_property
    def from_inertial(self) -> Array:
        """The inverse of :attr:`to_inertial`, (nv,nv)."""
        return frozen(np.linalg.inv(self.to_inertial))

    @cached_property
    def velocity(self) -> Array:
        """``(V_0, omega_0, phidot)``, (nv,) [E 22]."""
        return frozen(self.to_inertial @ self.d.v)

    @cached_property
    def H(self) -> Array:
        """Inertia in these velocities, (nv,nv) [E 24-27]."""
        H = self.from_inertial.T @ self.d.M @ self.from_inertial
        return frozen((H + H.T) / 2)

    @cached_property
    def H_0(self) -> Array:
        """Base inertia matrix, (6,6) [E 20]."""
        return self.H[:6, :6]

    @cached_property
    def H_0m(self) -> Array:
        """Dynamic coupling inertia, (6,n) [E 23]."""
        return self.H[:6, 6:]

    @cached_property
    def P(self) -> Array:
        """Linear momentum, (3,), kg m/s [E 6, 9]."""
        return frozen(self.H[:3] @ self.velocity)

    @cached_property
    def L_0(self) -> Array:
        """Angular momentum about the base's centre of mass, (3,) [E 17].

        [E 18, 19, 21] are misprinted: the first term is ``M r~_0g V_0``, the last ``r_0 x P``.
        """
        return frozen(self.H[3:6] @ self.velocity)

    @cached_property
    def L(self) -> Array:
        """Angular momentum about the inertial origin, (3,) [E 7, 11]."""
        return frozen(self.L_0 + np.cross(self.r_0, self.P))

    @cached_property
    def r_g(self) -> Array:
        """Centre of mass of the system in the inertial frame, (3,), m."""
        return frozen(self.d.tree.algorithms.centroidal(self.d).centre)

    @cached_property
    def r_0g(self) -> Array:
        """From the base's centre of mass to that of the system, (3,), m."""
        return frozen(self.r_g - self.r_0)

    @cached_property
    def H_w_phi(self) -> Array:
        """Angular momentum about the centre of mass of unit joint rates, (3,n) [E 16]."""
        return frozen(self.H_0m[3:] - skew(self.r_0g) @ self.H_0m[:3])

    @cached_property
    def J_s(self) -> Array:
        """Jacobian of the end effector for the base's motion, (6,6) [E 5]."""
        return frozen(self._end_effector_jacobian[:, :6])

    @cached_property
    def J_m(self) -> Array:
        """Jacobian of the end effector on a fixed base, (6,n) [E 5]."""
        return frozen(self._end_effector_jacobian[:, 6:])

    @cached_property
    def J_g(self) -> Array:
        """Generalized Jacobian, (6,n): ``V_e = J_g phidot`` at zero momentum (Umetani, Yoshida)."""
        return frozen(self.J_m - self.J_s @ np.linalg.solve(self.H_0, self.H_0m))

    @cached_property
    def reaction_null_space(self) -> Array:
        """Orthonormal joint motions that do not rotate the base at zero momentum, (n,n-rank).

        The null space of :attr:`H_w_phi` (Yoshida's reaction null space).
        """
        _, sigma, right_vectors = np.linalg.svd(self.H_w_phi)
        rank = int(np.sum(sigma > _RANK_TOLERANCE * max(float(sigma[0]), 1e-300)))
        return frozen(right_vectors[rank:].T.copy())

    @cached_property
    def Hdot(self) -> Array:
        """Rate of :attr:`H` along the motion, (nv,nv) [E 33, 34]."""
        d, frame_rate = self.d, np.zeros((self.d.model.nv, self.d.model.nv))
        w_skew = skew(d.v[3:6])
        # W^-1 Wdot, for a base centre that is fixed in the base.
        frame_rate[:3, :3] = frame_rate[3:6, 3:6] = w_skew
        frame_rate[:3, 3:6] = skew(self._base_centre) @ w_skew - w_skew @ skew(self._base_centre)
        mass_rate = d.C + d.C.T - frame_rate.T @ d.M - d.M @ frame_rate
        return frozen(self.from_inertial.T @ mass_rate @ self.from_inertial)

    @cached_property
    def c_0(self) -> Array:
        """``(0; V_0 x P)``, (6,), in place of ``-dT/dx_0``.

        [E 28, 35, 37] treat the base's attitude as a coordinate; omega_0 is a quasi-velocity, and
        the literal derivative misses ``omega_0 x L_0``.
        """
        return frozen(np.concatenate([np.zeros(3), np.cross(self.velocity[:3], self.P)]))

    @cached_property
    def c_m(self) -> Array:
        """``-dT/dphi``, (n,); [E 36] misses the minus sign."""
        return frozen(-(self.d.C.T @ self.d.v)[6:])

    @cached_property
    def bias(self) -> Array:
        """``Hdot (x0dot; phidot) + (c_0; c_m)``, (nv,): all velocity terms of [E 38]."""
        return frozen(self.Hdot @ self.velocity + np.concatenate([self.c_0, self.c_m]))

    def force(self, base: Array, torque: Array, contact: Array | None = None) -> Array:
        """Return the generalised force of [E 39, 41] in these velocities, (nv,).

        Args:
            base: (6,) force and torque at the base's centre of mass, inertial axes, N and N m.
            torque: (n,) at the joints, including friction, N m or N.
            contact: (6,) wrench at the end effector, inertial axes, N and N m.
        """
        force = np.concatenate([base, torque])
        return force if contact is None else force + self._end_effector_jacobian.T @ contact

    def acceleration(self, force: Array) -> Array:
        """Return ``(x0ddot; phiddot)`` under a generalised force (nv,), (nv,) [E 37, 38].

        The gravity of the model acts too.
        """
        return np.linalg.solve(self.H, force - self.bias - self.from_inertial.T @ self.d.g)

    @cached_property
    def _end_effector_jacobian(self) -> Array:
        return self.d.jacobian(self.d.model.end_effector_id, "world") @ self.from_inertial
