# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph ephs ledger: where each joule of a robot's motion went."""

import json
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ..ledger import Ledger, Line


def ledger(
    robot: str = typer.Argument("hextilt", help="a bundled robot"),
    seconds: float = typer.Option(60.0, min=1e-3, help="simulated time, s"),
    step: float = typer.Option(1e-3, min=1e-5, max=0.01, help="control and integrator step, s"),
    drives: str = typer.Option(
        "", help="YAML file of battery, motors and heat; config/drives/robots.yaml if empty"
    ),
    friction: bool = typer.Option(False, help="let the friction of the joints act"),
    as_json: bool = typer.Option(False, "--json", help="print one JSON document and nothing else"),
) -> None:
    """Move a robot and print where each joule went, from the battery to heat.

    A flying robot visits five places within a minute, twelve seconds each, while its joints turn.
    The exergy given equals the exergy stored plus the exergy destroyed, both itemised; what is
    unaccounted for is the numerical error.
    """
    from vms_ph_nodes.cli.progress import shown_progress

    from ..ledger import exergy_ledger

    with shown_progress(quiet=as_json) as progress:
        balance = exergy_ledger(
            robot, seconds=seconds, step=step, drives=drives, friction=friction, progress=progress
        )
    if as_json:
        typer.echo(json.dumps(_document(balance), indent=2))
    else:
        _print_ledger(balance)


def _document(balance: "Ledger") -> dict[str, object]:
    def energies(lines: "tuple[Line, ...]") -> dict[str, float]:
        return {line.name: line.energy for line in lines}

    return {
        "robot": balance.robot,
        "seconds": balance.seconds,
        "given": energies(balance.supplied),
        "stored": energies(balance.stored),
        "destroyed": energies(balance.destroyed),
        "destroyed_by_part": dict(balance.map.destroyed),
        "unaccounted": balance.residual,
        "least_destruction": balance.least_destruction,
        "temperatures": dict(balance.map.temperatures),
        "voltage": balance.map.voltage,
        "state_of_charge": balance.map.level,
    }


def _print_ledger(balance: "Ledger") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    supplied_exergy = sum(line.energy for line in balance.supplied)
    table = Table(
        title=f"{balance.robot}, {balance.seconds:g} s: exergy from the battery to heat",
        box=box.SIMPLE_HEAD,
        title_justify="left",
    )
    table.add_column("")
    table.add_column("J", justify="right")
    table.add_column("share", justify="right")
    for title, lines in (
        ("given", balance.supplied),
        ("stored", balance.stored),
        ("destroyed by", balance.destroyed),
    ):
        total_energy = sum(line.energy for line in lines)
        share = _format_percentage(total_energy, supplied_exergy)
        table.add_row(f"[bold]{title}[/bold]", f"[bold]{total_energy:.4f}[/bold]", share)
        for line in lines:
            if line.energy:
                share = _format_percentage(line.energy, supplied_exergy)
                table.add_row(f"  {line.cause}", f"{line.energy:.4f}", share)
    table.add_row("[bold]unaccounted[/bold]", f"[bold]{balance.residual:.1e}[/bold]", "")
    console = Console()
    console.print(table)
    warmest_part, temperature = balance.warmest
    console.print(
        f"battery {100 * balance.map.level:.1f} % at {balance.map.voltage:.2f} V; warmest: "
        f"{warmest_part}, {temperature - 273.15:.1f} °C; smallest exergy destruction of a "
        f"sampling interval: {balance.least_destruction:.1e} J",
        highlight=False,
        soft_wrap=True,
    )


def _format_percentage(energy: float, total_energy: float) -> str:
    return f"{100.0 * energy / total_energy:.2f} %" if total_energy > 0.0 else ""
