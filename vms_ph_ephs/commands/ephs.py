# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph ephs: lists, draws, writes and examines exergetic port-Hamiltonian systems."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vms_ph_dynamics import VmsPhError
from vms_ph_io.settings.bounded_text import writing

from .ledger import ledger

if TYPE_CHECKING:
    from .. import System

app = typer.Typer(
    help="Draw exergetic port-Hamiltonian systems as patterns, and account for their exergy.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
app.command("ledger")(ledger)

_SOURCE = typer.Argument(
    help="an example of `vms-ph ephs list`, a bundled robot, a pattern file (YAML), or a URDF, "
    "xacro or MJCF file"
)


@app.command("list")
def list_() -> None:
    """List the examples."""
    from ..examples import EXAMPLES

    for name, make_system in EXAMPLES.items():
        box_count = len(make_system().pattern.boxes)
        typer.echo(f"{name:<20} {box_count} boxes")


@app.command()
def draw(
    model: str = _SOURCE,
    flat: bool = typer.Option(
        False, help="draw one flat pattern of all components instead of nested ones"
    ),
    output: Path = typer.Option(Path("pattern.svg"), "--output", "-o", help="SVG file to write"),
) -> None:
    """Draw the pattern of a system as SVG.

    Inner boxes are round, and filled if they contain patterns; dots are junctions; dashed lines
    are state ports.
    """
    from ..pictures import draw as draw_svg

    system = _system(model)
    with writing(output):
        output.write_text(draw_svg(system, flat=flat, title=model))
    typer.echo(f"written: {output}")


@app.command()
def parts(
    kind: str = typer.Argument("", help="a kind, whose parameters are listed with their units"),
) -> None:
    """List the kinds of boxes that a pattern file may have, or the parameters of one."""
    from ..notation import KINDS
    from ..notation.kinds import value_type_of

    if not kind:
        for box_kind in KINDS.values():
            typer.echo(f"{box_kind.name:<18} {box_kind.meaning}")
        return
    if kind not in KINDS:
        raise VmsPhError(f"there is no kind '{kind}'; the kinds are {', '.join(KINDS)}")
    for parameter in KINDS[kind].parameters.values():
        unit, meaning = (
            (parameter.spec.unit, parameter.spec.meaning) if parameter.spec else ("", "")
        )
        note = "required" if parameter.required else ""
        meaning = meaning or parameter.name.replace("_", " ")
        typer.echo(
            f"{parameter.name:<16} {value_type_of(parameter):<9} {unit:<22} {note:<9} {meaning}"
        )


@app.command()
def equations(model: str = _SOURCE) -> None:
    """Print the equations of a system whose parts are declared, with multipliers."""
    from .. import assemble
    from ..symbolic import symbolic

    typer.echo(symbolic(assemble(_system(model), check=False)).text())


@app.command()
def export(
    model: str = _SOURCE,
    output: Path = typer.Option(Path("pattern.yaml"), "--output", "-o", help="file to write"),
) -> None:
    """Write a system as a pattern file, in which boxes may be changed and joined with others."""
    from ..files.pattern_files import save_pattern
    from ..notation import describe

    save_pattern(describe(_system(model)), output)
    typer.echo(f"written: {output}")


def _system(source: str) -> "System":
    from vms_ph_io import robots
    from vms_ph_io.descriptions.urdf import read_urdf

    from ..examples import EXAMPLES
    from ..files.pattern_files import is_pattern_file, load_system
    from ..multibody import from_urdf

    if source in EXAMPLES:
        return EXAMPLES[source]()
    if source in robots.names():
        robot = robots.get(source)
        fluid = robots.load(source).fluid if robot.fluid else None
        return from_urdf(robot.description(), robot.base, robot.gravity, fluid=fluid)
    if is_pattern_file(source):
        return load_system(source)
    if os.path.isfile(source):
        return from_urdf(read_urdf(Path(source), {}))
    raise VmsPhError(
        f"there is no '{source}'; give an example ({', '.join(EXAMPLES)}), a robot "
        f"({', '.join(robots.names())}) or a file"
    )
