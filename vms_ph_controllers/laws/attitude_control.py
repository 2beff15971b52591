# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The attitude of a base in space by reaction wheels, with an arm that moves."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Allocation, Array, Evaluation, ModelError, VMSModel

from ..controller import gain
from .attitude_and_shape import AttitudeAndShape, BaseMotion, centre_and_inertia

# Singular values below this share of the largest count as zero.
_RANK = 1e-6


class AttitudeControl(AttitudeAndShape):
    """Holds the attitude of a base by moments alone, and its joints; the position is free.

    For satellites on reaction wheels: with the attitude held, all angular momentum of the robot
    ends in the wheels, which dumps that of a captured body. The storage function decreases by
    damping of the locked angular velocity and of the shape, and changes by clipped power where the
    wheels are at their limits. Gravity is not compensated.
    """

    @dataclass(frozen=True)
    class Gains(AttitudeAndShape.Gains):
        """Gains of the law."""

        frequency_attitude: float = gain(0.3, "natural frequency of the attitude, rad/s", 0.0, 50.0)
        frequency_shape: float = gain(
            4.0, "natural frequency of the joint motion, rad/s", 0.0, 100.0
        )

    gains: Gains

    def __init__(
        self,
        model: VMSModel,
        gains: Gains | None = None,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
    ) -> None:
        """Control attitude and joints of a robot.

        Args:
            model: the robot.
            gains: the gains; None for the defaults.
            allocation: its actuators, which can turn the base about all axes.
            base_actuated: must be true.

        Raises:
            ModelError: the base does not float freely, or has no actuators that turn it.
        """
        if model.base != "floating" or model.fluid is not None or np.any(model.tree.gravity):
            raise ModelError(
                f"AttitudeControl is for robots that float freely in space, without gravity and "
                f"fluid; '{model.name}' does not"
            )
        if allocation is None or not base_actuated:
            raise ModelError(
                f"AttitudeControl needs what turns '{model.name}'; give its allocation, as "
                "actuators:=own does"
            )
        turning = np.linalg.svd(allocation.matrix[3:], compute_uv=False)
        if len(turning) < 3 or turning[2] <= _RANK * turning[0]:
            raise ModelError(f"the actuators of '{model.name}' cannot turn it about all axes")
        super().__init__(model, gains, allocation)

    def _base_motion(self, d: Evaluation, gains: "AttitudeControl.Gains", h: float) -> BaseMotion:
        rotation, attitude = self.model.base_pose(d.q)[:3, :3], self._base.pose[:3, :3]
        centre, inertia = centre_and_inertia(d)
        turning = rotation.T @ attitude @ self._base.twist[3:]
        return BaseMotion(np.zeros(3), rotation, attitude, turning, centre, inertia)

    def _attitude_of(self, rotation: Array) -> Array:
        return rotation

    def _twist_of(self, twist: Array) -> Array:
        return twist

    def _bandwidth(self, gains: "AttitudeControl.Gains") -> float:
        return gains.frequency_attitude
