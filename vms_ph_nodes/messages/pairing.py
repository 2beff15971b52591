# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Pairing of messages of different topics by their stamp."""

from collections import deque
from collections.abc import Callable
from typing import Any

# Largest number of leaders that wait for companions.
_PATIENCE = 50

# Largest number of companions that are kept without a leader.
_KEPT = 100


class StampPairing:
    """Collects leading messages and their companions of the same stamp.

    ``complete`` is called once all companions of a leader are received, or when a companion with a
    later stamp shows that one was lost: messages of a topic arrive in the order of their stamps,
    but one topic may lag behind another when this process is busy. The order of leaders is kept.
    """

    def __init__(self, companions: tuple[str, ...], complete: Callable[..., None]) -> None:
        self._complete = complete
        self._leaders: deque[tuple[int, Any]] = deque()
        self._waiting: dict[str, dict[int, Any]] = {name: {} for name in companions}
        self._latest = dict.fromkeys(companions, -1)
        self._expected: set[str] = set()

    def expect(self, names: set[str]) -> None:
        """Set the companions to wait for: those that have a publisher."""
        self._expected = names & self._waiting.keys()
        self._release()

    def lead(self, stamp: int, message: Any) -> None:
        """Add a leading message."""
        self._leaders.append((stamp, message))
        self._release()

    def accompany(self, name: str, stamp: int, message: Any) -> None:
        """Add a companion; once one is received, later leaders wait for that topic."""
        waiting = self._waiting[name]
        waiting[stamp] = message
        self._latest[name] = stamp
        self._expected.add(name)
        if len(waiting) > _KEPT:
            del waiting[min(waiting)]
        self._release()

    def _release(self) -> None:
        while self._leaders and (self._is_ready() or len(self._leaders) > _PATIENCE):
            stamp, message = self._leaders.popleft()
            found = {name: waiting.get(stamp) for name, waiting in self._waiting.items()}
            for waiting in self._waiting.values():
                for old in [s for s in waiting if s <= stamp]:
                    del waiting[old]
            self._complete(message, **found)

    def _is_ready(self) -> bool:
        stamp = self._leaders[0][0]
        return all(
            stamp in self._waiting[name] or self._latest[name] > stamp for name in self._expected
        )
