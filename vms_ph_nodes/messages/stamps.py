# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Messages by their stamps and arrival: pairs of two topics, and those that are new or recent."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .conversions import NS_PER_SEC

T = TypeVar("T")


class LatestMessage(Generic[T]):
    """The last value of a topic, which holds until its timeout.

    Attributes:
        last_value: the last value, also after its timeout; None before the first.
    """

    def __init__(self, timeout: float) -> None:
        """Begin without a value; ``timeout`` is the time for which one holds, s."""
        self._timeout = round(timeout * NS_PER_SEC)
        self.clear()

    def clear(self) -> None:
        """Discard the value."""
        self.last_value: T | None = None
        self._arrival_time = 0

    def update(self, value: T) -> None:
        """Set a new value."""
        self.last_value, self._arrival_time = value, time.monotonic_ns()

    @property
    def value(self) -> T | None:
        """The last value; None after its timeout."""
        is_recent = time.monotonic_ns() - self._arrival_time <= self._timeout
        return self.last_value if is_recent else None


# Largest number of primary messages that wait for companions.
_MAX_PRIMARIES = 50

# Largest number of companions of one topic that are kept without a primary message.
_MAX_COMPANIONS = 100


class StampPairing:
    """Collects primary messages and their companions of the same stamp.

    ``on_match`` is called once all companions of a primary message are received, or when a
    companion with a later stamp shows that one was lost: messages of a topic arrive in the order of
    their stamps, but one topic may lag behind another when this process is busy. Primary messages
    keep their order. Of the companion ``nearest`` that with the nearest stamp is taken.
    """

    def __init__(
        self, companions: tuple[str, ...], on_match: Callable[..., None], nearest: str = ""
    ) -> None:
        self._on_match, self._nearest_companion = on_match, nearest
        self._primaries: deque[tuple[int, Any]] = deque()
        self._companions: dict[str, dict[int, Any]] = {name: {} for name in companions}
        self._latest = dict.fromkeys(companions, -1)
        self._required: set[str] = set()

    def require(self, names: set[str]) -> None:
        """Set the companions to wait for: those that have a publisher."""
        self._required = names & self._companions.keys()
        self._release_matches()

    def add_primary(self, stamp: int, message: Any) -> None:
        """Add a primary message."""
        self._primaries.append((stamp, message))
        self._release_matches()

    def add_companion(self, name: str, stamp: int, message: Any) -> None:
        """Add a companion; once one is received, later primary messages wait for that topic."""
        messages_by_stamp = self._companions[name]
        if stamp < self._latest[name]:  # a reset, or a recording that begins again
            messages_by_stamp.clear()
        messages_by_stamp[stamp], self._latest[name] = message, stamp
        self._required.add(name)
        if len(messages_by_stamp) > _MAX_COMPANIONS:
            del messages_by_stamp[min(messages_by_stamp)]
        self._release_matches()

    def _release_matches(self) -> None:
        while self._primaries and (self._is_ready() or len(self._primaries) > _MAX_PRIMARIES):
            stamp, message = self._primaries.popleft()
            matches = {name: messages.get(stamp) for name, messages in self._companions.items()}
            for name, messages in self._companions.items():
                expired_stamps = sorted(s for s in messages if s <= stamp)
                if name == self._nearest_companion and messages:
                    matches[name] = messages[min(messages, key=lambda s: abs(s - stamp))]
                    del expired_stamps[-1:]  # which may be the nearest of the next one too
                for stale_stamp in expired_stamps:
                    del messages[stale_stamp]
            self._on_match(message, **matches)

    def _is_ready(self) -> bool:
        stamp = self._primaries[0][0]
        return all(
            stamp in self._companions[name] or self._latest[name] > stamp for name in self._required
        )


# Refused messages in succession that agree among themselves, after which they are believed.
_CONSISTENT_MESSAGES = 5


class StampGate:
    """Refuses messages whose stamps repeat, go back, are old or jump against the clock.

    A stream that was paused, or whose clock was set, is accepted again after five messages that
    agree among themselves; one that is old by the clock, as a recording that is played, never is.
    Where the clock of the node itself went back, as that of a simulation that begins anew, so may
    the stamps.
    """

    def __init__(self, max_age: float) -> None:
        """Accept differences between stamps and clock up to ``max_age`` (s); 0: any."""
        self._max_age = round(max_age * NS_PER_SEC)
        self._last: tuple[int, int] | None = None  # stamp and arrival of the last accepted message
        self._refused_pair: tuple[int, int] | None = None  # likewise, of the last refused one
        self._consistent_count = 0

    def check(self, stamp: int, now: int) -> str:
        """Judge a message; return why it is refused, or an empty string.

        Args:
            stamp: of the message, ns.
            now: time of the node's clock, ns.
        """
        if problem := self._problem(stamp, now):
            self._consistent_count = (
                self._consistent_count + 1 if self._is_alike(self._refused_pair, stamp, now) else 1
            )
            self._refused_pair = (stamp, now)
            if self._consistent_count < _CONSISTENT_MESSAGES or not self._is_credible(stamp, now):
                return problem
        self._last, self._refused_pair, self._consistent_count = (stamp, now), None, 0
        return ""

    def _problem(self, stamp: int, now: int) -> str:
        last_stamp, last_arrival = self._last or (stamp + 1, 0)
        # The first one; or the clock was set back, or had not begun, which reads as zero.
        if stamp < last_stamp and (now < last_arrival or not last_arrival):
            offset = abs(now - stamp)
            return f"is {_age_text(now - stamp)} the clock" if 0 < self._max_age < offset else ""
        if stamp == last_stamp:
            return "repeats the last stamp"
        if stamp < last_stamp:
            return f"is {_age_text(last_stamp - stamp)} the last one"
        if self._is_alike(self._last, stamp, now):
            return ""
        jump = (now - last_arrival) - (stamp - last_stamp)
        return f"is {_age_text(jump)} the one before and the clock let expect"

    def _is_alike(self, previous: tuple[int, int] | None, stamp: int, now: int) -> bool:
        """Return whether stamp and clock have advanced alike since another message."""
        if previous is None or stamp <= previous[0]:
            return False
        return not self._max_age or abs(now - previous[1] - stamp + previous[0]) <= self._max_age

    def _is_credible(self, stamp: int, now: int) -> bool:
        """Return whether a stream may be believed: it is not old, or was silent for as long."""
        if self._max_age == 0 or now - stamp <= self._max_age:
            return True
        if self._last is None:
            return False
        last_stamp, last_arrival = self._last
        return 0 < stamp - last_stamp <= now - last_arrival


def _age_text(age: int) -> str:
    return f"{abs(age) / NS_PER_SEC:.3g} s {'older' if age > 0 else 'newer'} than"
