"""How a study reports its progress; it prints nothing itself."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Receives the share of the work that is done, from 0 to 1, and what is computed at present."""


def no_progress(share: float, task: str) -> None:
    """Ignore the report."""


class Stages:
    """The progress of work that consists of several stages."""

    def __init__(self, progress: Progress, length: int) -> None:
        """Report stages of this total length, in any unit of work, to a callback."""
        self._progress, self._length, self._begun = progress, max(length, 1), 0

    def begin(self, task: str, length: int = 1) -> Callable[[float], None]:
        """Begin a stage of a length; return what receives the share of it that is done."""
        begun = self._begun
        self._begun += length

        def report(share: float) -> None:
            self._progress(min((begun + share * length) / self._length, 1.0), task)

        report(0.0)

        return report
