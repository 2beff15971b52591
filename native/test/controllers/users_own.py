# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers as a user writes them, well and badly."""

import ctypes
import time
from dataclasses import dataclass, replace

import numpy as np

from vms_ph_controllers import (
    Command,
    ControlEnergy,
    Controller,
    Reference,
    RobotState,
    Status,
    gain,
    switch,
)


class Spring(Controller):
    """Pulls every joint to where it was at the reset, or to where the reference says."""

    @dataclass(frozen=True)
    class Gains:
        """Gains of the law."""

        stiffness: float = gain(10.0, "of every joint, N m/rad", 0.0, 100.0)
        damping: float = gain(1.0, "of every joint, N m s/rad", 0.0, 10.0)
        on: bool = switch(True, "pull at all")
        nap: float = gain(0.0, "time to sleep before the answer, s", 0.0, 60.0)

        def __post_init__(self) -> None:
            """Refuse what the bounds of the single gains cannot say."""
            if self.damping > self.stiffness:
                raise ValueError("more damping than stiffness")

    gains: Gains

    def __init__(self, model):
        super().__init__(model)
        self.gains = self.Gains()

    def reset(self, state: RobotState) -> None:
        """Hold the present posture."""
        d = self.model.evaluate(state.q, state.v)
        self.rest, self.passed = d.q, 0.0

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Pull, and count the time that has passed."""
        time.sleep(self.gains.nap)
        if reference.joints is not None:
            self.rest = reference.joints
        self.passed += dt
        away = state.q - self.rest
        torque = -self.gains.stiffness * self.gains.on * away - self.gains.damping * state.v
        energy = ControlEnergy(closed_loop_energy=0.5 * self.gains.stiffness * float(away @ away))
        return Command(np.zeros(0), torque, energy, Status.OK, "springs, ä", task_error=self.passed)


class RefusesSlowly(Spring):
    """Takes its time to say no to a gain."""

    @dataclass(frozen=True)
    class Gains(Spring.Gains):
        """Gains of the law."""

        def __post_init__(self) -> None:
            """Think it over."""
            if self.damping > self.stiffness:
                time.sleep(1.0)
            super().__post_init__()


class CountsLosses(Spring):
    """Counts how often it is told that it was stood in for."""

    losses = 0

    def note_missed_updates(self):
        """Count."""
        self.losses += 1

    def update(self, state, reference, dt):
        """Tell the count."""
        return replace(super().update(state, reference, dt), task_error=float(self.losses))


class RaisesBeyondOne(Spring):
    """Has a bug that shows only sometimes."""

    def update(self, state, reference, dt):
        """Index a joint that there is not, beyond one radian."""
        if state.q[0] > 1.0:
            state.v[17]
        return super().update(state, reference, dt)


class NoNumberBeyondOne(Spring):
    """Takes the root of a negative number, beyond one radian."""

    def update(self, state, reference, dt):
        """Scale the torque by that root."""
        command = super().update(state, reference, dt)
        with np.errstate(invalid="ignore"):
            return Command(command.wrench_base, command.torque * np.sqrt(1.0 - state.q[0]))


class SlowToLoad(Spring):
    """Takes half a second to be constructed."""

    def __init__(self, model):
        time.sleep(0.5)
        super().__init__(model)


class OneTorqueForAll(Spring):
    """Gives a single torque, whatever the number of joints."""

    def update(self, state, reference, dt):
        """Give it."""
        return Command(np.zeros(0), np.array([1.0]))


class NoController:
    """Has the methods, but is none."""


class Unfinished(Controller):
    """Lacks update()."""

    def reset(self, state):
        """Do nothing."""


class KeepsTheLock(Spring):
    """Naps in a library that does not let others have the interpreter meanwhile."""

    def update(self, state, reference, dt):
        """Nap, and pull."""
        ctypes.PyDLL(None).usleep(int(1e6 * self.gains.nap))
        with_nap, self.gains = self.gains, replace(self.gains, nap=0.0)
        try:
            return super().update(state, reference, dt)
        finally:
            self.gains = with_nap
