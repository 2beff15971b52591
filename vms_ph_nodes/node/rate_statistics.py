"""How often something happens, from a count that is looked at now and then."""

from collections import deque

from ..messages.conversions import NANOSECONDS

# Looks that the frequency is taken over: two seconds of heartbeats.
_LOOKS = 8


class RateStatistics:
    """Counts what happens; tells its frequency and how long nothing has happened."""

    def __init__(self) -> None:
        self._count = 0
        self._looks: deque[tuple[int, int]] = deque(maxlen=_LOOKS + 1)
        self._moved = 0

    @property
    def has_begun(self) -> bool:
        """Whether it has happened at all."""
        return self._count > 0

    def tick(self) -> None:
        """Count one."""
        self._count += 1

    def look(self, now: int) -> tuple[float, float]:
        """Return frequency (Hz) over the last looks, and for how long (s) nothing has happened.

        Args:
            now: any clock that does not go back, ns.
        """
        if not self._looks or self._looks[-1][1] != self._count:
            self._moved = now
        self._looks.append((now, self._count))
        begun, counted = self._looks[0]
        passed = (now - begun) / NANOSECONDS
        frequency = (self._count - counted) / passed if passed > 0.0 else 0.0
        return frequency, (now - self._moved) / NANOSECONDS
