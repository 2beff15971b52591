# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Laws of a user's own that have a bug which shows after a while."""

import time
from dataclasses import dataclass

import numpy as np

from vms_ph_controllers import Command, Controller, Reference, RobotState, gain


class FaultyLaw(Controller):
    """Carries the weight, until it looks for a joint that there is not."""

    @dataclass(frozen=True)
    class Gains:
        """Gains of the law."""

        answers: float = gain(200.0, "before the bug shows", 0.0, 1e6)

    gains: Gains

    def __init__(self, model):
        super().__init__(model)
        self.gains = self.Gains()

    def reset(self, state: RobotState) -> None:
        """Forget how often it was asked."""
        self.asked = 0

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Carry the weight, some hundred times."""
        self.asked += 1
        weight = self.model.evaluate(state.q, state.v).g
        if self.asked > self.gains.answers:
            weight = weight[self.asked]
        return Command(np.zeros(0), weight)


class SleepyLaw(FaultyLaw):
    """Carries the weight, until it waits for something that does not come."""

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Carry the weight, then sleep."""
        if self.asked >= self.gains.answers:
            time.sleep(3.0)
            self.asked = 0
        return super().update(state, reference, dt)
