# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A progress bar with the time left, for commands that take longer than two seconds."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vms_ph_io.progress import Progress


@contextmanager
def shown_progress(quiet: bool = False) -> "Iterator[Progress]":
    """Yield a callback that draws a progress bar on stderr if that is a terminal.

    Without a share above zero, the bar shows that work goes on, and for how long.

    Args:
        quiet: whether nothing is drawn.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    hidden = quiet or not console.is_terminal
    with Progress(console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=None)

        def report(share: float, doing: str) -> None:
            total = 1.0 if share > 0.0 else None
            bar.update(task, completed=share, total=total, description=doing)

        yield report
