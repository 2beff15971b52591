# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Progress of long computations through a callback, for commands that draw a bar."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""A callback of the share of completed work, from 0 to 1, and the current task."""


def no_progress(share: float, task: str) -> None:
    """Ignore the report."""


class Stages:
    """The progress of work that consists of several stages."""

    def __init__(self, progress: Progress, length: int) -> None:
        """Report stages of this total length, in any unit of work, to a callback."""
        self._progress, self._length, self._position = progress, max(length, 1), 0

    def begin(self, task: str, length: int = 1) -> Callable[[float], None]:
        """Begin a stage of a length; return the callback for its completed share."""
        start = self._position
        self._position += length

        def report(share: float) -> None:
            self._progress(min((start + share * length) / self._length, 1.0), task)

        report(0.0)

        return report
