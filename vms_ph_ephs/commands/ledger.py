# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph ephs ledger: where each joule of a robot's motion went."""

import json
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ..ledger import Ledger, Line


def ledger(
    robot: str = typer.Argument("hextilt", help="a bundled robot that is in no fluid"),
    seconds: float = typer.Option(60.0, min=1e-3, help="simulated time, s"),
    step: float = typer.Option(1e-3, min=1e-5, max=0.01, help="control and integrator step, s"),
    drives: str = typer.Option(
        "", help="YAML file of battery, motors and heat; config/drives/robots.yaml"
    ),
    friction: bool = typer.Option(False, help="let the friction of the joints act"),
    as_json: bool = typer.Option(False, "--json", help="print one JSON document and nothing else"),
) -> None:
    """Move a robot and print where each joule went, from the battery to heat.

    A flying robot visits five places within a minute, twelve seconds each, while its joints turn.
    The exergy given is what is stored and what has been destroyed, each by its name; what is
    unaccounted for is the numerical error.
    """
    from vms_ph_nodes.cli.progress import shown_progress

    from ..ledger import exergy_ledger

    with shown_progress(quiet=as_json) as progress:
        account = exergy_ledger(
            robot, seconds=seconds, step=step, drives=drives, friction=friction, progress=progress
        )
    if as_json:
        typer.echo(json.dumps(_document(account), indent=2))
    else:
        _print_ledger(account)


def _document(account: "Ledger") -> dict[str, object]:
    def energies(lines: "tuple[Line, ...]") -> dict[str, float]:
        return {line.name: line.energy for line in lines}

    return {
        "robot": account.robot,
        "seconds": account.seconds,
        "given": energies(account.supplied),
        "stored": energies(account.stored),
        "destroyed": energies(account.destroyed),
        "destroyed_by_part": dict(account.map.destroyed),
        "unaccounted": account.residual,
        "least_destruction": account.least_destruction,
        "temperatures": dict(account.map.temperatures),
        "voltage": account.map.voltage,
        "level": account.map.level,
    }


def _print_ledger(account: "Ledger") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    supplied_exergy = sum(line.energy for line in account.supplied)
    table = Table(
        title=f"{account.robot}, {account.seconds:g} s: exergy from the battery to heat",
        box=box.SIMPLE_HEAD,
        title_justify="left",
    )
    table.add_column("")
    table.add_column("J", justify="right")
    table.add_column("share", justify="right")
    for title, lines in (
        ("given", account.supplied),
        ("stored", account.stored),
        ("destroyed by", account.destroyed),
    ):
        joules = sum(line.energy for line in lines)
        table.add_row(
            f"[bold]{title}[/bold]", f"[bold]{joules:.4f}[/bold]", _share(joules, supplied_exergy)
        )
        for line in lines:
            if line.energy:
                table.add_row(
                    f"  {line.cause}", f"{line.energy:.4f}", _share(line.energy, supplied_exergy)
                )
    table.add_row("[bold]unaccounted[/bold]", f"[bold]{account.residual:.1e}[/bold]", "")
    console = Console()
    console.print(table)
    name, hottest = account.warmest
    console.print(
        f"battery {100 * account.map.level:.1f} % at {account.map.voltage:.2f} V; warmest: {name}, "
        f"{hottest - 273.15:.1f} °C; least destruction between samples "
        f"{account.least_destruction:.1e} J",
        highlight=False,
        soft_wrap=True,
    )


def _share(part: float, total: float) -> str:
    return f"{100.0 * part / total:.2f} %" if total > 0.0 else ""
