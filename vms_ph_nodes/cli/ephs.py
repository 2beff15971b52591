"""vms-ph ephs: lists and draws patterns of exergetic port-Hamiltonian systems."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vms_ph_dynamics.errors import VmsPhError

if TYPE_CHECKING:
    from vms_ph_dynamics.arrays import Array
    from vms_ph_dynamics.ephs import Equations, System
    from vms_ph_studies.ephs import Ledger, Line

app = typer.Typer(
    help="Draw exergetic port-Hamiltonian systems as patterns, and account for their exergy.",
    no_args_is_help=True,
)

_MODEL = typer.Argument(
    help="an example of `vms-ph ephs list`, a bundled robot, or a URDF, xacro or MJCF file"
)
_STEP = 1e-3
_FRAMES = 60


@app.command("list")
def list_() -> None:
    """List the examples."""
    from vms_ph_dynamics.ephs.examples import EXAMPLES

    for name, make in EXAMPLES.items():
        boxes = len(make().pattern.boxes)
        typer.echo(f"{name:<20} {boxes} boxes")


@app.command()
def draw(
    model: str = _MODEL,
    flat: bool = typer.Option(
        False, help="draw one flat pattern of all components instead of nested ones"
    ),
    powers: float = typer.Option(
        0.0, min=0.0, help="duration of the motion whose power colours the wires, s"
    ),
    output: Path = typer.Option(Path("pattern.svg"), "--output", "-o", help="SVG file to write"),
) -> None:
    """Draw the pattern of a system as SVG.

    Inner boxes are round, and filled if they contain patterns; dots are junctions; dashed lines
    are state ports. With --powers the SVG is animated: red is power into a box, blue out of it.
    """
    from vms_ph_dynamics.ephs.pictures import draw as picture
    from vms_ph_dynamics.ephs.pictures import draw_powers

    system = _system(model)
    if powers:
        text = draw_powers(system, _powers(system, model, powers), powers, model)
    else:
        text = picture(system, flat=flat, title=model)
    try:
        output.write_text(text)
    except OSError as error:
        raise VmsPhError(f"cannot write {output}: {error.strerror}") from None
    typer.echo(f"written: {output}")


@app.command()
def ledger(
    robot: str = typer.Argument("hextilt", help="a bundled robot that moves outside of fluids"),
    seconds: float = typer.Option(60.0, min=1e-3, help="simulated time, s"),
    step: float = typer.Option(1e-3, min=1e-5, max=0.01, help="control and integrator step, s"),
    drives: str = typer.Option("", help="YAML file of battery, motors and heat; config/ephs.yaml"),
    friction: bool = typer.Option(False, help="let the friction of the joints act"),
    as_json: bool = typer.Option(False, "--json", help="print one JSON document and nothing else"),
) -> None:
    """Move a robot and print where each joule went, from the battery to heat.

    A flying robot visits five places within a minute, twelve seconds each, while its joints turn.
    The exergy given is what is stored and what has been destroyed, each by its name; what is
    unaccounted for is the numerical error.
    """
    from vms_ph_studies.ephs import exergy_ledger

    from .progress import shown_progress

    with shown_progress(quiet=as_json) as progress:
        found = exergy_ledger(
            robot, seconds=seconds, step=step, drives=drives, friction=friction, progress=progress
        )
    if as_json:
        typer.echo(json.dumps(_document(found), indent=2))
    else:
        _print_ledger(found)


def _document(found: "Ledger") -> dict[str, object]:
    def energies(lines: "tuple[Line, ...]") -> dict[str, float]:
        return {line.name: line.energy for line in lines}

    return {
        "robot": found.robot,
        "seconds": found.seconds,
        "given": energies(found.given),
        "stored": energies(found.stored),
        "destroyed": energies(found.destroyed),
        "destroyed_by_part": dict(found.map.destroyed),
        "unaccounted": found.residual,
        "least_destruction": found.least,
        "temperatures": dict(found.map.temperatures),
        "voltage": found.map.voltage,
        "level": found.map.level,
    }


def _print_ledger(found: "Ledger") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    given = sum(line.energy for line in found.given)
    table = Table(
        title=f"{found.robot}, {found.seconds:g} s: exergy from the battery to heat",
        box=box.SIMPLE_HEAD,
        title_justify="left",
    )
    table.add_column("")
    table.add_column("J", justify="right")
    table.add_column("share", justify="right")
    for title, lines in (
        ("given", found.given),
        ("stored", found.stored),
        ("destroyed by", found.destroyed),
    ):
        total = sum(line.energy for line in lines)
        table.add_row(f"[bold]{title}[/bold]", f"[bold]{total:.4f}[/bold]", _share(total, given))
        for line in lines:
            if line.energy:
                table.add_row(f"  {line.what}", f"{line.energy:.4f}", _share(line.energy, given))
    table.add_row("[bold]unaccounted[/bold]", f"[bold]{found.residual:.1e}[/bold]", "")
    console = Console()
    console.print(table)
    name, theta = found.warmest
    console.print(
        f"battery {100 * found.map.level:.1f} % at {found.map.voltage:.2f} V; warmest: {name}, "
        f"{theta - 273.15:.1f} °C; least destruction between samples {found.least:.1e} J",
        highlight=False,
        soft_wrap=True,
    )


def _share(part: float, whole: float) -> str:
    return f"{100.0 * part / whole:.2f} %" if whole > 0.0 else ""


def _system(model: str) -> "System":
    from vms_ph_dynamics.ephs.examples import EXAMPLES
    from vms_ph_dynamics.ephs.multibody import from_urdf
    from vms_ph_io import robots
    from vms_ph_io.urdf import read_urdf

    if model in EXAMPLES:
        return EXAMPLES[model]()
    if model in robots.names():
        robot = robots.get(model)
        fluid = robots.load(model).fluid if robot.fluid else None
        return from_urdf(robot.description(), robot.base, robot.gravity, fluid=fluid)
    if os.path.isfile(model):
        return from_urdf(read_urdf(Path(model), {}))
    raise VmsPhError(
        f"there is no '{model}'; give an example ({', '.join(EXAMPLES)}), a robot "
        f"({', '.join(robots.names())}) or a file"
    )


def _powers(system: "System", model: str, seconds: float) -> dict[str, list[float]]:
    from vms_ph_dynamics.ephs import assemble, simulate
    from vms_ph_dynamics.ephs.equations.powers import port_powers

    equations = assemble(system)
    steps = max(1, round(seconds / _STEP))
    motion = simulate(
        equations, _start(equations, model), _STEP, steps, every=max(1, steps // _FRAMES)
    )
    found: dict[str, list[float]] = {}
    for x in motion.states:
        for end, power in port_powers(equations, x).items():
            found.setdefault(end, []).append(power)
    return found


def _start(equations: "Equations", model: str) -> "Array":
    from vms_ph_dynamics.ephs.examples import EXAMPLES, state_of_example
    from vms_ph_dynamics.ephs.multibody import place

    return state_of_example(model, equations) if model in EXAMPLES else place(equations)
