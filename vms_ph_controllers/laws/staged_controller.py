# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What laws have in common whose efforts pass the output stage."""

from abc import abstractmethod
from typing import Any

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from ..controller import (
    Command,
    ControlEnergy,
    Controller,
    RobotState,
    Status,
    is_usable_step,
)
from ..potentials.joint_limit_potential import JointLimitPotential
from ..references.integral_action import IntegralAction
from ..safety.output_stage import Output, OutputStage


class StagedController(Controller):
    """A law behind an :class:`OutputStage`, with springs at the joint limits.

    The output stage has the safe output, the limits and the energy tank. A law says what it holds
    from a configuration on, and what force it wants.
    """

    gains: Any

    def __init__(self, model: VMSModel, gains: Any, output: OutputStage) -> None:
        """Prepare a law.

        Args:
            model: the robot.
            gains: the gains; None for the defaults.
            output: what its efforts pass.
        """
        super().__init__(model)
        self.gains = self._checked_gains(gains)
        self._output = output
        self._joint_limits = JointLimitPotential(model)
        self._is_limited = False  # the effort of the last update

    @abstractmethod
    def _hold(self, state: RobotState) -> Evaluation:
        """Hold what is present at a state; return the terms of its configuration at rest."""

    def reset(self, state: RobotState) -> None:
        """Hold the present pose; see :meth:`Controller.reset`."""
        self._is_limited = False
        self._output.restart(self._hold(state))

    def resume(self, state: RobotState) -> None:
        """Hold the present pose with the energy that is left; see :meth:`Controller.resume`."""
        self._is_limited = False
        self._output.resume(self._hold(state))

    def missed_updates(self) -> None:
        """Credit nothing to the tank for the motion; see :meth:`Controller.missed_updates`."""
        self._output.missed_updates()

    def safe_output(self, q: Array) -> Command:
        """Compensate gravity as far as the base can; see :meth:`Controller.safe_output`."""
        return self._output.safe_at(q)

    def _refused(self, state: RobotState, dt: float) -> Command | None:
        """Return the safe output for a state or a time step that is not usable, else None."""
        if state.is_usable(self.model) and is_usable_step(dt):
            return None
        self.missed_updates()
        return self._output.safe

    def _correct(
        self,
        integral: IntegralAction,
        gains: Any,
        frequency: float,
        away: Array,
        turned: Array | None,
        offset: Array,
        dt: float,
    ) -> None:
        """Advance the integral action; it rests while the efforts are limited."""
        if self._is_limited:
            integral.rest()
            return
        share = gains.integral * gains.damping_ratio
        integral.advance(share, frequency, gains.frequency_shape, away, turned, offset, dt)

    def _command(
        self, output: Output, energy: ControlEnergy, *reasons: str, **about: float
    ) -> Command:
        """Return the command of what the output stage passes, with further reasons and fields."""
        b, self._is_limited = self.model.b, bool(output.reason)
        return Command(
            output.force[:b],
            output.force[b:],
            energy,
            Status.SATURATED if output.reason else Status.OK,
            "; ".join(filter(None, (output.reason, *reasons))),
            **about,
        )
