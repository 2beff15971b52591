# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The efforts of a guard that act later, act now or have acted, and what is lent against a debt."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from vms_ph_dynamics import Array, Evaluation, VMSModel

from ..safety.sample_grant import ROUNDING, SampleWork

# What efforts that repay a debt may risk beyond the work that made it: a share of the kinetic
# energy, and at least so many J. Without any, nothing could be repaid of a debt that is as large as
# that work, and the robot would not be braked.
_LOAN_SHARE, SMALLEST_LOAN = 0.05, 1e-3

# Share of what is left below the ceiling that is risked at once: the mass matrix changes within a
# sample, and with nothing left a debt could never be repaid. Without a debt, share of the kinetic
# energy that efforts may give beyond the level: it leaves room for the strongest brakes.
_RISK_SHARE = 0.8


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
        margin: energy that may be risked, J.
        largest_loan: largest loan so far, J.
        motion_energy_bound: largest energy that the motion has after the last state as long as no
            more is given, J: its kinetic energy and what contacts may hold.
    """

    def __init__(self, delay: int) -> None:
        # Energy given so far, and before each of the samples that a decision has not seen, J.
        self._total_work, self._start_energies = 0.0, deque([0.0] * (delay + 1), delay + 1)
        self._ceiling = self.motion_energy_bound = 0.0
        self.margin, self.largest_loan = np.inf, SMALLEST_LOAN

    def update(self, level: float, work: float, kinetic: float, loss: float = 0.0) -> float:
        """Note that a sample has led to a level; return the work not seen at its end, J.

        Args:
            level: energy in the tank, J.
            work: energy given in the sample, J.
            kinetic: energy of the robot at its end, J.
            loss: energy taken as lost to friction in the sample, J.
        """
        self.motion_energy_bound = max(kinetic, self.motion_energy_bound + work - loss)
        self._start_energies.append(self._total_work)
        self._total_work += work
        unobserved_work = max(0.0, self._total_work - min(self._start_energies))
        debt, loan = -level, max(SMALLEST_LOAN, _LOAN_SHARE * kinetic)
        if debt <= ROUNDING:
            self._ceiling, self.margin = 0.0, np.inf
            return unobserved_work
        self.largest_loan = max(self.largest_loan, loan)
        # A share of the energy of the motion when the debt began, as it could be risked then.
        risk_limit = _RISK_SHARE * max(0.0, self.motion_energy_bound - debt)
        self._ceiling = max(self._ceiling, min(unobserved_work, risk_limit) + loan)
        if debt > self._ceiling:
            self._ceiling = debt + min(loan, debt - self._ceiling)
        self.margin = self._ceiling - debt
        return unobserved_work

    def permitted_share(
        self, active_effort: Array, queue: Sequence[Array], level: float, M: Array, dt: float
    ) -> float:
        """Return the share of an effort beyond the resting one (nv,) that may be risked.

        Args:
            active_effort: (nv,) effort beyond the resting one.
            queue: efforts beyond the resting one (nv,) that act before it.
            level: energy available, J; negative for a debt.
            M: (nv,nv) mass matrix.
            dt: duration of a sample, s.
        """
        efforts = np.array([active_effort, *queue])
        squared_norms = (efforts * np.linalg.solve(M, efforts.T).T).sum(axis=1)
        v_norm_rise, *queued_rises = (dt * np.sqrt(np.maximum(squared_norms, 0.0))).tolist()
        v_norm = float(np.sqrt(2.0 * self.motion_energy_bound))
        risked_energy = max(0.0, self.margin) if level < -ROUNDING else self.motion_energy_bound
        permitted_work = max(0.0, level) + _RISK_SHARE * risked_energy
        largest_v_norm = float(np.sqrt(2.0 * (self.motion_energy_bound + permitted_work)))
        v_norm_margin = max(0.0, largest_v_norm - v_norm - sum(queued_rises))
        return float(v_norm_margin / v_norm_rise) if v_norm_rise > v_norm_margin else 1.0


# Factor on the norm of an effort by the inverse mass matrix, which may grow while no state is seen.
_INERTIA_FACTOR = 1.1

# Largest rate of change of the weight with the motion, relative to the inertia, 1/s^2: that of a
# pendulum of 5 cm.
_WEIGHT_RATE = 200.0


class EffortQueue:
    """A queue of efforts: one sent in a sample acts from ``delay`` samples later on, for a sample.

    Efforts here are those whose work counts: without a part of the weight that no actuator holds.

    While states are lost it is unknown how far the robot moves under each effort. Of the work
    ``sum f_i . x_i`` along the displacement ``x`` that a later state shows, ``f . x`` with the last
    effort f is exact; the differences ``(f_i - f) . x_i`` are at most
    ``|f_i - f|_{M^-1} dt s_i``, with the bound ``s_i`` of the norm ``|v|_M = sqrt(2 T)`` of
    :class:`.DebtCeiling`, which every effort raises by ``dt |f_i|_{M^-1}``.

    Attributes:
        efforts: the effort that acts from now on, then those sent after it, ``delay + 1`` in all.
        active_efforts: the part of each beyond the resting effort, that against gravity.
        is_measured: whether no state was lost since the last one.
    """

    def __init__(self, model: VMSModel, delay: int) -> None:
        self._model, self._sample_work = model, SampleWork(model)
        self._zero = np.zeros(model.nv)
        self.efforts: list[Array] = [self._zero] * (delay + 1)
        self.active_efforts: list[Array] = [self._zero] * (delay + 1)
        self.restart(self._zero, self._zero)

    def restart(self, effort: Array, active_effort: Array) -> None:
        """Restart; an effort (nv,) acts until the next one does."""
        self.efforts = [effort] * len(self.efforts)
        self.active_efforts = [active_effort] * len(self.efforts)
        self._sample_work.restart()
        self._last_state: Evaluation | None = None
        self.is_measured = True

    def send(self, effort: Array, active_effort: Array) -> None:
        """Take an effort (nv,) into the queue; the first one in it begins to act."""
        self.efforts = [*self.efforts[1:], effort]
        self.active_efforts = [*self.active_efforts[1:], active_effort]

    def observe(self, d: Evaluation, potential_energy: float, motion_energy_bound: float) -> None:
        """Note the state at which the first effort of the queue begins to act.

        Args:
            d: the state.
            potential_energy: potential energy of gravity in it, J.
            motion_energy_bound: largest energy of the motion after it, J; see DebtCeiling.
        """
        self._last_state, self._start_potential_energy, self.is_measured = d, potential_energy, True
        self._sample_work.hold(d, self.efforts[0], self._zero, -potential_energy)
        self._start_v_norm = self._v_norm_bound = float(np.sqrt(2.0 * motion_energy_bound))
        self._path_length = self._work_error = 0.0
        self._applied = self.efforts[0], self.active_efforts[0]

    def mean_velocity(self, q: Array, dt: float) -> Array:
        """Return the velocity (nv,) over the time since the last state; zero after lost ones."""
        if self._last_state is None or not self.is_measured:
            return np.zeros(self._model.nv)
        return self._model.difference(self._last_state.q, q) / dt

    def skip_state(self, dt: float) -> None:
        """Note that the first effort acts on for a time, s, after which no state is seen."""
        if self._last_state is not None:
            self.is_measured = False
            self._advance_time(dt)

    def advance_without_state(self) -> None:
        """Note that the first effort of the queue begins to act at a state that is not seen."""
        if self._last_state is not None:
            effort_change = self.efforts[0] - self._applied[0]
            self._work_error += self._path_length * self._effort_norm(effort_change)
            self._applied = self.efforts[0], self.active_efforts[0]

    @property
    def largest_work(self) -> float:
        """Largest work of efforts since the last state, whatever the motion was meanwhile, J."""
        if self._last_state is None or self.is_measured:
            return 0.0
        work = 0.5 * (self._v_norm_bound**2 - self._start_v_norm**2)
        has_weight, path_length = bool(np.any(self._last_state.g)), self._path_length
        return work + (0.5 * _WEIGHT_RATE * path_length * path_length if has_weight else 0.0)

    def covered_share(self, active_effort: Array, level: float, dt: float) -> float:
        """Return the share of an effort beyond the resting one that a level covers, unseen.

        Args:
            active_effort: (nv,) effort beyond the resting one, sent after those in the queue.
            level: energy available at the last state, J.
            dt: duration of a sample, s.
        """
        if self._last_state is None:
            return 0.0
        v_norm = self._v_norm_bound + dt * sum(map(self._effort_norm, self.active_efforts[1:]))
        max_v_norm = float(np.sqrt(self._start_v_norm**2 + 2.0 * max(0.0, level)))
        v_norm_rise = dt * self._effort_norm(active_effort)
        return min(1.0, max(0.0, max_v_norm - v_norm) / v_norm_rise) if v_norm_rise > 0.0 else 1.0

    def work(self, d: Evaluation, potential_energy: float, dt: float) -> float:
        """Return the energy given since the last state, J; at most, and no credit, after lost ones.

        Args:
            d: the present state.
            potential_energy: potential energy of gravity in it, J.
            dt: time since the last update, s.
        """
        if self._last_state is None:
            return 0.0
        if self.is_measured:
            return -self._sample_work.recovered_energy(d, -potential_energy, dt)
        self._advance_time(dt)
        applied_work = float(self._applied[0] @ self._model.difference(self._last_state.q, d.q))
        work = applied_work - (potential_energy - self._start_potential_energy) + self._work_error
        # The displacement of a base that turns is not the integral of its velocity.
        return max(0.0, work, self.largest_work if self._model.b else 0.0)

    def _advance_time(self, dt: float) -> None:
        self._v_norm_bound += dt * self._effort_norm(self._applied[1])
        self._path_length += dt * self._v_norm_bound

    def _effort_norm(self, effort: Array) -> float:
        assert self._last_state is not None
        square = float(effort @ np.linalg.solve(self._last_state.M, effort))
        return _INERTIA_FACTOR * float(np.sqrt(max(0.0, square)))
