# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bound of what efforts may risk whatever the motion is."""

from collections.abc import Sequence

import numpy as np

from vms_ph_dynamics import Array

from ..safety.sample_grant import ROUNDING

# What efforts that repay a debt may risk beyond the work that made it: a share of the kinetic
# energy, and at least so many J. Without any, nothing could be repaid of a debt that is as large as
# that work, and the robot would not be braked.
_LOAN_SHARE, SMALLEST_LOAN = 0.05, 1e-3

# Share of what is left below the ceiling that is risked at once: the mass matrix changes within a
# sample, and with nothing left a debt could never be repaid. Without a debt, share of the kinetic
# energy that efforts may give beyond the level: it leaves room for the strongest brakes.
_RISKED = 0.8


def loan(kinetic: float) -> float:
    """Return what may be risked beyond the work that made a debt, J, at a kinetic energy, J."""
    return max(SMALLEST_LOAN, _LOAN_SHARE * kinetic)


class UnmeasuredWork:
    """Energy given over the ``delay + 1`` samples from a decision to the sight of its outcome."""

    def __init__(self, delay: int) -> None:
        self._work = 0.0
        self._starts = [0.0] * (delay + 1)  # energy given at the start of each of them, J
        self._next = 0

    def add(self, work: float) -> float:
        """Count the work of a sample, J; return the largest of the last up to its end, J."""
        self._starts[self._next] = self._work
        self._next = (self._next + 1) % len(self._starts)
        self._work += work
        return max(0.0, self._work - min(self._starts))


class DebtCeiling:
    """Keeps efforts that repay a debt from raising it.

    An effort that brakes gives energy if an unseen contact turns the motion round within its
    sample. Contacts give back at most what they have taken since the engagement: the energy given
    at the ports that is not in the motion seen. The kinetic energy at any time is then at most
    ``T + E(t) - E`` with the energy E given up to a state and the sum T of the kinetic energy that
    the state shows and of what contacts may hold. An effort f has at most the power
    ``|f|_{M^-1} sqrt(2 (T + E(t) - E))``, so that efforts f_i one after the other give at most
    ``1/2 ((s + sum dt |f_i|_{M^-1})^2 - s^2)`` with ``s = sqrt(2 T)``, however contacts move the
    robot between two samples. Without a debt this is at most the level and a share of T, which the
    strongest brakes need. From the sample in which a debt is seen until it is repaid, the debt
    and what is risked together stay below a ceiling: the largest work over the ``delay + 1``
    samples that a decision has not seen, at most that share, and a loan. What has been repaid may
    be risked again.

    A debt above the ceiling is of what is never scaled, the weight held over samples in which the
    robot is moved and reflexes, or of a push. It raises the ceiling to its level, and by as much
    again, at most a loan, so that it can be repaid.

    Attributes:
        room: what may be risked, J.
        largest_loan: largest loan so far, J.
        kinetic: largest energy that the motion has after the last state as long as no more is
            given, J: its kinetic energy and what contacts may hold.
    """

    def __init__(self, delay: int) -> None:
        self._unmeasured = UnmeasuredWork(delay)
        self._ceiling = self.kinetic = 0.0
        self.room, self.largest_loan = np.inf, SMALLEST_LOAN

    def update(self, level: float, work: float, kinetic: float, friction: float = 0.0) -> float:
        """Note that a sample has led to a level; return the work not seen at its end, J.

        Args:
            level: energy in the tank, J.
            work: energy given in the sample, J.
            kinetic: energy of the robot at its end, J.
            friction: energy taken as lost to friction in the sample, J.
        """
        self.kinetic = max(kinetic, self.kinetic + work - friction)
        unmeasured, debt, largest_loan = self._unmeasured.add(work), -level, loan(kinetic)
        if debt <= ROUNDING:
            self._ceiling, self.room = 0.0, np.inf
            return unmeasured
        self.largest_loan = max(self.largest_loan, largest_loan)
        # A share of the energy of the motion when the debt began, as it could be risked then.
        risked = _RISKED * max(0.0, self.kinetic - debt)
        self._ceiling = max(self._ceiling, min(unmeasured, risked) + largest_loan)
        if debt > self._ceiling:
            self._ceiling = debt + min(largest_loan, debt - self._ceiling)
        self.room = self._ceiling - debt
        return unmeasured

    def share(
        self, active: Array, under_way: Sequence[Array], level: float, M: Array, dt: float
    ) -> float:
        """Return the share of an effort beyond the resting one (nv,) that may be risked.

        Args:
            active: (nv,) effort beyond the resting one.
            under_way: efforts beyond the resting one (nv,) that act before it.
            level: energy available, J; negative for a debt.
            M: (nv,nv) mass matrix.
            dt: duration of a sample, s.
        """
        efforts = np.array([active, *under_way])
        squares = (efforts * np.linalg.solve(M, efforts.T).T).sum(axis=1)
        rise, *before = (dt * np.sqrt(np.maximum(squares, 0.0))).tolist()
        now = float(np.sqrt(2.0 * self.kinetic))
        if level < -ROUNDING:
            risk = _RISKED * max(0.0, self.room)
        else:
            risk = max(0.0, level) + _RISKED * self.kinetic
        largest = float(np.sqrt(2.0 * (self.kinetic + risk)))
        room_left = max(0.0, largest - now - sum(before))
        return float(room_left / rise) if rise > room_left else 1.0
