"""Energy routing: replacing the gyroscopic coupling of task and null space."""

from collections.abc import Callable

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation
from vms_ph_dynamics.structure import TaskEvaluation, TaskSpaceForm
from vms_ph_dynamics.tasks import Task

TargetCoupling = Callable[[TaskEvaluation], Array]
"""G_bar (nv,nv) at a state; only its skew part is used."""

# The alignment of the null-space basis below which it is anchored anew.
_ALIGNED = 0.5


class EnergyRouting:
    """The second term of the control law [D (37)]: ``J_bar^T (G_bar - G) (eta, nu)``.

    It moves energy between task and null space and does no work in all. G, and so this torque,
    depends on how the null-space basis turns with the configuration: it is the one aligned with the
    basis at the minimum of the potential, anchored anew where that loses its meaning. Between one
    and two times the singular threshold the routing fades out, which leaves it without power.
    """

    def __init__(self, model: VMSModel, task: Task, singular_below: float) -> None:
        self._model, self._task = model, task
        self._singular_below = singular_below
        self._form: TaskSpaceForm | None = None

    def anchor(self, q: Array) -> None:
        """Align the null-space basis with that at a configuration (nq,)."""
        self._form = None
        if self._task.dimension >= self._model.nv:
            return  # no null space, nothing to route
        self._form = TaskSpaceForm(
            self._model, self._task, reference=q, singular_below=self._singular_below
        )

    def torque(self, d: Evaluation, target: TargetCoupling | None) -> Array | None:
        """Return the torque (n,) that puts ``target`` in place of G, or zero in its place if None.

        None is returned where there is no usable one: near a singularity, or for a target that is
        not a finite (nv,nv) matrix.
        """
        if self._form is None:
            return None
        t = self._form.terms(d)
        fade = min(1.0, t.regular.smallest / self._singular_below - 1.0)
        if fade <= 0.0:
            return None
        if t.alignment < _ALIGNED:
            self._form = TaskSpaceForm(
                self._model, self._task, basis=t.Z, singular_below=self._singular_below
            )
            t = self._form.terms(d)
        try:
            change = -t.coupling.G_eta
            if target is not None:
                wanted = np.asarray(target(t), dtype=np.float64)
                change = change + 0.5 * (wanted - wanted.T) @ t.eta_e
        except Exception:  # a target is the user's code, and a control path never raises
            return None
        return fade * (t.J_bar.T @ change) if np.isfinite(change.sum()) else None
