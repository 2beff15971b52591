# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A leg at a task, from start to end, judged by its hops."""

import time as clock
from dataclasses import replace
from typing import Any

import numpy as np

from vms_ph_dynamics import OptionError, VMSModel, VmsPhError
from vms_ph_io import robots

from . import Floor, HoppingController, HoppingRun, LegOnFloor, Phase, hop, hopping_tasks
from .flights import FALLEN_HEIGHT, Flight, flights
from .hopping_tasks import HOP_ERRORS, HopGoal, HoppingTask


def run_hops(task: str | HoppingTask, *, seconds: float = 0.0) -> dict[str, Any]:
    """Return how a task of a leg ends, as :func:`.run_task` does.

    Args:
        task: a task, the name of a bundled one, or the path of its file.
        seconds: simulated time, s; the shortest of the task if zero.

    Raises:
        VmsPhError: a value is not accepted.
    """
    hopping_task = hopping_tasks.load(task) if isinstance(task, str) else task
    if seconds < 0.0:
        raise OptionError(f"seconds={seconds:g}: a duration of at least zero is accepted")
    law, system, q, v = prepare(hopping_task)
    start_processor_time, failure = clock.process_time(), ""
    try:
        run = hop(
            system,
            q,
            v,
            seconds or hopping_task.shortest,
            tolerance=hopping_task.tolerance,
            stop=lambda leg: bool(leg.centre[1] < FALLEN_HEIGHT),
        )
    except VmsPhError as error:
        robot = hopping_task.robot
        raise VmsPhError(f"the motion of '{robot}' cannot be integrated: {error}") from None
    processor_time, end_time = clock.process_time() - start_processor_time, float(run.times[-1])
    if run.stopped:
        failure = f"the leg has fallen at {end_time:.3g} s"
    ended_flights = flights(run)
    residual = run.leg(-1).energy - run.leg(0).energy - float(run.energies[-1, :3].sum())
    goals = {name: _judge(g, ended_flights, law.model) for name, g in hopping_task.goals.items()}
    goals["efforts"] = _effort_goal(run, law)
    goals["unaccounted"] = {
        "what": "residual of the energy balance (J)",
        "wanted": hopping_task.unaccounted,
        "obtained": residual,
        "met": abs(residual) <= hopping_task.unaccounted,
    }
    energies = {"stored": run.leg(-1).energy - run.leg(0).energy}
    energies |= {
        f"from {channel}": float(run.energy(channel)[-1]) for channel in run.system.channels[:3]
    }
    energies["lost in floor"] = float(run.energy("floor_dissipated")[-1])
    return {
        "task": hopping_task.name,
        "robot": hopping_task.robot,
        "controller": f"{type(law).__name__} {law.kind}",
        "seconds": end_time,
        "hops": max(len(ended_flights) - 1, 0),
        "goals": goals,
        "met": not failure and all(goal["met"] for goal in goals.values()),
        "failure": failure,
        "energy": energies,
        "unaccounted": residual,
        "real_time_factor": end_time / max(processor_time, 1e-9),
    }


def prepare(task: HoppingTask) -> tuple[HoppingController, LegOnFloor, Any, Any]:
    """Return law, leg on its floor, and state at the start."""
    settings = robots.get(task.robot)
    if not settings.on_floor:
        raise OptionError(f"'{task.robot}' is no leg; legs are prismatic_hopper, revolute_hopper")
    model = settings.load()
    law = HoppingController(model, kind=task.law)
    missing_gains = [name for name in task.gains if not hasattr(law.gains, name)]
    if missing_gains:
        raise OptionError(f"HoppingController has no gains {', '.join(missing_gains)}")
    law.gains = replace(law.gains, **task.gains)
    floor = Floor() if task.friction is None else replace(Floor(), friction=task.friction)
    q = model.configuration(dict(settings.home), settings.home_base)
    if task.start:
        q = law.leg.configuration(np.array(task.start))
    v = np.array(task.velocity) if task.velocity else np.zeros(model.nv)
    return law, LegOnFloor(law.leg, law.law, floor), q, v


def _judge(goal: HopGoal, ended_flights: list[Flight], model: VMSModel) -> dict[str, Any]:
    """Return what was wanted and obtained of a goal.

    Args:
        goal: of the hops.
        ended_flights: the flights, the fall at the beginning first.
        model: of the robot that has hopped.
    """
    gravity = float(np.linalg.norm(model.gravity))
    values = {
        "apex": lambda flight: flight.apex_height(gravity),
        "speed": lambda flight: flight.horizontal_momentum / model.total_mass,
    }
    # The fall at the beginning is no hop.
    errors = [abs(values[goal.of](f) - goal.at) for f in ended_flights[1:] if f.start >= goal.after]
    return {
        "what": HOP_ERRORS[goal.of],
        "wanted": goal.within,
        "obtained": max(errors) if errors else None,
        "met": bool(errors) and max(errors) <= goal.within,
    }


def _effort_goal(run: HoppingRun, law: HoppingController) -> dict[str, Any]:
    """Return the largest share of the joint's limit, over the samples of a run."""
    effort_limits, b = law.model.joints.effort, law.model.b
    largest_share = 0.0
    for y, phase in zip(run.states, run.phases, strict=True):
        efforts = run.system.law.efforts(
            run.system.leg_state(y), Phase(int(phase)) is not Phase.FLIGHT
        )
        largest_share = max(largest_share, float(np.max(np.abs(efforts.force[b:]) / effort_limits)))
    return {
        "what": "joint efforts, share of their limits",
        "wanted": 1.0,
        "obtained": largest_share,
        "met": largest_share <= 1.0,
    }
