# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What laws have in common whose robots are on wheels that do not slip."""

from abc import abstractmethod
from typing import Any

import numpy as np

from vms_ph_dynamics import StateError
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.nonholonomic import NonholonomicForm, NonholonomicTerms

from ..controller import Command, Controller, Reference, RobotState, Status, is_usable_step
from ..safety.limits import TorqueLimits

_UNUSABLE = (
    "the state is not finite or does not fit this robot, or the time step is not in [0, 1] s; "
    "holding against gravity"
)
_TOO_FAR = (
    "the effort of the law is not finite, because its reference is too large; holding against "
    "gravity until the next reset"
)


class WheeledController(Controller):
    """A law in the velocities that wheels allow; the joints compensate gravity where it cannot act.

    Attributes:
        form: the robot with its wheels.
    """

    gains: Any

    def __init__(self, form: NonholonomicForm, gains: Any) -> None:
        """Prepare a law.

        Args:
            form: the robot with its wheels.
            gains: the gains; None for the defaults.
        """
        super().__init__(form.model)
        self.form, self.gains = form, self._checked_gains(gains)
        self._limits = TorqueLimits(form.model)

    @abstractmethod
    def _driven(self, t: NonholonomicTerms, reference: Reference, dt: float) -> Command | None:
        """Return the command at a state; None where the effort is not finite."""

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return torques for a state; the base wrench is zero; see :meth:`Controller.update`."""
        if not (state.is_usable(self.model) and is_usable_step(dt)):
            return self._hold(self.model.neutral_configuration(), _UNUSABLE)
        try:
            t = self.form.terms(state.q, state.v[self.form.independent])
            command = self._driven(t, reference, dt)
        except (StateError, np.linalg.LinAlgError) as posture:
            return self._hold(state.q, str(posture))
        return self._hold(state.q, _TOO_FAR) if command is None else command

    def safe_output(self, q: Array) -> Command:
        """Compensate gravity by the joints; see :meth:`Controller.safe_output`."""
        return self._hold(q, "holding against gravity")

    def _hold(self, q: Array, why: str) -> Command:
        torque = super().safe_output(q).torque
        return Command(np.zeros(self.model.b), torque, status=Status.HOLDING, reason=why)
