"""What an effort that was held over a sample has left of a store of energy."""

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation


class HeldSample:
    """Remembers what acts from one state to the next, and settles it there.

    The work of an effort that is held is ``f^T (q_next - q)``, exactly. Where the safe output came
    in between, unseen, nobody knows how far each of the two efforts has acted.
    """

    def __init__(self, model: VMSModel) -> None:
        self._model = model
        self.forget()

    def forget(self) -> None:
        """Begin anew; there is nothing to settle."""
        self._held: tuple[Array, Array, float] | None = None
        self._instead: Array | None = None

    def hold(self, d: Evaluation, force: Array, store: float) -> None:
        """Remember the efforts (nv,) from a state on, and what is stored there, J."""
        self._held, self._instead = (np.array(d.q), force, store), None

    def lose(self, instead: Array) -> None:
        """Know that the safe output (nv,) has taken the place of what was held."""
        self._instead = instead

    def left_over(self, d: Evaluation, store: float) -> float:
        """Return what of the store is neither there at the new state nor spent as work, J.

        Over what was not seen nothing is earned, and the dearer of both efforts is paid for.
        """
        if self._held is None:
            return 0.0
        q, force, before = self._held
        way = self._model.difference(q, d.q)
        work = float(force @ way)
        if self._instead is None:
            return before - store - work
        return min(before - store - max(work, float(self._instead @ way)), 0.0)
