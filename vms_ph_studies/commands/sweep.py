# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph sweep: parameter and Monte Carlo studies of a study file."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from vms_ph_dynamics import VmsPhError
from vms_ph_io.installation import command_name
from vms_ph_nodes.cli.progress import shown_progress

if TYPE_CHECKING:
    from ..sweeps import Sweep, SweepProgress, SweepStudy, SweepSummary
    from ..sweeps.progress import OnProgress

_LINE_INTERVAL = 10.0  # s, where there is no terminal


app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def sweep(
    study: str = typer.Argument("", help="path of a study file; see docs/sweeps.md"),
    list_: bool = typer.Option(False, "--list", help="list the targets of this project"),
    out: Optional[Path] = typer.Option(
        None, help="folder of journal, table and report; default: vms_ph_runs/sweeps/<study>"
    ),
    workers: int = typer.Option(0, min=0, help="processes; 0: one per core"),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="check the study and print its first points"
    ),
    report: bool = typer.Option(
        False, "--report", help="compute nothing; write table and report of what is there"
    ),
    retry_failed: bool = typer.Option(False, help="compute failed points again"),
    restart: bool = typer.Option(False, help="set earlier results aside and begin anew"),
    keep: bool = typer.Option(False, help="keep earlier results although the code has changed"),
    as_json: bool = typer.Option(False, "--json", help="print one JSON document and nothing else"),
    strict: bool = typer.Option(False, help="exit with code 1 if a point failed or is missing"),
) -> None:
    """Evaluate a function at the points of a study, on all cores of this machine.

    The same command continues after Ctrl-C or a kill. The results are a Parquet table and an HTML
    report; a point that fails is recorded there with its error.
    """
    from ..sweeps import Sweep, read_study, target_names

    if list_:
        for name, title in target_names().items():
            typer.echo(f"{name:14s}{title}")
        typer.echo(f"{'reproduce ID':14s}a study of {command_name()} reproduce --list")
        return
    if not study:
        raise VmsPhError(
            "no study file is given; examples/sweeps has some, docs/sweeps.md explains"
        )
    sweep_study = read_study(study)
    if dry_run:
        _print_points(sweep_study)
        return
    folder = out or Path("vms_ph_runs") / "sweeps" / sweep_study.name
    with Sweep(sweep_study, folder, restart=restart, keep=keep) as open_sweep:
        if not report:
            _run(open_sweep, workers, retry_failed, as_json)
        summary = open_sweep.write()
    if as_json:
        typer.echo(json.dumps(summary.document(), indent=2))
    else:
        _print_summary(summary, study, out)
    if strict and (summary.failed or summary.missing):
        raise typer.Exit(1)


def _run(open_sweep: "Sweep", workers: int, retry_failed: bool, quiet: bool) -> None:
    new_count = len(open_sweep.study.points) - len(open_sweep.remaining(retry_failed))
    if new_count and not quiet:
        typer.echo(
            f"continuing: {new_count} of {len(open_sweep.study.points)} points are there", err=True
        )
    try:
        with _progress_display(quiet) as progress:
            open_sweep.run(workers, progress, retry_failed)
    except (KeyboardInterrupt, VmsPhError):
        summary = open_sweep.summary()
        typer.echo(
            f"interrupted: {summary.done + summary.failed} of {summary.total} points are kept in "
            f"{open_sweep.folder}; the same command continues",
            err=True,
        )
        raise


@contextmanager
def _progress_display(quiet: bool) -> "Iterator[OnProgress]":
    """Yield a callback that draws a bar on a terminal, and else prints a line at times."""
    initial_count: int | None = None
    last_line_time = time.monotonic()
    has_lines = not quiet and not sys.stderr.isatty()
    with shown_progress(quiet) as draw:
        draw(0.0, "starting the workers")

        def report(state: "SweepProgress") -> None:
            nonlocal initial_count, last_line_time
            initial_count = state.done if initial_count is None else initial_count
            remaining_count = max(state.total - initial_count, 1)
            draw((state.done - initial_count) / remaining_count, _progress_text(state))
            if has_lines and time.monotonic() - last_line_time > _LINE_INTERVAL:
                last_line_time = time.monotonic()
                typer.echo(_progress_text(state), err=True)

        yield report


def _progress_text(p: "SweepProgress") -> str:
    return f"{p.done} of {p.total} points" + (f", {p.failed} failed" if p.failed else "")


def _print_points(study: "SweepStudy") -> None:
    from itertools import islice

    typer.echo(f"{study.name}: {len(study.points)} points of {study.target.name}")
    for point in islice(study.points, 5):
        values = ", ".join(f"{name}={value}" for name, value in point.parameters.items())
        typer.echo(f"  {point.id}  {values}")
    if len(study.points) > 5:
        typer.echo("  ...")


def _print_summary(summary: "SweepSummary", study: str, out: Path | None) -> None:
    typer.echo(f"{summary.done} of {summary.total} points computed, {summary.failed} failed")
    command = f"{command_name()} sweep {study}" + (f" --out {out}" if out else "")
    if summary.missing:
        typer.echo(f"{summary.missing} points are missing; {command} computes them")
    if summary.failed:
        typer.echo(f"{command} --retry-failed computes the failed points again")
    if summary.foreign:
        typer.echo(f"{summary.foreign} earlier results are not of this study and are not shown")
    for file in summary.files:
        typer.echo(f"written: {file}")
