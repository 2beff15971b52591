# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A progress bar for commands that take long, and vms-ph native, which has one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from vms_ph_io.progress import Progress


@contextmanager
def shown_progress(quiet: bool = False) -> "Iterator[Progress]":
    """Yield a callback that draws a progress bar on stderr if that is a terminal.

    Without a fraction above zero, the bar shows that work goes on, and for how long.

    Args:
        quiet: whether nothing is drawn.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    is_hidden = quiet or not console.is_terminal
    with Progress(console=console, transient=True, disable=is_hidden) as bar:
        task = bar.add_task("", total=None)

        def report(fraction: float, task_name: str) -> None:
            total = 1.0 if fraction > 0.0 else None
            bar.update(task, completed=fraction, total=total, description=task_name)

        yield report


def native() -> None:
    """Build the C++ core of this checkout and install it as the module vms_ph_native."""
    from vms_ph_io.build import native_build

    typer.echo("Building the C++ core; the first build takes two to four minutes.")
    native_build.require_compiler()
    native_build.install_packages()
    with shown_progress() as show_progress:

        def on_line(line: str) -> None:
            if step_match := re.match(r"\[(\d+)/(\d+)\]", line):
                show_progress(int(step_match[1]) / int(step_match[2]), "")

        build_folder = native_build.build(targets=native_build.TARGETS, listener=on_line)
    typer.echo(f"vms_ph_native is installed in {native_build.install(build_folder)}")
