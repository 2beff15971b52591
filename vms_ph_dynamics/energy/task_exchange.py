# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The kinetic energy in the null space of a task, and its exchange with that of the task."""

from contextlib import suppress
from dataclasses import dataclass
from math import nan

import numpy as np

from ..errors import ModelError
from ..evaluation import Evaluation
from ..forms import TaskSpaceForm
from ..model import VMSModel
from ..tasks import Task

# Below this smallest singular value the task inertia, and with it the split, is not meaningful.
_MIN_SINGULAR_VALUE = 1e-3


def kinetic_null(d: Evaluation, task: Task) -> float:
    """Return ``1/2 pi_nu^T Lambda_nu^-1 pi_nu`` [D (26)], J; NaN at a singular configuration.

    The null-space part is computed without the inverse of a nearly singular matrix.
    """
    _, singular_values, right_vectors = np.linalg.svd(task.jacobian(d))
    if singular_values[-1] <= _MIN_SINGULAR_VALUE:
        return float("nan")
    basis = right_vectors[task.dimension :]
    momentum = basis @ d.momentum
    return 0.5 * float(momentum @ np.linalg.solve(basis @ d.M @ basis.T, momentum))


def energy_parts(d: Evaluation, task: Task) -> dict[str, float]:
    """Return the energies of a state, J, by the names of the message Energy.

    The kinetic energy is split twice: into base and shape, and into task and null space.
    """
    kinetic_energy, potential_energy = d.kinetic_energy, d.potential_energy
    base_energy = 0.5 * float(d.p @ d.v_hat) if d.model.b else 0.0
    null_energy = kinetic_null(d, task)
    return {
        "total": kinetic_energy + potential_energy,
        "kinetic": kinetic_energy,
        "potential": potential_energy,
        "kinetic_base": base_energy,
        "kinetic_shape": kinetic_energy - base_energy,
        "kinetic_task": kinetic_energy - null_energy,
        "kinetic_null": null_energy,
    }


# The null-space basis is renewed below this alignment.
_RENEWAL_ALIGNMENT = 0.5


@dataclass(frozen=True)
class Exchange:
    """Power from null-space energy to task energy, W; NaN without a null space or if singular.

    Attributes:
        total: power by inertia alone.
        through_g12: the part through the block G_12 of the structure matrix.
    """

    total: float = nan
    through_g12: float = nan


class TaskExchange:
    """The exchange along a motion, with a null-space basis continued from state to state."""

    def __init__(self, model: VMSModel, task: Task) -> None:
        self._form: TaskSpaceForm | None = None
        with suppress(ModelError):  # a robot without redundancy has no null space
            self._form = TaskSpaceForm(model, task)

    def exchange(self, d: Evaluation) -> Exchange:
        """Return the exchange at a state."""
        if self._form is None:
            return Exchange()
        t = self._form.terms(d)
        if not t.is_regular:
            return Exchange()
        if t.alignment < _RENEWAL_ALIGNMENT:
            self._form = self._form.anchored_at(d.q)
            t = self._form.terms(d)
        return Exchange(t.coupling.exchange, t.coupling.exchange_through_G_12)
