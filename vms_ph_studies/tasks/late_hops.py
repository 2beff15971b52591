# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A leg at a task by a sampled law, with errors that the law does not know."""

from collections import deque
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import OptionError, VmsPhError
from vms_ph_hopping import (
    Hopper,
    Leg,
    LegLaw,
    LegMotion,
    LegOnFloor,
    Phase,
)
from vms_ph_hopping.flights import FALLEN, Flights
from vms_ph_hopping.hopping_run import judged, prepared
from vms_ph_hopping.hopping_tasks import HoppingTask
from vms_ph_hopping.laws.hopping import HopReference
from vms_ph_hopping.laws.hopping_over_delay import HoppingOverDelay
from vms_ph_io.tasks.uncertainty import Uncertainty

from ..comparisons.raibert import RaibertGains, RaibertHopper

SAMPLE = 2e-3
"""Longest sample of the laws, s."""

# Of the integrator. An effort that jumps at every sample sets the light foot in a fast motion of
# some microseconds, which does not matter: apex and speed change by 1e-4 m and m/s at most from
# here to a tolerance of 1e-6 with five stages.
_TOLERANCE, _STAGES, _SKIN = 1e-2, 3, 1e-6


class DelayedLaw(Protocol):
    """A law that is told measurements some samples late."""

    def update(self, motion: LegMotion, dt: float) -> Array:
        """Return the generalised force (nv,) that is held for a sample."""


def run_delayed_hops(
    task: HoppingTask,
    unknown: Uncertainty,
    *,
    decentralised: bool = False,
    seconds: float = 0.0,
    step: float = 0.0,
) -> dict[str, Any]:
    """Return how a task of a leg ends under a law that is sampled, with errors it does not know.

    The law is told the nominal model, noisy poses and rates, and whether the foot presses on the
    floor; all of them late by the delay, which it knows.

    Args:
        task: of the leg.
        unknown: what the law does not know of the leg and of its state.
        decentralised: whether the law is :class:`.RaibertHopper` instead of that of the task.
        seconds: simulated time, s; the shortest of the task if zero.
        step: sample of the law, s; :data:`SAMPLE` if zero. With a delay it is reduced so that the
            delay is a whole number of samples.

    Raises:
        VmsPhError: a value is not accepted.
    """
    if seconds < 0.0 or step < 0.0:
        raise OptionError(
            f"seconds={seconds:g}, step={step:g}: times of at least zero are accepted"
        )
    law, nominal, home, v = prepared(task)
    dt = step or SAMPLE
    late = int(np.ceil(unknown.delay / dt - 1e-9))
    dt = unknown.delay / late if late else dt
    goals_by_quantity = {goal.of: goal.at for goal in task.goals.values()}
    if "apex" not in goals_by_quantity:
        raise OptionError(f"'{task.name}' has no goal of an apex, which its law is to reach")
    reference = HopReference(goals_by_quantity["apex"], goals_by_quantity.get("speed", 0.0))
    chosen: DelayedLaw = HoppingOverDelay(law, reference, late)
    if decentralised:
        gains = law.gains
        chosen = RaibertHopper(
            law.leg,
            reference,
            late,
            RaibertGains(gains.radial_stiffness, gains.length, gains.polar_stiffness),
        )
    plant, sensor = unknown.plant(law.model), unknown.sensor(law.model, dt)
    force: list[Array] = [np.zeros(plant.nv)]
    system = LegOnFloor(
        Leg(plant, law.leg.foot),
        LegLaw.of_constant_efforts(lambda: force[0]),
        nominal.floor,
    )
    hopper = Hopper(
        system,
        unknown.start(law.model, home),
        v,
        tolerance=_TOLERANCE,
        stages=_STAGES,
        skin=_SKIN,
        balance=False,
    )
    flown = Flights(system, system.leg_state(hopper.state))
    pressed = deque([False] * (late + 1), maxlen=late + 1)
    share, failure, event_count = 0.0, "", 0
    limit, b = plant.joints.effort, plant.b
    for k in range(round((seconds or task.shortest) / dt)):
        leg = system.leg_state(hopper.state)
        if leg.centre[1] < FALLEN:
            failure = f"the leg has fallen at {hopper.time:.3g} s"
            break
        pressed.append(hopper.phase not in (Phase.FLIGHT, Phase.RELIEVED))
        force[0] = chosen.update(LegMotion(*sensor.measured(leg.q, leg.v), pressed[0]), dt)
        share = max(share, float((np.abs(force[0][b:]) / limit).max()))
        try:
            for _ in hopper.steps_until((k + 1) * dt):
                pass
        except VmsPhError as error:
            failure = str(error)
            break
        for event in hopper.events[event_count:]:
            flown.add(event)
        event_count = len(hopper.events)
    goals = {name: judged(goal, flown.ended, plant) for name, goal in task.goals.items()}
    return {
        "task": task.name,
        "seconds": hopper.time,
        "hops": max(len(flown.ended) - 1, 0),
        "goals": goals
        | {
            "efforts": {
                "what": "joint efforts, share of their limits",
                "wanted": 1.0,
                "obtained": share,
                "met": share <= 1.0,
            }
        },
        "met": not failure and all(goal["met"] for goal in goals.values()),
        "failure": failure,
    }


def with_relaxed_bounds(task: HoppingTask, slack: float, settle: float) -> HoppingTask:
    """Return a task with the bounds of its goals multiplied, judged from a time on (s)."""
    goals = {
        name: replace(goal, within=slack * goal.within, after=max(goal.after, settle))
        for name, goal in task.goals.items()
    }
    return replace(task, goals=goals)
