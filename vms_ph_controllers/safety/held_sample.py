"""The energy that an effort transfers while it is held over a sample."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class _Start:
    """The beginning of a sample: configuration (nq,), held effort (nv,), stored energy, J."""

    q: Array
    force: Array
    store: float


class HeldSample:
    """The effort held since the last update, and the energy that it has transferred.

    The work of a held effort is exactly ``f^T (q_next - q)``. If the safe output has acted for a
    part of the sample, it is unknown how far the robot moved under each of the two efforts.
    """

    def __init__(self, model: VMSModel) -> None:
        self._model = model
        self.forget()

    def forget(self) -> None:
        """Restart; no effort is held."""
        self._start: _Start | None = None
        self._safe: Array | None = None

    def hold(self, d: Evaluation, force: Array, store: float) -> None:
        """Hold efforts (nv,) from a state on, where ``store`` joules are stored."""
        self._start, self._safe = _Start(np.array(d.q), force, store), None

    def missed_updates(self, safe: Array) -> None:
        """Note that the safe output (nv,) has replaced the held effort."""
        self._safe = safe

    def recovered_energy(self, d: Evaluation, store: float) -> float:
        """Return the decrease of the stored energy less the work of the held effort, J.

        After missed updates the larger work of the two efforts is used as an upper bound, and the
        result is never positive: nothing is credited for motion that was not observed.

        Args:
            d: the present state.
            store: energy stored now, J.
        """
        if self._start is None:
            return 0.0
        start = self._start
        displacement = self._model.difference(start.q, d.q)
        work = float(start.force @ displacement)
        if self._safe is None:
            return start.store - store - work
        return min(start.store - store - max(work, float(self._safe @ displacement)), 0.0)
