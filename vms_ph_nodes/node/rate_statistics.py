# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Frequency of an event, from samples of its count."""

from collections import deque

from ..messages.conversions import NANOSECONDS

# Number of samples in the frequency: two seconds of heartbeats.
_SAMPLES = 8


class RateStatistics:
    """Counts events; computes their frequency and the time since the last one."""

    def __init__(self) -> None:
        self._count = 0
        self._samples: deque[tuple[int, int]] = deque(maxlen=_SAMPLES + 1)
        self._changed = 0

    @property
    def has_begun(self) -> bool:
        """Whether an event has been counted."""
        return self._count > 0

    def tick(self) -> None:
        """Count one event."""
        self._count += 1

    def sample(self, now: int) -> tuple[float, float]:
        """Return the frequency (Hz) over the last samples, and the time since the last event (s).

        Args:
            now: time of a monotonic clock, ns.
        """
        if not self._samples or self._samples[-1][1] != self._count:
            self._changed = now
        self._samples.append((now, self._count))
        begun, counted = self._samples[0]
        passed = (now - begun) / NANOSECONDS
        frequency = (self._count - counted) / passed if passed > 0.0 else 0.0
        return frequency, (now - self._changed) / NANOSECONDS
