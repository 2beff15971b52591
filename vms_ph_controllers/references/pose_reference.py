"""A pose that moves smoothly to where it is told to go, with its velocity and acceleration."""

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.groups import SE3

_SE3 = SE3()


class PoseReference:
    """Follows a target pose, or a twist, with bounded speed and a bounded rate of speed.

    Attributes:
        pose: (4,4) in the inertial frame.
        twist: (6,) in the axes of the reference, linear first.
        acceleration: (6,) rate of ``twist``.
        is_resting: whether the target is reached.
    """

    def __init__(self) -> None:
        self.restart(np.eye(4))

    def restart(self, pose: Array) -> None:
        """Rest at a pose (4,4)."""
        self.pose = pose.copy()
        self.twist, self.acceleration = np.zeros(6), np.zeros(6)
        self._target: Array | None = None
        self.is_resting = True

    def go_to(self, target: Array) -> None:
        """Approach a pose (4,4) from now on."""
        self._target, self.is_resting = target.copy(), False

    def advance(
        self, twist: Array | None, speed: float, turn: float, quickness: float, dt: float
    ) -> None:
        """Move on by one time step.

        Args:
            twist: (6,) to move with, in the axes of the reference; None: approach the target.
            speed: bound of the linear speed, m/s.
            turn: bound of the angular speed, rad/s.
            quickness: inverse time in which the speed changes and the target is approached, 1/s.
            dt: s.
        """
        if twist is None and self.is_resting:
            return
        self.pose = self.pose @ _SE3.exp(dt * self.twist)
        self.twist = self.twist + dt * self.acceleration
        if twist is not None:
            wish, self._target, self.is_resting = twist, None, False
        elif self._target is not None:
            away = _SE3.log(_SE3.inverse(self.pose) @ self._target)
            wish = 0.5 * quickness * away
        else:
            wish = np.zeros(6)
        linear, angular = float(np.sqrt(wish[:3] @ wish[:3])), float(np.sqrt(wish[3:] @ wish[3:]))
        wish = wish * min(1.0, speed / max(linear, 1e-12), turn / max(angular, 1e-12))
        self.acceleration = quickness * (wish - self.twist)
        if np.abs(self.twist).max() + np.abs(wish).max() < 1e-9:
            self.restart(self.pose if self._target is None else self._target)
