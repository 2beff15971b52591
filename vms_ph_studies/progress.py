"""How a study reports how far it has come; it prints nothing itself."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Receives the share of the work that is done, from 0 to 1, and what is computed at present."""


def no_progress(share: float, task: str) -> None:
    """Ignore the report."""


class Stages:
    """The progress of work that consists of several stages of about equal length."""

    def __init__(self, progress: Progress, count: int) -> None:
        """Report the stages, of which there are ``count``, to a callback."""
        self._progress, self._count, self._begun = progress, max(count, 1), 0

    def begin(self, task: str) -> Callable[[float], None]:
        """Begin the next stage; return what receives the share of it that is done."""
        first = self._begun / self._count
        self._begun += 1
        self._progress(min(first, 1.0), task)

        def report(share: float) -> None:
            self._progress(min(first + share / self._count, 1.0), task)

        return report
