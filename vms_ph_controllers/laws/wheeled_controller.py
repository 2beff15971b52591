# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What laws have in common whose robots are on wheels that do not slip."""

from abc import abstractmethod
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, StateError
from vms_ph_dynamics.nonholonomic import NonholonomicForm, NonholonomicTerms, WheelConstraint

from ..controller import Command, Reference, RobotState, Status, is_usable_step
from ..safety.limits import TorqueLimits
from .twinned_controller import TwinnedController, core_model

_UNUSABLE = (
    "the state is not finite or does not fit this robot, or the time step is not in [0, 1] s; "
    "holding against gravity"
)
_TOO_FAR = (
    "the effort of the law is not finite, because its reference is too large; holding against "
    "gravity until the next reset"
)


class WheeledController(TwinnedController):
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
        super().__init__(form.model, gains)
        self.form = form
        self._limits = TorqueLimits(form.model)

    def _uncovered(self) -> tuple[str, ...]:
        wheels = _wheels(self.form)
        covered = len(wheels) == len(self.form.constraints)
        return self.options if covered else (*self.options, "wheels or axles of this kind")

    def _make_twin(self, module: Any) -> Any:
        model = core_model(module, self.model)
        radii = {wheel.wheel: wheel.radius for wheel in _wheels(self.form)}
        return module.make_law(type(self).__name__, model, wheels=radii)

    @abstractmethod
    def _driven(self, t: NonholonomicTerms, reference: Reference, dt: float) -> Command | None:
        """Return the command at a state; None where the effort is not finite."""

    def _update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        if not (state.is_usable(self.model) and is_usable_step(dt)):
            return self._hold(self.model.neutral_configuration(), _UNUSABLE)
        self._age = state.age
        try:
            t = self.form.terms(state.q, state.v[self.form.independent])
            command = self._driven(t, reference, dt)
        except (StateError, np.linalg.LinAlgError) as posture:
            return self._hold(state.q, str(posture))
        return self._hold(state.q, _TOO_FAR) if command is None else command

    def _safe_output(self, q: Array) -> Command:
        """Compensate gravity by the joints."""
        return self._hold(q, "holding against gravity")

    def _hold(self, q: Array, why: str) -> Command:
        torque = super()._safe_output(q).torque
        return Command(np.zeros(self.model.b), torque, status=Status.HOLDING, reason=why)


def _wheels(form: NonholonomicForm) -> list[WheelConstraint]:
    """Return the constraints that are wheels without rollers."""
    wheels = [c for c in form.constraints if isinstance(c, WheelConstraint)]
    return [wheel for wheel in wheels if not wheel.has_rollers]
