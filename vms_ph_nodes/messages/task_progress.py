# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of the progress of a task to a message."""

from collections.abc import Mapping
from typing import Any

from std_msgs.msg import Header
from vms_ph.msg import TaskProgress


def all_are_met(goals: Mapping[str, Mapping[str, Any]], ended: bool) -> bool:
    """Return whether goals are met; until the end, those that were not judged yet do not count."""
    judged = [goal for goal in goals.values() if goal["obtained"] is not None]
    return all(goal["met"] for goal in judged) and (len(judged) == len(goals) or not ended)


def to_task_progress(
    header: Header,
    task: str,
    times: tuple[float, float],
    targets: tuple[int, int],
    goals: Mapping[str, Mapping[str, Any]],
) -> TaskProgress:
    """Return the message.

    Args:
        header: with the stamp of the state judged last.
        task: name of the task.
        times: now, and at the end of the task, s.
        targets: number given so far, and number of all.
        goals: by name, with what, wanted, obtained (None before it was judged) and met.
    """
    ended = times[0] >= times[1]
    obtained = [goal["obtained"] for goal in goals.values()]
    return TaskProgress(
        header=header,
        task=task,
        time=times[0],
        end=times[1],
        given=targets[0],
        targets=targets[1],
        ended=ended,
        met=all_are_met(goals, ended),
        goals=list(goals),
        what=[goal["what"] for goal in goals.values()],
        wanted=[float(goal["wanted"]) for goal in goals.values()],
        obtained=[float("nan") if value is None else float(value) for value in obtained],
        judged=[value is not None for value in obtained],
    )
