# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A potential on poses, without Euler angles, unwinding or undesired equilibria.

A smooth function on the rotations has critical points besides its minimum, so that no smooth law
stabilises every attitude. The potential here is smooth on the unit quaternions instead,
``4 k (1 - s eta)`` with eta the scalar part and a sign s, switched where ``s eta < -margin``: the
potential decreases by ``8 k |eta|`` there (C. G. Mayhew, R. G. Sanfelice, A. R. Teel,
"Quaternion-based hybrid control for robust global attitude tracking", IEEE Trans. Automatic Control
56(11), 2011). Its torque is largest at half a turn.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, Evaluation, VMSModel
from vms_ph_dynamics.groups import SE3, cross
from vms_ph_dynamics.robot.joints import BASE_POSITION_SIZE

from .shaped_potential import SpringForce

# The hysteresis of the sign: at eta = -0.1 the angle is 191 degrees. Measurement noise at half a
# turn cannot make the sign chatter.
SIGN_MARGIN = 0.1


@dataclass(frozen=True, slots=True)
class SpringEnergy:
    """Energy of a spring, J, and its gradient (3,) in the axes of the body, N or N m."""

    energy: float
    gradient: Array

    def limit(self, inverse_limit: float, stiffness: float) -> "tuple[SpringEnergy, float]":
        """Return the spring that pulls with at most a limit, and its share of this one.

        The energy V becomes ``2 sqrt(V_0 V) - V_0`` beyond ``V_0 = limit^2 / (2 stiffness)``, so
        that it remains a potential.

        Args:
            inverse_limit: of force or moment, 1/N or 1/(N m); zero for no limit.
            stiffness: the largest one, N/m or N m/rad.
        """
        ratio = 2.0 * stiffness * self.energy * inverse_limit * inverse_limit  # V / V_0
        if ratio <= 1.0:
            return self, 1.0
        share = 1.0 / sqrt(ratio)
        return SpringEnergy(share * (2.0 - share) * self.energy, share * self.gradient), share


class PosePotential:
    """``1/2 e^T k_p e + 4 k_r (1 - s eta)`` of the pose ``(R, e)`` of a body in its reference."""

    def __init__(self) -> None:
        self._quaternion = np.array([0.0, 0.0, 0.0, 1.0])
        self._sign, self._has_error = 1.0, False

    def restart(self, error: Array | None = None) -> None:
        """Restart at a pose error (4,4), by default the next one, with the shorter rotation."""
        self._has_error = error is not None
        if error is None:
            return
        self._quaternion = _quaternion(error[:3, :3])
        self._sign = 1.0 if self._quaternion[3] >= 0.0 else -1.0

    def follow(self, error: Array) -> bool:
        """Set the pose error (4,4); return whether the sign was switched."""
        if not self._has_error:
            self.restart(error)
        quaternion = _quaternion(error[:3, :3])
        # Of the two quaternions of a rotation, the one that is continuous in time.
        self._quaternion = -quaternion if quaternion @ self._quaternion < 0.0 else quaternion
        if self._sign * self._quaternion[3] >= -SIGN_MARGIN:
            return False
        self._sign = -self._sign
        return True

    def spring(self, error: Array, k_position: float, k_rotation: float) -> SpringForce:
        """Return energy, wrench and stiffness (6,) in the axes of the body, linear first.

        Args:
            error: (4,4) pose of the body in its reference, as passed to :meth:`follow` last.
            k_position: N/m.
            k_rotation: N m/rad, for small angles.
        """
        offset = error[:3, 3]
        eta, vector_part = self._sign * float(self._quaternion[3]), self._quaternion[:3]
        # 1 - eta, without cancellation near the reference.
        one_minus_eta = float(vector_part @ vector_part) / (1.0 + eta) if eta > 0.0 else 1.0 - eta
        energy = 0.5 * k_position * float(offset @ offset) + 4.0 * k_rotation * one_minus_eta
        wrench = np.empty(6)
        wrench[:3] = k_position * (offset @ error[:3, :3])
        wrench[3:] = (2.0 * k_rotation * self._sign) * vector_part
        return SpringForce(energy, wrench, np.repeat([k_position, k_rotation], 3))

    def spring_energies(
        self, error: Array, k_position: Array, k_rotation: Array
    ) -> "tuple[SpringEnergy, SpringEnergy]":
        """Return what springs with stiffnesses (3,3) in the axes of the reference store and pull.

        ``1/2 e^T K_p e`` and ``4 eps^T K_r eps / (1 + s eta)`` with the vector part eps of the
        quaternion. The second is ``4 k (1 - s eta)`` for ``K_r = k I``, and for every ``K_r`` its
        moment m has ``m^T eps = 2 s eps^T K_r eps``: no attitude without a moment up to where the
        sign is switched, but those that ``K_r`` leaves free.

        Args:
            error: (4,4) pose of the body in its reference, as passed to :meth:`follow` last.
            k_position: K_p, N/m.
            k_rotation: K_r, N m/rad.
        """
        offset, vector = error[:3, 3], self._quaternion[:3]
        force = k_position @ offset
        eta, stiff_vector = float(self._quaternion[3]), k_rotation @ vector
        divisor = 1.0 + self._sign * eta
        quadratic_form = float(vector @ stiff_vector)
        moment = 4.0 / divisor * (eta * stiff_vector + cross(stiff_vector, vector))
        moment += 2.0 * self._sign * quadratic_form / (divisor * divisor) * vector
        return (
            SpringEnergy(0.5 * float(offset @ force), force @ error[:3, :3]),
            SpringEnergy(4.0 * quadratic_form / divisor, moment),
        )

    def hessian_bound(self, k_rotation: Array) -> Array:
        """Return an upper bound (3,3) of the Hessian of the second of :meth:`spring_energies`.

        It is in the axes of the body, N m/rad, which have turned by half of the rotation against
        those in which ``K_r`` acts.
        """
        if np.array_equal(k_rotation, k_rotation[0, 0] * np.eye(3)):
            return k_rotation
        vector, eta = self._quaternion[:3], float(self._quaternion[3])
        x, y, z = vector.tolist()
        scale, length = 1.0 + self._sign * eta, sqrt(x * x + y * y + z * z)
        rates = np.array([[eta, -z, y], [z, eta, -x], [-y, x, eta]])
        coeff = float(vector @ k_rotation @ vector) * (1.0 / scale + 1.0 / max(length, 1e-9))
        bound = (scale + length) * (rates.T @ k_rotation @ rates) + coeff * np.outer(vector, vector)
        return 2.0 / (scale * scale) * bound

    def axes_power(self, k_rotation: Array, rate: Array) -> float:
        """Return the rate (W) of the second of :meth:`spring_energies` as its axes turn.

        Args:
            k_rotation: (3,3) in the axes of the reference, N m/rad.
            rate: (3,) at which the axes of the reference turn against those of the stiffness,
                rad/s.
        """
        vector = self._quaternion[:3]
        divisor = 1.0 + self._sign * float(self._quaternion[3])
        return 8.0 / divisor * float((k_rotation @ vector) @ cross(rate, vector))


def _quaternion(rotation: Array) -> Array:
    return np.array(pin.Quaternion(rotation).coeffs())


_SE3 = SE3()

BASE_COMPONENTS = {
    "fixed": np.zeros(0, dtype=int),
    "planar": np.array([0, 1, 5]),
    "floating": np.arange(6),
}
"""Indices of the components of a base twist in a spatial twist."""


def base_inertia(d: Evaluation) -> tuple[float, float]:
    """Return the mean mass, kg, and moment, kg m^2, that a base moves with its joints locked.

    Both are zero for a fixed base.
    """
    if d.model.base == "fixed":
        return 0.0, 0.0
    linear_size, diagonal = BASE_POSITION_SIZE[d.model.base], np.diag(d.M_b)
    return float(diagonal[:linear_size].mean()), float(diagonal[linear_size:].mean())


class BaseSpring:
    """A :class:`PosePotential` of the base about a pose, at first that at the last restart.

    Its stiffness is given by a frequency relative to the locked inertia there.

    Attributes:
        components: (b,) indices of the components of a base twist in a spatial one.
        rest_pose: (4,4) pose at which the base is held.
    """

    def __init__(self, model: VMSModel) -> None:
        self._model = model
        self.components = BASE_COMPONENTS[model.base]
        self._potential = PosePotential()

    def restart(self, d: Evaluation) -> None:
        """Hold the base where it is in a state."""
        self.rest_pose = self._model.base_pose(d.q)
        self._potential.restart(np.eye(4))
        self._mass_and_inertia = base_inertia(d)

    def at(self, pose: Array, frequency: float, share: float, attitude_share: float) -> SpringForce:
        """Return the spring at a pose (4,4) of the base.

        Args:
            pose: of the base in the inertial frame.
            frequency: rad/s.
            share: share of the spring of its place that is in force, in [0, 1].
            attitude_share: share of the spring of its attitude that is in force.
        """
        if share == 0.0 and attitude_share == 0.0:
            zero = np.zeros(self._model.b)
            return SpringForce(0.0, zero, zero)
        error = _SE3.inverse(self.rest_pose) @ pose
        self._potential.follow(error)
        mass, inertia = self._mass_and_inertia
        stiffnesses = (share * frequency**2 * mass, attitude_share * frequency**2 * inertia)
        return self._potential.spring(error, *stiffnesses).select(self.components)
