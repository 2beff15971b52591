# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A displacement of the reference by which a constant unknown force is carried."""

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.groups import SO3

_SO3 = SO3()

# Of the standard acceleration of gravity, m/s^2, as a force on the base relative to its mass; of
# the attitude and of a joint, rad or m. The displacement of the reference reaches no further.
_MAX_ACCEL, _MAX_ANGLE = 0.5 * 9.80665, 0.5

# Largest rate of the correction, over the horizon: a quarter of that of the largest damping.
_RATE_SHARE = 0.25


class IntegralAction:
    """The integral of the errors of base and joints, as a displacement of their reference.

    A spring holds a robot beside its reference where a force acts that the law does not know: a
    wrong weight, wind, a current. The reference is displaced against the error, at the rate
    ``integral damping_ratio frequency`` times the error, at most 1 / (4 h) with the horizon h of
    :class:`.SampledImpedance`, until none is left. The linear closed loop is stable below twice the
    largest of these rates. The displacement is a reference that moves: the power by which it
    changes the storage function is the reference power of a law, and the energy tank grants it as
    that of any other reference. It is bounded on the base to what carries half its weight, and to
    0.5 rad or m of the attitude and of every joint. While the efforts are limited it rests.

    Attributes:
        position: (3,) displacement of the base reference in the inertial frame, m.
        position_rate: (3,) its rate, m/s.
        rotation: (3,3) displacement of the attitude, from the axes of the minimum to those of the
            reference.
        angular_velocity: (3,) its angular velocity in the axes of the minimum, rad/s.
        joint_offset: (n,) displacement of the joint reference.
        joint_rates: (n,) its rate.
        is_zero: whether there is no displacement, and no rate of one.
    """

    def __init__(self, n: int) -> None:
        """Start without a displacement, for n joints."""
        self._n = n
        self.restart()

    def restart(self) -> None:
        """Remove the displacement."""
        self.is_zero = True
        self.position: Array = np.zeros(3)
        self.joint_offset: Array = np.zeros(self._n)
        self.rotation: Array = np.eye(3)
        self._rotvec: Array = np.zeros(3)
        self.pause()

    def pause(self) -> None:
        """Keep the displacement during a time step."""
        self.position_rate: Array = np.zeros(3)
        self.angular_velocity: Array = np.zeros(3)
        self.joint_rates: Array = np.zeros(self._n)

    def advance(
        self,
        share: float,
        omega_base: float,
        omega_joints: float | Array,
        position_error: Array,
        rotation_error: Array | None,
        joint_error: Array,
        dt: float,
        h: float,
    ) -> None:
        """Advance by one time step.

        Args:
            share: rate of the correction as a share of the natural frequency, ``integral`` times
                the damping ratio; 0 removes the displacement at once.
            omega_base: natural frequency of the base, rad/s; 0 where it is not held.
            omega_joints: natural frequency of the joints, of all or (n,), rad/s.
            position_error: (3,) error of the place of the base in the inertial frame, m.
            rotation_error: (3,3) attitude of the base relative to its reference; None where it is
                not corrected.
            joint_error: (n,) errors of the joints.
            dt: time step, s.
            h: the horizon, s.
        """
        if share == 0.0:
            if not self.is_zero:
                self.restart()
            return
        if dt == 0.0:
            self.pause()
            return
        self.is_zero = False
        max_share = dt * _RATE_SHARE / h
        gain, position = min(dt * share * omega_base, max_share), np.zeros(3)
        if omega_base > 0.0:
            position[:] = _clip(self.position - gain * position_error, _MAX_ACCEL / omega_base**2)
        if rotation_error is not None:
            self._rotvec = _clip(self._rotvec - gain * _SO3.log(rotation_error), _MAX_ANGLE)
            last_rotation, self.rotation = self.rotation, _SO3.exp(self._rotvec)
            self.angular_velocity = _SO3.log(last_rotation.T @ self.rotation) / dt
        offset = self.joint_offset - np.minimum(dt * share * omega_joints, max_share) * joint_error
        offset = np.clip(offset, -_MAX_ANGLE, _MAX_ANGLE)
        self.position_rate = (position - self.position) / dt
        self.joint_rates = (offset - self.joint_offset) / dt
        self.position, self.joint_offset = position, np.asarray(offset)


def _clip(vector: Array, max_length: float) -> Array:
    """Return a vector, shortened to a length that it may have."""
    length = float(np.sqrt(vector @ vector))
    return vector if length <= max_length else vector * (max_length / length)
