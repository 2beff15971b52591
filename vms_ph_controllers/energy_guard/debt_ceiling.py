"""The bound of what efforts may risk while a debt of the tank is repaid."""

from collections.abc import Iterable

import numpy as np

from vms_ph_dynamics.arrays import Array

# Part of a debt that the efforts which repay it may risk on top of it.
_LENT = 0.25

# Factor per sample at which the reach of a joint is forgotten.
_FADING = 0.9

# A debt below this, J, is a rounding error.
ROUNDING = 1e-12


class DebtCeiling:
    """Keeps efforts that repay a debt from raising it without end.

    An effort that brakes gives energy if an unseen contact turns the motion round within its
    sample. It risks at most ``sum |f_i| r_i``, where the reach r_i is the largest distance that a
    coordinate has lately moved in a sample. From the sample in which a debt is seen until it is
    repaid, debt and risk together stay below a ceiling: the work that made the debt, or 5/4 of the
    debt where that is more. What has been repaid may be risked again.
    """

    def __init__(self, nv: int, delay: int) -> None:
        self._reach = np.zeros(nv)
        self._works = [0.0] * (delay + 1)
        self._next = 0
        self._ceiling = 0.0
        self.room = np.inf

    def settle(self, level: float, work: float, way: Array, ahead: Array) -> None:
        """Note that a sample has led to a level.

        Args:
            level: energy in the tank, J.
            work: energy given in the sample, J.
            way: (nv,) displacement over the sample.
            ahead: (nv,) displacement that the present velocity would cause in the next one.
        """
        self._reach = np.maximum(np.maximum(np.abs(way), np.abs(ahead)), _FADING * self._reach)
        self._works[self._next] = max(0.0, work)
        self._next = (self._next + 1) % len(self._works)
        debt = -level
        if debt <= ROUNDING:
            self._ceiling, self.room = 0.0, np.inf
            return
        lent = (1.0 + _LENT) * debt
        if self._ceiling == 0.0:
            self._ceiling = max(sum(self._works), lent)
        elif debt > self._ceiling:
            # More than was risked: a further event that was not seen.
            self._ceiling = lent
        self.room = self._ceiling - debt

    def share(self, active: Array, under_way: Iterable[Array]) -> float:
        """Return the share of an effort beyond the resting one (nv,) that may be risked.

        Args:
            active: (nv,) effort beyond the resting one.
            under_way: efforts beyond the resting one (nv,) that act before it.
        """
        room = self.room - sum(self._risk(each) for each in under_way)
        risk = self._risk(active)
        return max(0.0, room) / risk if risk > max(0.0, room) else 1.0

    def _risk(self, active: Array) -> float:
        return float(np.abs(active) @ self._reach)
