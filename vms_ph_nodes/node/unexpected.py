# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Errors that no code expected, in any thread of a process: contained, counted, logged and told."""

import threading
import time
import traceback
from pathlib import Path

from rclpy.logging import get_logger

# Shortest time between two lines in the log, s, and longest text of an error.
_PERIOD, _LENGTH = 1.0, 300


class UnexpectedErrors:
    """The errors of this process, which heartbeats publish.

    Attributes:
        count: how many there were.
        last: a sentence about the last one.
        ended: names of threads that have ended by one.
    """

    def __init__(self) -> None:
        self.count, self.last = 0, ""
        self.ended: list[str] = []
        self._logged_at = -_PERIOD

    def note(self, error: BaseException, where: str) -> None:
        """Count an error and log it, at most once a second."""
        self.count += 1
        places = traceback.extract_tb(error.__traceback__)[-1:]
        place = "".join(f" ({Path(p.filename).name}, line {p.lineno})" for p in places)
        self.last = f"{where}: {type(error).__name__}: {error!s:.{_LENGTH}}{place}"
        if time.monotonic() - self._logged_at >= _PERIOD:
            self._logged_at = time.monotonic()
            get_logger("vms_ph").error(f"unexpected error in {self.last}")

    def watch_threads(self) -> None:
        """Note every thread of this process that ends by an error."""
        threading.excepthook = self._on_end

    def _on_end(self, end: threading.ExceptHookArgs) -> None:
        name = end.thread.name if end.thread else "of another library"
        if end.exc_value is not None:
            self.ended.append(name)
            self.note(end.exc_value, f"the thread {name}, which has ended")


UNEXPECTED = UnexpectedErrors()
