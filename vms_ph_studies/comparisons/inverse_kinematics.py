# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joint positions at which the end effector is where its reference is."""

import numpy as np

from vms_ph_controllers.references.pose_reference import PoseReference
from vms_ph_dynamics import Evaluation, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.groups import SE3

_SE3 = SE3()

_COMPONENTS = {"fixed": [], "planar": [0, 1, 5], "floating": [0, 1, 2, 3, 4, 5]}

# Rates at which the error of the place and that of the posture fade, 1/s.
_POSITION_RATE, _POSTURE_RATE = 20.0, 1.0

# Added to the eigenvalues of J J^T, m^2: it bounds the rates where the arm is stretched out.
_DAMPING = 1e-4


class InverseKinematics:
    """Joints that lead an end effector along a moving place, on a base that moves as it should.

    The rates are those of the damped pseudo-inverse of the Jacobian of the place; the posture
    returns to that at the start as far as the place allows. Nothing is measured.

    Attributes:
        positions, rates: (n,).
        is_led: whether a place has been given.
    """

    def __init__(self, model: VMSModel) -> None:
        self._model, self._rows = model, np.array(_COMPONENTS[model.base], dtype=int)
        self._position, self.is_led = PoseReference(), False

    def restart(self, d: Evaluation) -> None:
        """Restart at rest at a configuration."""
        model = self._model
        self._q, self._base = np.array(d.q), model.base_pose(d.q)
        self._home = self.positions = model.joint_positions(d.q)
        self.rates = np.zeros(model.n)
        self._position.restart(d.placement(model.end_effector))
        self.is_led = False

    def go_to(self, position: Array) -> None:
        """Lead the end effector to a place (3,) in inertial axes, m."""
        pose = self._position.pose.copy()
        pose[:3, 3] = position
        self._position.go_to(pose)
        self.is_led = True

    def advance(self, base: Array, speed: float, bandwidth: float, dt: float) -> None:
        """Advance by one time step.

        Args:
            base: (4,4) pose of the base that is wanted at its end.
            speed: largest speed of the place, m/s.
            bandwidth: of its motion, rad/s.
            dt: s.
        """
        if not self.is_led or dt <= 0.0:
            return
        model, b = self._model, self._model.b
        self._position.advance(None, speed, 1.0, bandwidth, dt)
        d = model.evaluate(self._q, np.zeros(model.nv))
        tool = d.placement(model.end_effector)
        j = tool[:3, :3] @ d.J_end_effector[:3]
        step = np.zeros(model.nv)
        step[:b] = _SE3.log(_SE3.inverse(self._base) @ base)[self._rows]
        position_error = self._position.pose[:3, 3] - tool[:3, 3]
        moving = self._position.pose[:3, :3] @ self._position.twist[:3]
        velocity = moving + _POSITION_RATE * position_error - j[:, :b] @ step[:b] / dt
        arm = j[:, b:]
        back = _POSTURE_RATE * (self._home - self.positions)
        inverse = np.linalg.inv(arm @ arm.T + _DAMPING * np.eye(3))
        self.rates = back + arm.T @ (inverse @ (velocity - arm @ back))
        step[b:] = dt * self.rates
        self._q, self._base = model.integrate(self._q, step), base
        self.positions = model.joint_positions(self._q)
