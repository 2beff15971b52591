# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The efforts of a guard that act later, act now, or have acted since the last measured state."""

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from ..safety.sample_work import SampleWork


class EffortQueue:
    """A queue of efforts: one sent in a sample acts from ``delay`` samples later on, for a sample.

    Efforts here are those whose work counts: without a part of the weight that no actuator holds.

    Attributes:
        queue: the effort that acts from now on, then those sent after it, ``delay + 1`` in all.
        active: the part of each beyond the resting effort for which it was sent.
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
        self._start: Array | None = None
        self._is_measured = True

    def send(self, effort: Array, active: Array) -> None:
        """Take an effort (nv,) into the queue; the first one in it begins to act."""
        self.queue = [*self.queue[1:], effort]
        self.active = [*self.active[1:], active]

    def observe(self, d: Evaluation, potential: float) -> None:
        """Note the state at which the first effort of the queue begins to act."""
        self._start, self._potential, self._is_measured = np.array(d.q), potential, True
        self._work.hold(d, self.queue[0], self._zero, -potential)
        self._lower = self.queue[0].copy()
        self._upper = self.queue[0].copy()

    def act_unmeasured(self, effort: Array) -> None:
        """Note that an effort (nv,) has acted after the first one, without a state between them."""
        if self._start is None:
            return
        self._is_measured = False
        self._lower = np.minimum(self._lower, effort)
        self._upper = np.maximum(self._upper, effort)

    def work(self, d: Evaluation, potential: float, dt: float) -> float:
        """Return the energy given since the last state, J.

        If several efforts have acted since then, it is unknown how far the robot moved under each:
        the largest work along the displacement is taken, and nothing is credited.

        Args:
            d: the present state.
            potential: of its gravity, J.
            dt: time since the last update, s.
        """
        if self._start is None:
            return 0.0
        if self._is_measured:
            return -self._work.recovered_energy(d, -potential, dt)
        displacement = self._model.difference(self._start, d.q)
        largest_work = float(
            np.maximum(self._lower * displacement, self._upper * displacement).sum()
        )
        return max(0.0, largest_work - (potential - self._potential))
