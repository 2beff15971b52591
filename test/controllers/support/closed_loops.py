# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Arms in closed loop with a controller, for the tests."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from vms_ph_controllers import Command, Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import CanonicalForm, PHState, Ports, VMSModel
from vms_ph_dynamics.integrators.runge_kutta import RK4

Q0 = np.array([0, -0.3, 0, -1.5, 0, 1.5, 0])
HOLD = Reference()


@dataclass
class Sampled:
    """A controller called once a period, its torque held in between; steps of 1 ms."""

    model: VMSModel
    law: TaskSpaceIDAPBC
    q: np.ndarray
    v: np.ndarray
    period: int = 1
    work: float = 0.0
    time: float = 0.0
    commands: list[Command] = field(default_factory=list)

    def run(
        self,
        seconds: float,
        reference: Callable[[float], Reference] = lambda t: HOLD,
        push: Callable[[float], np.ndarray] | None = None,
    ) -> None:
        """Go on; ``work`` is what the torques have done beyond holding the weight, J."""
        form = CanonicalForm(self.model)
        x = form.state(self.q, self.v)
        for _ in range(round(seconds * 1e3 / self.period)):
            state = RobotState(x.q, form.velocity(x))
            command = self.law.update(state, reference(self.time), 1e-3 * self.period)
            self.commands.append(command)
            wrench = None if push is None else push(self.time)
            held = Ports(command.torque, None, wrench)
            before = self._potential(x)
            for _ in range(self.period):
                step = RK4(form).step(x, lambda t, x, p=held: p, self.time, 1e-3)
                x = step.solver_state
                self.work += step.supplied["torque"]
                self.time += 1e-3
            self.work -= self._potential(x) - before
        self.q, self.v = x.q, form.velocity(x)

    def _potential(self, x: PHState) -> float:
        return self.model.evaluate(x.q, np.zeros(self.model.nv)).potential_energy
