# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph reproduce: recomputes results of the sources and compares them."""

import json
from dataclasses import asdict
from math import floor, isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from vms_ph_dynamics import VmsPhError
from vms_ph_io.installation import command_name
from vms_ph_nodes.cli.progress import shown_progress

from ..study import make_folder

if TYPE_CHECKING:
    from .. import Outcome, Progress, Settings, Study

_COLOURS = {"agrees": "green", "differs": "red", "refuted": "yellow"}


app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def reproduce(
    study: str = typer.Argument("", help="id of the study; see --list"),
    list_: bool = typer.Option(
        False, "--list", help="list all studies, or the parameters of the given one"
    ),
    set_: list[str] = typer.Option(
        [],
        "--set",
        metavar="NAME=VALUE",
        help="value of a parameter of the study; may be given several times",
    ),
    out: Optional[Path] = typer.Option(
        None, help="folder for plots and tables; created if missing"
    ),
    as_json: bool = typer.Option(False, "--json", help="print one JSON document and nothing else"),
    strict: bool = typer.Option(False, help="exit with code 1 if a check differs"),
) -> None:
    """Recompute a result of a source and print it beside its reference.

    The origin of a reference is published (the source prints it), independent (a separate
    computation), bound (a limit of this project) or baseline (an established method). A check
    [green]agrees[/green] within its tolerance, or it [red]differs[/red]; [yellow]refuted[/yellow]
    means that the published statement is wrong, and the reason is given.
    """
    from .. import get, studies

    if list_:
        _list_studies([get(study)] if study else list(studies().values()), as_json, bool(study))
        return
    if not study:
        raise VmsPhError(f"no study is given; `{command_name()} reproduce --list` lists their ids")
    chosen_study = get(study)
    settings = chosen_study.settings(_assignments(set_))
    if out is not None:
        make_folder(out)
    with shown_progress(quiet=as_json) as progress:
        outcome = _run(chosen_study, settings, out, set_, progress)
    if as_json:
        document = {
            "id": chosen_study.id,
            "source": chosen_study.source,
            "parameters": settings,
            "checks": [check.document() for check in outcome.checks],
            "files": [str(file) for file in outcome.files],
        }
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        _print_outcome(chosen_study, outcome)
    if strict and any(check.verdict == "differs" for check in outcome.checks):
        raise typer.Exit(1)


def _run(
    study: "Study",
    settings: "Settings",
    out: Path | None,
    assignments: list[str],
    progress: "Progress",
) -> "Outcome":
    try:
        return study.run(settings, out, progress)
    except (ArithmeticError, LookupError, ValueError) as error:
        if not assignments or isinstance(error, VmsPhError):
            raise
        # Every value is accepted on its own, but their combination is not a valid experiment.
        raise VmsPhError(
            f"{study.id} cannot be computed with {', '.join(assignments)}: {error}"
        ) from error


def _assignments(texts: list[str]) -> dict[str, str]:
    assignments = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name or not value:
            raise VmsPhError(f"--set {text}: expected NAME=VALUE")
        assignments[name] = value
    return assignments


def _list_studies(studies: "list[Study]", as_json: bool, with_parameters: bool) -> None:
    if as_json:
        documents = [
            {
                "id": study.id,
                "source": study.source,
                "title": study.title,
                "parameters": {name: asdict(p) for name, p in study.parameters.items()},
            }
            for study in studies
        ]
        typer.echo(json.dumps(documents, indent=2, ensure_ascii=False))
        return
    for study in studies:
        typer.secho(study.id, bold=True)
        typer.echo(f"  {study.title} ({study.source})")
        if not with_parameters:
            continue
        for name, parameter in study.parameters.items():
            choices = f" [{', '.join(parameter.choices) or parameter.range}]".replace(" []", "")
            typer.echo(f"    --set {name}={parameter.default:<12} {parameter.help}{choices}")
    if not with_parameters:
        typer.echo(f"parameters: {command_name()} reproduce ID --list")


def _print_outcome(study: "Study", outcome: "Outcome") -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=study.title, box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("check")
    table.add_column("reference", justify="right")
    table.add_column("origin")
    table.add_column("obtained", justify="right")
    table.add_column("verdict")
    for check in outcome.checks:
        tolerance = "" if check.tolerance is None else f" ± {check.tolerance:.2g}"
        colour = _COLOURS[check.verdict]
        table.add_row(
            check.name,
            _number_text(check.reference, check.tolerance) + tolerance,
            check.origin,
            f"{_number_text(check.obtained, check.tolerance)} {check.unit}".rstrip(),
            f"[{colour}]{check.verdict}[/{colour}]",
        )
    console = Console()
    console.print(table)
    for check in outcome.checks:
        if check.why:
            console.print(f"[bold]{check.name}[/bold]: {escape(check.why)}", highlight=False)
    for note in outcome.notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)
    for file in outcome.files:
        console.print(f"written: {file}", highlight=False, markup=False, soft_wrap=True)


def _number_text(value: float | str, tolerance: float | None) -> str:
    """Return a value with four digits, or with as many digits as its tolerance resolves."""
    if isinstance(value, str):
        return value
    digits = 4
    if tolerance and value and isfinite(value):
        digits = max(digits, floor(log10(abs(value))) - floor(log10(tolerance)) + 1)
    return f"{value:.{min(digits, 9)}g}"
