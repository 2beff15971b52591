# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Write a control law, close the loop with a simulation, and read its energy balance."""

from dataclasses import dataclass

import numpy as np

from vms_ph_controllers import Command, ControlEnergy, Controller, Reference, RobotState, gain
from vms_ph_dynamics import Ports, StandardForm, VMSModel
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import robots


class Spring(Controller):
    """Holds the joints where they were at the reset, by springs and dampers."""

    @dataclass(frozen=True)
    class Gains:
        """What a user sets; a node makes each of them a parameter."""

        stiffness: float = gain(60.0, "of every joint, N m/rad", 0.0, 500.0)
        damping: float = gain(8.0, "of every joint, N m s/rad", 0.0, 100.0)

    def __init__(self, model: VMSModel) -> None:
        super().__init__(model)
        self.gains = self.Gains()

    def reset(self, state: RobotState) -> None:
        """Hold the present posture."""
        self.rest = state.q.copy()

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return torques that compensate the weight, and pull towards the posture."""
        if not state.is_usable(self.model):
            return self.safe_output(self.rest)
        position_error = state.q - self.rest
        spring = 0.5 * self.gains.stiffness * float(position_error @ position_error)
        d = self.model.evaluate(state.q, state.v)
        torque = d.g - self.gains.stiffness * position_error - self.gains.damping * state.v
        energy = ControlEnergy(d.kinetic_energy + spring, shaped_potential=spring)
        return Command(np.zeros(0), torque, energy)


model = robots.load("panda")
home = model.home
law = Spring(model)
law.reset(RobotState(home, np.zeros(model.nv)))


def control(q: np.ndarray, v: np.ndarray, dt: float) -> Command:
    """Call the law as a node would."""
    return law.update(RobotState(q, v), Reference(), dt)


simulation = Simulation(StandardForm(model), home, 1e-3, control)
push = Ports(wrench_end_effector=np.array([0.0, 15.0, 0.0, 0.0, 0.0, 0.0]))
simulation.apply(push)  # from now on
simulation.advance(300, Ports())  # none from the end of these steps on
pushed = simulation.sample()
simulation.advance(700, Ports())
end = simulation.sample()
print(f"pushed: {np.abs(pushed.q - home).max():.3f} rad from home")
print(f"0.7 s later: {np.abs(end.q - home).max():.3f} rad")
print("energy supplied since the start, J:", {k: round(e, 4) for k, e in end.port_energy.items()})
assert np.abs(end.q - home).max() < np.abs(pushed.q - home).max()
