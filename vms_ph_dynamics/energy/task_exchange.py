# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The power from the null space of a task into the task."""

from contextlib import suppress
from dataclasses import dataclass
from math import nan

from ..errors import ModelError
from ..evaluation import Evaluation
from ..forms import TaskSpaceForm
from ..model import VMSModel
from ..tasks import Task

# The null-space basis is renewed below this alignment.
_ALIGNED = 0.5


@dataclass(frozen=True)
class Exchange:
    """Power from null-space energy to task energy, W; NaN if the robot has no null space.

    Attributes:
        whole: power by inertia alone.
        through_g12: the part through the block G_12 of the structure matrix.
    """

    whole: float = nan
    through_g12: float = nan


class TaskExchange:
    """The exchange along a motion, with a null-space basis continued from state to state."""

    def __init__(self, model: VMSModel, task: Task) -> None:
        self._form: TaskSpaceForm | None = None
        with suppress(ModelError):  # a robot without redundancy has no null space
            self._form = TaskSpaceForm(model, task)

    def at(self, d: Evaluation) -> Exchange:
        """Return the exchange at a state."""
        if self._form is None:
            return Exchange()
        t = self._form.terms(d)
        if not t.is_regular:
            return Exchange()
        if t.alignment < _ALIGNED:
            self._form = self._form.anchored_at(d.q)
            t = self._form.terms(d)
        return Exchange(t.coupling.exchange, t.coupling.exchange_through_G_12)
