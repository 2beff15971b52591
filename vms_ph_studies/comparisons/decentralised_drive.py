# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The usual alternative on two wheels: speed, turn and every joint each by itself."""

from dataclasses import replace

import numpy as np

from vms_ph_controllers import DifferentialDrive
from vms_ph_controllers.controller import RobotState
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.nonholonomic import NonholonomicForm, NonholonomicTerms

# Largest rates of velocities and joints by the time from measurement to effort: the best of those
# tried. Above them joints that ignore each other swing until their torques end.
_RATE, _RATE_JOINTS = 0.5, 0.1


class DecentralisedDrive(DifferentialDrive):
    """Velocity control of speed, turn and every joint, which ignore each other, with its weight.

    References, rates and the compensation of weight and friction are those of
    :class:`.DifferentialDrive`. Each of these velocities has the inertia of its own in the posture
    of the last reset; inertial coupling and velocity-dependent forces are ignored. A reset lowers
    the rates to what the delay allows.
    """

    def __init__(self, form: NonholonomicForm, lag: float) -> None:
        """Construct the law.

        Args:
            form: robot on wheels.
            lag: from measurement to effort, with the step of the law, s; above zero.
        """
        self._lag = lag
        super().__init__(form)

    def reset(self, state: RobotState) -> None:
        """Hold the present pose; see :meth:`Controller.reset`."""
        self.gains = replace(
            self.gains,
            rate=min(self.gains.rate, _RATE / self._lag),
            rate_joints=min(self.gains.rate_joints, _RATE_JOINTS / self._lag),
        )
        super().reset(state)
        t = self.form.terms(state.q, np.zeros(self.form.dimension))
        alone = np.linalg.inv(t.basis[self._rows])
        self._alone = np.diag(alone.T @ t.mass @ alone)

    def _inertial(self, t: NonholonomicTerms, wanted: Array, rate: Array) -> Array:
        outputs = t.basis[self._rows]
        return outputs.T @ (self._alone * (outputs @ rate))
