# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The work that a decision of an energy guard has not seen."""


class UnseenWork:
    """Energy given over the ``delay + 1`` samples from a decision to the sight of its outcome."""

    def __init__(self, delay: int) -> None:
        self._given = 0.0
        self._starts = [0.0] * (delay + 1)  # energy given at the start of each of them, J
        self._next = 0

    def add(self, work: float) -> float:
        """Count the work of a sample, J; return the largest of the last up to its end, J."""
        self._starts[self._next] = self._given
        self._next = (self._next + 1) % len(self._starts)
        self._given += work
        return max(0.0, self._given - min(self._starts))
