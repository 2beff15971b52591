"""The bound of what efforts may risk while a debt of the tank is repaid."""

from collections.abc import Iterable

import numpy as np

from vms_ph_dynamics.arrays import Array

from .unseen_work import UnseenWork

# What efforts that repay a debt may risk beyond the work that made it, J. Without any, nothing could
# be repaid of a debt that is as large as that work.
LOAN = 1e-3

# A debt below this, J, is a rounding error.
ROUNDING = 1e-12


class DebtCeiling:
    """Keeps efforts that repay a debt from raising it.

    An effort that brakes gives energy if an unseen contact turns the motion round within its
    sample. For coordinates no faster than V_i, it gives at most ``dt sum |f_i| V_i``. From the
    sample in which a debt is seen until it is repaid, the debt and what is risked together stay
    below a ceiling: the largest work over the ``delay + 1`` samples that a decision has not seen,
    and a loan of 1 mJ. What has been repaid may be risked again.

    A debt above the ceiling is of what is never scaled: the weight, held over samples in which
    the robot is pushed, and reflexes. Such work raises the ceiling by as much.
    """

    def __init__(self, speeds: Array, delay: int) -> None:
        """Begin without a debt.

        Args:
            speeds: (nv,) largest plausible speeds V of the coordinates.
            delay: from measurement to effort, samples.
        """
        self._speeds, self._unseen = speeds, UnseenWork(delay)
        self._ceiling = 0.0
        self.room = np.inf

    def settle(self, level: float, work: float) -> None:
        """Note that a sample in which energy was given, J, has led to a level of the tank, J."""
        unseen, debt = self._unseen.add(work), -level
        if debt <= ROUNDING:
            self._ceiling, self.room = 0.0, np.inf
            return
        self._ceiling = max(self._ceiling, unseen + LOAN)
        if debt > self._ceiling:
            self._ceiling = debt + LOAN
        self.room = self._ceiling - debt

    def share(self, active: Array, under_way: Iterable[Array], dt: float) -> float:
        """Return the share of an effort beyond the resting one (nv,) that may be risked.

        Args:
            active: (nv,) effort beyond the resting one.
            under_way: efforts beyond the resting one (nv,) that act before it.
            dt: duration of a sample, s.
        """
        room = max(0.0, self.room - sum(self._risk(each, dt) for each in under_way))
        risk = self._risk(active, dt)
        return room / risk if risk > room else 1.0

    def _risk(self, active: Array, dt: float) -> float:
        return dt * float(np.abs(active) @ self._speeds)
