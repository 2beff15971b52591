# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Runs of legs on a floor, sampled at equal intervals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen

from .hopper import LIFTOFF_HEIGHT, ContactEvent, EventKind, Hopper
from .leg import LegState, Phase
from .leg_on_floor import LegOnFloor


@dataclass(frozen=True)
class HoppingRun:
    """A run, sampled at equal intervals, with its events.

    Attributes:
        system: leg, law and floor.
        times: (T,), s.
        states: (T,2 nv + 1).
        phases: (T,) of :class:`Phase`.
        energies: (T,channels) through every channel of the system since the start, J.
        events: all phase changes.
        stopped: whether it ended by its condition ``stop``.
        steps: accepted steps of the integrator.
    """

    system: LegOnFloor
    times: Array
    states: Array
    phases: Array
    energies: Array
    events: tuple[ContactEvent, ...]
    stopped: bool
    steps: int

    def energy(self, channel: str) -> Array:
        """Return the energy through a channel since the start, (T,), J."""
        return self.energies[:, self.system.channels.index(channel)]

    def leg(self, i: int) -> LegState:
        """Return the leg at a sample."""
        return self.system.leg_state(self.states[i])

    def of(self, quantity: Callable[[LegState], float]) -> Array:
        """Return a quantity of the leg at all samples, (T,)."""
        return np.array([quantity(self.system.leg_state(state)) for state in self.states])

    def touch_downs(self, separation: float = 0.05) -> list[ContactEvent]:
        """Return the touch-downs that follow the previous one by more than ``separation``, s."""
        events: list[ContactEvent] = []
        last_time = -np.inf
        for event in self.events:
            if event.kind is EventKind.TOUCH_DOWN:
                if event.time - last_time > separation:
                    events.append(event)
                last_time = event.time
        return events

    def floor_stored(self, i: int) -> float:
        """Return the energy in the floor's springs at a sample, J."""
        leg = self.leg(i)
        return self.system.floor_force(Phase(int(self.phases[i])), leg, self.states[i]).stored


def hop(
    system: LegOnFloor,
    q: Array,
    v: Array,
    duration: float,
    *,
    sample_interval: float = 2e-3,
    tolerance: float = 1e-7,
    largest_step: float = 2e-2,
    stop: Callable[[LegState], bool] | None = None,
    phase: Phase | None = None,
    liftoff_height: float = LIFTOFF_HEIGHT,
    with_energies: bool = True,
    progress: Callable[[float], None] | None = None,
) -> HoppingRun:
    """Integrate the motion of a leg from a state and return the run; see :class:`Hopper`.

    Args:
        system: leg, law and floor.
        q: (nq,) configuration.
        v: (nv,).
        duration: s.
        sample_interval: sampling interval, s.
        tolerance: of the error of a step, relative to a state of the order of one.
        largest_step: s.
        stop: ends the run at the first accepted step where it holds.
        phase: to start in; see :class:`Hopper`.
        liftoff_height: height at which the foot counts as lifted off, m.
        with_energies: whether the energies are integrated; otherwise they stay zero.
        progress: receives the time reached after each accepted step, s.

    Raises:
        StateError: q or v is not a state of the robot.
        StiffStepError: the motion cannot be integrated.
    """
    hopper = Hopper(
        system,
        q,
        v,
        phase=phase,
        tolerance=tolerance,
        largest_step=largest_step,
        liftoff_height=liftoff_height,
        with_energies=with_energies,
    )
    times, states = [0.0], [hopper.state]
    phases, energies = [int(hopper.phase)], [hopper.energies]
    step_count, is_stopped = 0, False
    for step in hopper.steps_until(duration):
        step_count += 1
        while len(times) * sample_interval <= step.end + 1e-12:
            time = len(times) * sample_interval
            fraction = min(1.0, (time - step.start) / step.length)
            times.append(time)
            states.append(step.state(fraction))
            energies.append(hopper.energies + step.energies_until(fraction))
            phases.append(int(hopper.phase))
        is_stopped = stop is not None and stop(system.leg_state(hopper.state))
        if is_stopped:
            break
        if progress is not None:
            progress(step.end)
    return HoppingRun(
        system,
        frozen(np.array(times)),
        frozen(np.array(states)),
        frozen(np.array(phases)),
        frozen(np.array(energies)),
        tuple(hopper.events),
        is_stopped,
        step_count,
    )
