# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What laws have in common whose robots are on wheels that do not slip."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, ModelError, StateError
from vms_ph_dynamics.nonholonomic import NonholonomicForm, NonholonomicTerms, WheelConstraint

from ..controller import (
    EFFORT_NOT_FINITE,
    STATE_UNUSABLE,
    Command,
    ControlEnergy,
    Reference,
    RobotState,
    Status,
)
from ..safety.limits import TorqueLimits, join
from .twinned_controller import TwinnedController, core_model


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
        self._torque_limits = TorqueLimits(form.model)

    def _make_twin(self, module: Any) -> Any:
        model = core_model(module, self.model)
        radii = {wheel.wheel: wheel.radius for wheel in _wheels(self.form)}
        if len(radii) != len(self.form.constraints):
            raise ModelError("the law in C++ has no wheels or axles of this kind")
        return module.make_law(type(self).__name__, model, wheels=radii)

    def _command(
        self,
        terms: NonholonomicTerms,
        force: Array,
        energy: ControlEnergy,
        velocity: Array,
        task_error: float,
        reason: str = "",
    ) -> Command | None:
        """Return the command of the joints for a force; None where it is not finite.

        Args:
            terms: the terms at the state.
            force: (m,) on the independent velocities.
            energy: without the power changed by the limits.
            velocity: (m,) independent, with which this power is counted.
            task_error: distance between task and reference, m.
            reason: further reason why efforts were changed, in words.
        """
        if not np.isfinite(force.sum()):
            return None
        b, gains, S_j = self.model.b, self.gains, terms.basis[self.model.b :]
        torque = np.linalg.lstsq(S_j.T, force, rcond=None)[0]
        torques = self._torque_limits.apply(
            torque, terms.d.g[b:], terms.d.v[b:], gains.torque_rate, gains.power, dt=self._dt
        )
        return Command(
            np.zeros(b),
            torques.effort,
            replace(energy, clipped_power=float((torques.effort - torque) @ (S_j @ velocity))),
            Status.SATURATED if torques.reason else Status.OK,
            join(torques.reason, reason),
            task_error=task_error,
        )

    @abstractmethod
    def _control(self, terms: NonholonomicTerms, reference: Reference, dt: float) -> Command | None:
        """Return the command at a state; None where the effort is not finite."""

    def _update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        if not state.is_usable(self.model, dt):
            return self._holding_command(self.model.neutral_configuration(), STATE_UNUSABLE)
        self._age, self._dt = state.age, dt
        try:
            terms = self.form.terms(state.q, state.v[self.form.independent_ids])
            command = self._control(terms, reference, dt)
        except (StateError, np.linalg.LinAlgError) as error:
            return self._holding_command(state.q, str(error))
        return self._holding_command(state.q, EFFORT_NOT_FINITE) if command is None else command

    def _safe_output(self, q: Array) -> Command:
        """Compensate gravity by the joints."""
        return self._holding_command(q, "holding against gravity")

    def _holding_command(self, q: Array, reason: str) -> Command:
        torque = super()._safe_output(q).torque
        return Command(np.zeros(self.model.b), torque, status=Status.HOLDING, reason=reason)


def _wheels(form: NonholonomicForm) -> list[WheelConstraint]:
    """Return the constraints that are wheels without rollers."""
    wheels = [c for c in form.constraints if isinstance(c, WheelConstraint)]
    return [wheel for wheel in wheels if not wheel.has_rollers]
