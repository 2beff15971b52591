# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What laws have in common whose efforts pass the output stage."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from vms_ph_dynamics import Allocation, Array, Evaluation, VMSModel

from ..controller import Command, ControlEnergy, Reference, RobotState, Status, if_finite
from ..potentials.shaped_potential import JointLimitPotential, SpringForce
from ..safety.base_actuation import PrioritisedActuation
from ..safety.limits import LimitedEfforts, join
from ..safety.output_stage import OutputStage
from .gain_ramp import GainRamp
from .twinned_controller import TwinnedController


class StagedController(TwinnedController):
    """A law behind an :class:`OutputStage`, with springs at the joint limits.

    The output stage has the safe output, the limits and the energy tank. A derived law
    sets what it holds after a restart, and computes the effort before this stage.
    """

    gains: Any

    def __init__(
        self,
        model: VMSModel,
        gains: Any = None,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
    ) -> None:
        """Control a robot.

        Args:
            model: the robot.
            gains: the ``Gains`` of the law; None for the defaults.
            allocation: the actuators of the base; None for a base that can apply any wrench.
            base_actuated: False for a base without actuators, whose pose is then not controlled.

        Raises:
            ModelError: the allocation is for another kind of base, or the law is for other robots.
        """
        super().__init__(model, gains, allocation, base_actuated)
        self._output = OutputStage(model, allocation, base_actuated, self._actuation())
        self._joint_limits = JointLimitPotential(model)
        self._ramp = GainRamp(self.gains, self._output.limited)
        self._prepare()
        self._reset(RobotState(model.neutral_configuration(), np.zeros(model.nv)))

    def _actuation(self) -> PrioritisedActuation | None:
        """Return what maps wrenches to those that the base can apply; None for the nearest."""
        return None

    def _prepare(self) -> None:
        """Check that the law is for this robot, and make what it needs."""

    @abstractmethod
    def _start_holding(self, d: Evaluation) -> None:
        """Make a configuration the reference to hold; d has its terms at rest."""

    def _restart_from(self, state: RobotState) -> Evaluation:
        d = self.model.evaluate(state.q, np.zeros(self.model.nv))
        self._was_limited = False  # the effort of the last update
        self._shape_inertia = np.diag(d.M_hat_m).copy()
        self._ramp.restart(self.gains)
        self._start_holding(d)
        return d

    def _reset(self, state: RobotState) -> None:
        self._output.restart(self._restart_from(state))

    def _resume(self, state: RobotState) -> None:
        self._output.resume(self._restart_from(state))

    def carry_load(self, load: Array) -> bool:
        """Hold a weight (nv,) before the output stage; see :meth:`Controller.carry_load`."""
        if self.twin is not None:
            return bool(self.twin.carry_load(load))
        self._output.carry(load)
        return True

    def _note_missed_updates(self) -> None:
        self._output.note_missed_updates()

    def _safe_output(self, q: Array) -> Command:
        """Compensate gravity as far as the base can."""
        return self._output.safe_output_at(q)

    def _update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the safe output for a state or a time step that is not usable, else the law's."""
        if state.is_usable(self.model, dt):
            d = Evaluation(self.model, state.q, state.v)
            self._ramp.follow(self.gains, dt)
            self._measured_wrench = if_finite(state.wrench, (6,))
            return self._control(d, reference, dt, state.age)
        self._note_missed_updates()
        return self._output.safe_output

    @abstractmethod
    def _control(self, d: Evaluation, reference: Reference, dt: float, age: float) -> Command:
        """Return the command for usable terms, time step and age of the state, s."""

    def _limit_springs(self, d: Evaluation, gains: Any, h: float = 0.0) -> SpringForce:
        """Return the springs (n,) at the joint limits, and those that begin within h, s."""
        positions = self.model.joint_positions(d.q)
        # Opposed springs that are reduced together are no potential, so each is stable by itself.
        stiffness = min(gains.limit_frequency**2, 0.5 / max(h * h, 1e-9)) * self._shape_inertia
        next_positions = positions + h * d.v[self.model.b :]
        return self._joint_limits.springs(positions, next_positions, stiffness, gains.limit_margin)

    def _command(
        self, output: LimitedEfforts, energy: ControlEnergy, *reasons: str, **fields: float
    ) -> Command:
        """Return the command of what the output stage passes, with further reasons and fields."""
        b, self._was_limited = self.model.b, bool(output.reason)
        effort = output.effort + self._output.load
        return Command(
            effort[:b],
            effort[b:],
            replace(energy, tank_level=self._output.tank_level),
            Status.SATURATED if output.reason else Status.OK,
            join(output.reason, *reasons),
            **fields,
        )
