# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""How far a robot was from its references where its goals bound that."""

from collections.abc import Callable
from typing import Any

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.simulation.robot_task import ERRORS, RobotTask

from .task_reference import TaskReference


class Judge:
    """The largest errors of a run, by the goals of its task that bound them."""

    def __init__(
        self,
        task: RobotTask,
        reference: TaskReference,
        others: Callable[[], dict[str, float]] = dict,
    ) -> None:
        """Begin.

        Args:
            task: with the goals.
            reference: where the robot is to be at every time that is seen.
            others: errors now besides those from it, by their names, as far as they are known.
        """
        self._task, self._reference, self._others = task, reference, others
        self._worst: dict[str, float] = {}

    def see(self, time: float, motion: Callable[[], tuple[Array, Array]]) -> None:
        """Take the errors of a time (s) that count; ``motion`` gives q (nq,) and v (nv,)."""
        errors = None
        for name, goal in self._task.goals.items():
            if self._task.counts(goal, time):
                errors = errors or {**self._reference.errors(*motion(), time), **self._others()}
                if goal.of in errors:
                    self._worst[name] = max(self._worst.get(name, 0.0), errors[goal.of])

    def goals(self) -> dict[str, dict[str, Any]]:
        """Return what was wanted and obtained of every goal; None was not judged yet."""
        found: dict[str, dict[str, Any]] = {}
        for name, goal in self._task.goals.items():
            obtained = self._worst.get(name)
            found[name] = {
                "what": ERRORS[goal.of],
                "wanted": goal.within,
                "obtained": obtained,
                "met": obtained is not None and obtained <= goal.within,
            }
        return found
