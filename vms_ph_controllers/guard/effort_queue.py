# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The efforts of a guard that act later, act now, or have acted since the last measured state."""

import numpy as np

from vms_ph_dynamics import Array, Evaluation, VMSModel

from ..safety.sample_work import SampleWork

# Multiple of the norm of an effort by the inverse mass matrix, which changes while nothing is seen.
_INERTIA = 1.1

# Largest rate of change of the weight with the motion, relative to the inertia, 1/s^2: that of a
# pendulum of 5 cm.
_WEIGHT = 200.0


class EffortQueue:
    """A queue of efforts: one sent in a sample acts from ``delay`` samples later on, for a sample.

    Efforts here are those whose work counts: without a part of the weight that no actuator holds.

    While states are lost it is unknown how far the robot moves under each effort. Of the work
    ``sum f_i . x_i`` along the displacement ``x`` that a later state shows, ``f . x`` with the last
    effort f is exact; the differences ``(f_i - f) . x_i`` are at most
    ``|f_i - f|_{M^-1} dt s_i``, with the bound ``s_i`` of the root of twice the kinetic energy of
    :class:`.DebtCeiling`, which every effort raises by ``dt |f_i|_{M^-1}``.

    Attributes:
        queue: the effort that acts from now on, then those sent after it, ``delay + 1`` in all.
        active: the part of each beyond the resting effort for which it was sent.
        is_measured: whether no state was lost since the last one.
    """

    def __init__(self, model: VMSModel, delay: int) -> None:
        self._model, self._work = model, SampleWork(model)
        self._zero = np.zeros(model.nv)
        self.queue: list[Array] = [self._zero] * (delay + 1)
        self.active: list[Array] = [self._zero] * (delay + 1)
        self.restart(self._zero, self._zero)

    def restart(self, effort: Array, active: Array) -> None:
        """Restart; an effort (nv,) acts until the next one does."""
        self.queue = [effort] * len(self.queue)
        self.active = [active] * len(self.queue)
        self._work.restart()
        self._start: Evaluation | None = None
        self.is_measured = True

    def send(self, effort: Array, active: Array) -> None:
        """Take an effort (nv,) into the queue; the first one in it begins to act."""
        self.queue = [*self.queue[1:], effort]
        self.active = [*self.active[1:], active]

    def observe(self, d: Evaluation, potential: float, kinetic: float) -> None:
        """Note the state at which the first effort of the queue begins to act.

        Args:
            d: the state.
            potential: of its gravity, J.
            kinetic: largest energy of the motion after it, see :class:`.DebtCeiling`, J.
        """
        self._start, self._potential, self.is_measured = d, potential, True
        self._work.hold(d, self.queue[0], self._zero, -potential)
        self._first_speed = self._speed = float(np.sqrt(2.0 * kinetic))
        self._path = self._spread = 0.0
        self._acting = self.queue[0], self.active[0]

    def mean_velocity(self, q: Array, dt: float) -> Array:
        """Return the velocity (nv,) over the time since the last state; zero after lost ones."""
        if self._start is None or not self.is_measured:
            return np.zeros(self._model.nv)
        return self._model.difference(self._start.q, q) / dt

    def lose(self, dt: float) -> None:
        """Note that the first effort acts on for a time, s, after which no state is seen."""
        if self._start is not None:
            self.is_measured = False
            self._elapse(dt)

    def act(self) -> None:
        """Note that the first effort of the queue begins to act at a state that is not seen."""
        if self._start is not None:
            self._spread += self._path * self._norm(self.queue[0] - self._acting[0])
            self._acting = self.queue[0], self.active[0]

    @property
    def largest_work(self) -> float:
        """Largest work of efforts since the last state, whatever the motion was meanwhile, J."""
        if self._start is None or self.is_measured:
            return 0.0
        work = 0.5 * (self._speed * self._speed - self._first_speed * self._first_speed)
        has_weight = bool(np.any(self._start.g))
        return work + (0.5 * _WEIGHT * self._path * self._path if has_weight else 0.0)

    def share_within(self, active: Array, level: float, dt: float) -> float:
        """Return the share of an effort beyond the resting one that a level covers, unseen.

        Args:
            active: (nv,) effort beyond the resting one, sent after those in the queue.
            level: energy available at the last state, J.
            dt: duration of a sample, s.
        """
        if self._start is None:
            return 0.0
        speed = self._speed + dt * sum(self._norm(each) for each in self.active[1:])
        largest = float(np.sqrt(self._first_speed * self._first_speed + 2.0 * max(0.0, level)))
        rise = dt * self._norm(active)
        return min(1.0, max(0.0, largest - speed) / rise) if rise > 0.0 else 1.0

    def work(self, d: Evaluation, potential: float, dt: float) -> float:
        """Return the energy given since the last state, J; at most, and no credit, after lost ones.

        Args:
            d: the present state.
            potential: of its gravity, J.
            dt: time since the last update, s.
        """
        if self._start is None:
            return 0.0
        if self.is_measured:
            return -self._work.recovered_energy(d, -potential, dt)
        self._elapse(dt)
        displacement = self._model.difference(self._start.q, d.q)
        work = float(self._acting[0] @ displacement) - (potential - self._potential) + self._spread
        # The displacement of a base that turns is not the integral of its velocity.
        return max(0.0, work, self.largest_work if self._model.b else 0.0)

    def _elapse(self, dt: float) -> None:
        self._speed += dt * self._norm(self._acting[1])
        self._path += dt * self._speed

    def _norm(self, effort: Array) -> float:
        assert self._start is not None
        square = float(effort @ np.linalg.solve(self._start.M, effort))
        return _INERTIA * float(np.sqrt(max(0.0, square)))
