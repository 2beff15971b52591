# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A target of sweeps: a task with errors that the law does not know, by its law or a baseline."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from vms_ph_controllers import Controller, DifferentialDrive
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_dynamics import Allocation, OptionError, VMSModel
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_dynamics.nonholonomic import NonholonomicForm
from vms_ph_dynamics.simulation.robot_task import RobotTask
from vms_ph_io.tasks import robot_tasks
from vms_ph_io.tasks.task_run import MakeLaw, run_task
from vms_ph_io.tasks.uncertainty import Uncertainty

from ..comparisons.decentralised import DecentralisedDrive, DecentralisedPD

LAWS = ("task", "decentralised")

# A delay is divided into at most this many steps.
_MAX_DELAY_STEPS = 3.0

# What is taken away, one by one, to explain a failure.
_CAUSES = ("mass", "inertia", "spread", "noise", "delay")


def uncertain_task(
    *,
    task: str,
    law: str = "task",
    mass: float = 0.0,
    inertia: float = 0.0,
    spread: float = 0.0,
    noise: float = 0.0,
    delay: float = 0.0,
    calm: bool = False,
    slack: float = 1.0,
    settle: float = 0.0,
    seconds: float = 0.0,
    step: float = 0.0,
    explain: bool = True,
    native: bool | None = None,
    seed: int = 0,
) -> dict[str, object]:
    """Return how a task ends with errors that the law does not know.

    Args:
        task: name of a bundled task, or path of its file.
        law: task for the law of the task; decentralised for PD control of base and joints with the
            same stiffness, damping and speeds, see :class:`.DecentralisedPD`, on wheels that do
            not slip :class:`.DecentralisedDrive`.
        mass: largest relative error of the mass of every body.
        inertia: largest relative error of its inertia.
        spread: largest change of joints (rad, m) and of the base (m) at the start.
        noise: scale of the noise of measurements, see :class:`.Uncertainty`.
        delay: from measurement to effort, s.
        calm: whether current and wind of the task are left out.
        slack: factor of the bounds of errors of the task; one leaves them.
        settle: errors count only this long after the start or a relevant new reference, s.
        seconds: simulated time, s; the shortest of the task if zero.
        step: of integrator and law, s; that of the task if zero. With a delay it is the delay, a
            half or a third of it, which the law knows as the age of its states.
        explain: whether a failure is computed again without each error in turn.
        native: whether law and integrator run in C++; where they can, if None.
        seed: of all draws.

    Returns:
        Whether the goals were met, the largest share of a bound of the task that an error reaches
        (without the slack), the goals that were not met, what they are met without, and the largest
        errors, by the names of the goals.

    Raises:
        VmsPhError: a value is not accepted.
    """
    if law not in LAWS:
        raise OptionError(f"law={law!r}{did_you_mean(law, LAWS)}: accepted are {', '.join(LAWS)}")
    if slack <= 0.0 or settle < 0.0 or step < 0.0:
        raise OptionError(
            f"slack={slack:g}, settle={settle:g}, step={step:g}: a slack above zero is accepted, "
            "and times of at least zero"
        )
    uncertainty = Uncertainty(mass, inertia, spread, noise, delay, seed)
    goals = _task_with(task, slack, settle, step, calm, delay).goals

    def run(errors: Uncertainty, is_calm: bool) -> dict[str, Any]:
        changed_task = _task_with(task, slack, settle, step, is_calm, delay)
        maker = make_controller if law == "task" else _baseline_maker(changed_task, errors.delay)
        return run_task(
            changed_task, seconds=seconds, uncertainty=errors, make_law=maker, native=native
        )

    outcome = run(uncertainty, calm)
    results = outcome["goals"]
    missed_goals = [name for name, goal in results.items() if not goal["met"]]
    errors = {k: goal["obtained"] for k, goal in results.items() if goal["obtained"] is not None}
    causes: list[str] = []
    is_failed = not outcome["met"]
    if is_failed and explain:
        for cause in _CAUSES:
            change: dict[str, Any] = {cause: 0.0}
            if getattr(uncertainty, cause) and run(replace(uncertainty, **change), calm)["met"]:
                causes.append(cause)
        if not calm and _has_flow(task) and run(uncertainty, True)["met"]:
            causes.append("current or wind")
    shares = [error / results[k]["wanted"] * slack for k, error in errors.items() if k in goals]
    return {
        "success": not is_failed,
        "share": max(shares, default=0.0),
        "missed": ", ".join(missed_goals),
        "met_without": ", ".join(causes) or ("none alone" if explain and is_failed else ""),
        "ended": outcome["failure"],
        **errors,
    }


@lru_cache(maxsize=64)
def _task_with(
    name: str, slack: float, settle: float, step: float, calm: bool, delay: float
) -> RobotTask:
    task = robot_tasks.load(name)
    goals = {
        k: replace(g, max_error=slack * g.max_error, settling_time=max(g.settling_time, settle))
        for k, g in task.goals.items()
    }
    step = step or task.step
    if delay > 0.0:
        # A delay is a whole number of steps; the law knows it as the age of its states.
        delay_steps = min(float(np.ceil(delay / step - 1e-9)), _MAX_DELAY_STEPS)
        step = delay / delay_steps
        task = replace(task, gains={**task.gains, "delay": 0.0})
    task = replace(task, goals=goals, step=step)
    return replace(task, current=0.0 * task.current, wind=None) if calm else task


def _has_flow(name: str) -> bool:
    task = robot_tasks.load(name)
    return task.wind is not None or bool(task.current.any())


def _baseline_maker(task: RobotTask, delay: float) -> MakeLaw:
    def make(
        law_name: str,
        model: VMSModel,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
        form: NonholonomicForm | None = None,
    ) -> Controller:
        law = make_controller(law_name, model, allocation, base_actuated, form)
        if form is not None:
            if not isinstance(law, DifferentialDrive):
                raise OptionError(
                    "law='decentralised': on wheels that do not slip it is compared with "
                    f"DifferentialDrive, not with {law_name}"
                )
            return DecentralisedDrive(form, lag=delay + task.step)
        shared_gains = {k: v for k, v in task.gains.items() if hasattr(law.gains, k)}
        law.gains = replace(law.gains, **shared_gains)
        return DecentralisedPD.like(law, model, allocation, lag=delay + task.step)

    return make
