"""Messages that belong together by their stamp, though they come over different topics."""

from collections.abc import Callable
from typing import Any


class StampPairing:
    """Collects a leading message and its companions of the same stamp.

    ``complete`` is called once a leader's companions are all there, or when the next leader shows
    that they will not come any more (a lost message, or a topic nobody publishes). Leaders are
    handed on in the order they came.
    """

    def __init__(self, companions: tuple[str, ...], complete: Callable[..., None]) -> None:
        self._companions = companions
        self._complete = complete
        self._leader: tuple[int, Any] | None = None
        self._waiting: dict[str, dict[int, Any]] = {name: {} for name in companions}
        self._expected: set[str] = set()

    def expect(self, names: set[str]) -> None:
        """Say which companions have a publisher and are worth waiting for."""
        self._expected = names & set(self._companions)

    def lead(self, stamp: int, message: Any) -> None:
        """Take a leading message."""
        self._release()
        self._leader = (stamp, message)
        self._try()

    def accompany(self, name: str, stamp: int, message: Any) -> None:
        """Take a companion."""
        waiting = self._waiting[name]
        waiting[stamp] = message
        if len(waiting) > 100:
            del waiting[min(waiting)]
        self._try()

    def _try(self) -> None:
        if self._leader is None:
            return
        stamp = self._leader[0]
        if all(stamp in self._waiting[name] for name in self._expected):
            self._release()

    def _release(self) -> None:
        if self._leader is None:
            return
        (stamp, message), self._leader = self._leader, None
        found = {name: waiting.get(stamp) for name, waiting in self._waiting.items()}
        for waiting in self._waiting.values():
            for old in [s for s in waiting if s <= stamp]:
                del waiting[old]
        self._complete(message, **found)
