# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A progress bar with the time that is left, on the terminal."""

from types import TracebackType
from typing import Any


class ProgressBar:
    """Shows how far a command is; nothing where there is no terminal.

    Args:
        shown: whether there is a terminal.
    """

    def __init__(self, shown: bool) -> None:
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}
        if shown:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description:>10}"),
                BarColumn(),
                TextColumn("{task.percentage:3.0f} %"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )

    def show(self, share: float, what: str) -> None:
        """Show the share that is done, from 0 to 1."""
        if self._bar is None:
            return
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=1.0)
        self._bar.update(self._tasks[what], completed=share)

    def __enter__(self) -> "ProgressBar":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
