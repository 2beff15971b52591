# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Energy routing: replacing the gyroscopic coupling of task and null space by zero."""

import numpy as np

from vms_ph_dynamics import Array, Evaluation, Task, TaskSpaceForm, VMSModel

# The null-space basis is renewed where its alignment with the reference falls below this.
_MIN_ALIGNMENT = 0.5


class EnergyRouting:
    """The second term of the control law [D (37)] with a target of zero: ``-J_bar^T G (eta, nu)``.

    It transfers energy between task and null space; its total power is zero. G, and with it this
    torque, depends on how the null-space basis changes with the configuration. The basis is aligned
    with that at the minimum of the potential and renewed where the alignment is lost. Between two
    times and one time the singular threshold the torque is scaled down to zero; its power remains
    zero.
    """

    def __init__(self, model: VMSModel, task: Task, singular_below: float) -> None:
        self._model, self._task = model, task
        self._singular_below = singular_below
        self._form: TaskSpaceForm | None = None

    def anchor(self, q: Array) -> None:
        """Align the null-space basis with that at a configuration (nq,)."""
        self._form = None
        if self._task.dimension >= self._model.nv:
            return  # no null space
        self._form = TaskSpaceForm(
            self._model, self._task, reference=q, singular_below=self._singular_below
        )

    def torque(self, d: Evaluation) -> Array | None:
        """Return the torque (n,) that replaces G by zero; None near a singularity."""
        if self._form is None:
            return None
        terms = self._form.terms(d)
        fade = min(1.0, terms.regular.smallest_singular_value / self._singular_below - 1.0)
        if fade <= 0.0:
            return None
        if terms.alignment < _MIN_ALIGNMENT:
            self._form = TaskSpaceForm(
                self._model, self._task, basis=terms.Z, singular_below=self._singular_below
            )
            terms = self._form.terms(d)
        torque = -fade * (terms.J_bar.T @ terms.coupling.G_eta)
        return torque if np.isfinite(torque.sum()) else None
