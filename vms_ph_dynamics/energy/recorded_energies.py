# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Port energies that a recording contains, as a simulation has integrated them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array

RESETS = "resets"
"""Key of the number of resets among the recorded port energies."""

DISSIPATED = "dissipated"
"""Key of the energy dissipated by friction."""


@dataclass
class RecordedEnergies:
    """Compares the total energy with recorded port energies, since the first of them.

    After a reset of the simulation the balance goes on from the next sample.

    Attributes:
        energies: at the end, since the start, by port name, and :data:`DISSIPATED`; J.
        stored: change of the total energy over the same time, J.
    """

    energies: dict[str, float] = field(default_factory=dict)
    stored: float = 0.0
    _start: tuple[float, dict[str, float], float] | None = None  # energy, ports, resets
    _before: tuple[float, dict[str, float]] = (0.0, {})
    _shown: float = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether no sample had port energies."""
        return self._start is None

    def unaccounted(self, recorded: Mapping[str, Array], total: Array) -> Array:
        """Return the unaccounted energy at each sample, (N,), J; the last one where none is known.

        Args:
            recorded: port energies, dissipated energy and number of resets, each (N,); NaN where
                the recording has none.
            total: (N,) total energy of the robot, J.
        """
        names = [name for name in recorded if name != RESETS]
        rows = np.isfinite(np.array([recorded[name] for name in names])).all(0)
        shown = np.empty(len(total))
        for k in range(len(total)):
            if rows[k]:
                now = {name: float(recorded[name][k]) for name in names}
                self._shown = self._next(now, float(recorded[RESETS][k]), float(total[k]))
            shown[k] = self._shown
        return shown

    def _next(self, now: dict[str, float], resets: float, total: float) -> float:
        if self._start is None or self._start[2] != resets:
            self._before = (self.stored, dict(self.energies))
            self._start = (total, now, resets)
        energy, start, _ = self._start
        stored, past = self._before
        self.stored = stored + total - energy
        self.energies = {name: past.get(name, 0.0) + now[name] - start[name] for name in now}
        lost = self.energies[DISSIPATED]
        return self.stored - (sum(self.energies.values()) - lost) + lost
