"""vms-ph native: builds the C++ core for this environment."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from vms_ph_io.native_build import Listener


def native() -> None:
    """Build the C++ core of this checkout and install it as the module vms_ph_native."""
    from vms_ph_io import native_background, native_build

    typer.echo("Building the C++ core; the first build takes one or two minutes.")
    native_background.stop()
    with _shown_steps() as listener:
        built = native_build.build(targets=native_background.TARGETS, listener=listener)
    folder = native_build.install(built)
    native_background.record_built(os.environ.get("VMS_PH_NATIVE_SOURCES", ""))
    typer.echo(f"vms_ph_native is installed in {folder}")


@contextmanager
def _shown_steps() -> "Iterator[Listener]":
    """Yield a listener that draws the steps of the build on stderr if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None)

        def listen(line: str) -> None:
            if step := re.match(r"\[(\d+)/(\d+)\]", line):
                bar.update(task, completed=int(step[1]), total=int(step[2]))

        yield listen
