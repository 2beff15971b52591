# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Operational-space impedance control with the Moore-Penrose inverse."""

import numpy as np

from vms_ph_controllers import Command, ControlEnergy, RobotState
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.tasks import PositionTask


class OperationalSpaceLaw:
    """``tau = g - J^T (K_t dx + D_t dx') - (I - J^+ J) (K_n (q - q*) + D_n q')``.

    The posture is held by a spring and a damper that are projected into the null space with the
    Moore-Penrose inverse. A projected spring has no potential: around a closed path it
    supplies or absorbs energy. Its torque accelerates the task, as the projector ignores inertia.
    """

    def __init__(
        self,
        model: VMSModel,
        q_star: Array,
        stiffness: tuple[float, float],
        damping: tuple[float, float],
    ) -> None:
        """Set stiffness (N/m, N m/rad) and damping (N s/m, N m s/rad) of task and posture."""
        self.q_star = q_star
        self._model, self._task = model, PositionTask(model)
        self._stiffness, self._damping = stiffness, damping
        self._x_star = np.array(self._task.value(model.evaluate(q_star, np.zeros(model.nv))))

    def update(self, state: RobotState, dt: float) -> Command:
        """Return the torques for a state."""
        d = self._model.evaluate(state.q, state.v)
        jacobian = self._task.jacobian(d)
        free = np.eye(self._model.n) - np.linalg.pinv(jacobian) @ jacobian
        eta, loose = jacobian @ d.v, free @ d.v
        slowed_task, slowed_null = self._damping[0] * eta, self._damping[1] * loose
        torque = d.g - self.springs(state.q) - jacobian.T @ slowed_task - slowed_null
        energy = ControlEnergy(
            damping_task=float(eta @ slowed_task), damping_null=float(loose @ slowed_null)
        )
        return Command(np.zeros(0), torque, energy)

    def springs(self, q: Array) -> Array:
        """Return the torques of the springs, (n,)."""
        d = self._model.evaluate(q, np.zeros(self._model.nv))
        jacobian = self._task.jacobian(d)
        free = np.eye(self._model.n) - np.linalg.pinv(jacobian) @ jacobian
        force = self._stiffness[0] * (self._task.value(d) - self._x_star)
        return jacobian.T @ force + self._stiffness[1] * free @ (q - self.q_star)

    def energy(self, q: Array) -> float:
        """Return the energy of the two springs without the projector, J."""
        d = self._model.evaluate(q, np.zeros(self._model.nv))
        position_error, posture_error = self._task.value(d) - self._x_star, q - self.q_star
        task = 0.5 * self._stiffness[0] * float(position_error @ position_error)
        return task + 0.5 * self._stiffness[1] * float(posture_error @ posture_error)
