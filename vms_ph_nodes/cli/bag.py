# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph bag: record, play, inspect, compare, export and repair bags."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import typer

from vms_ph_dynamics import VmsPhError
from vms_ph_io.installation import command_name

from .bag_view import view

app = typer.Typer(
    help="Record and play bags, show, compare and export their content, repair truncated ones.",
    no_args_is_help=True,
)

app.command()(view)

_BAG = typer.Argument(help="path of the bag folder or of its .mcap file")


@app.command()
def info(bag: Path = _BAG) -> None:
    """Show the content of a bag, which may be truncated."""
    from vms_ph_io.bag import bag_info, present_topic, present_type

    about = bag_info(bag)
    state = (
        "complete"
        if about.is_complete
        else f"truncated; `{command_name()} bag recover` makes a complete one"
    )
    state = "being recorded" if about.is_being_recorded else state
    typer.echo(f"Files:    {', '.join(f.name for f in about.files)} ({about.size / 1e6:.2f} MB)")
    typer.echo(f"State:    {state}")
    if about.unreadable_bytes and not about.is_being_recorded:
        typer.echo(f"          {about.unreadable_bytes} bytes are unreadable")
    typer.echo(f"Duration: {about.duration:.3f} s")
    typer.echo(f"Messages: {about.message_count}")
    for topic in about.topics:
        rate = "" if topic.rate is None else f" at {topic.rate:.1f} Hz"
        name, kind = topic.topic.name, topic.topic.type
        typer.echo(f"  {name} [{kind}]: {topic.message_count}{rate}")
        present = f"{present_topic(name)} [{present_type(kind)}]"
        if present != f"{name} [{kind}]":
            typer.echo(f"    an earlier name; played as {present}")


@app.command()
def report(
    bag: Path = _BAG,
    namespace: str = typer.Option("", help="namespace of the robot's topics"),
) -> None:
    """Show the energy balance of a recorded run, and its energies in the parts of its law."""
    from vms_ph_io.audits.run_record import read_run
    from vms_ph_io.audits.run_record import report as lines

    for line in lines(read_run(bag, namespace)):
        typer.echo(line)


@app.command()
def record(
    topics: list[str] = typer.Argument(None, help="topics to record; all if none is given"),
    output: Path = typer.Option(
        Path("vms_ph_bag"), "--output", "-o", help="folder of the bag; must not exist"
    ),
) -> None:
    """Record topics until Ctrl-C."""
    from ..bag_recorder import main

    _set_arguments("bag_recorder", {"bag": str(output), "topics": topics or None})
    typer.echo(f"recording into {output}; press Ctrl-C to end", err=True)
    main()


@app.command()
def play(
    bag: Path = _BAG,
    rate: float = typer.Option(
        1.0, "--rate", "-r", help="ratio of bag time to real time", min=0.01
    ),
    topics: list[str] = typer.Option(None, "--topics", help="topics to play; all if none is given"),
    clock: float = typer.Option(0.0, "--clock", help="publish /clock at this rate, Hz", min=0.0),
    loop: bool = typer.Option(False, "--loop", "-l", help="start again after the last message"),
    delay: float = typer.Option(
        0.0, "--delay", "-d", help="delay before the first message, s", min=0.0
    ),
    paused: bool = typer.Option(False, "--paused", "-p", help="start paused"),
) -> None:
    """Publish the messages of a bag at their recorded times; with --clock also publish /clock.

    While it plays: vms-ph service call /bag_player/pause "" "{data: true}" pauses it,
    vms-ph service call /bag_player/step "" "{messages: 1}" publishes the next message, and
    vms-ph service call /bag_player/seek "" "{time: 2.5}" goes to another time.

    For instance, to compute energies from the recorded states of a robot on a moving base:
    vms-ph launch replay robot:=hextilt, and in another terminal vms-ph bag play run/bag --clock 100
    --topics /joint_states --topics /odom --topics /robot_description
    """
    from ..bag_player import main

    parameters = {"bag": str(bag), "topics": topics or None, "rate": rate, "clock": clock,
                  "loop": loop, "delay": delay, "paused": paused}  # fmt: skip
    _set_arguments("bag_player", parameters)
    main()


def _set_arguments(node: str, parameters: Mapping[str, object]) -> None:
    """Set the arguments of this process to those of a node; None: the parameter is not set."""
    pairs = [(name, value) for name, value in parameters.items() if value is not None]
    words = [word for name, value in pairs for word in ("-p", f"{name}:={json.dumps(value)}")]
    sys.argv = [node, "--ros-args", *words]


@app.command()
def diff(
    first: Path = typer.Argument(help="a bag, for instance of a simulation"),
    second: Path = typer.Argument(help="another one, for instance of the robot"),
    topics: list[str] = typer.Option(None, "--topics", help="topics to compare; default: all"),
    align: bool = typer.Option(False, help="move the second in time to where its joints fit best"),
    tolerance: float = typer.Option(
        -1.0, help="exit with code 1 if a difference is larger than this", show_default=False
    ),
    as_json: bool = typer.Option(False, "--json", help="print one JSON document"),
) -> None:
    """Compare the numbers of two bags over the time that both have."""
    from vms_ph_io.recordings.comparison import compare
    from vms_ph_io.recordings.fields import read_fields

    (a, notes), (b, others) = (read_fields(path, topics or ()) for path in (first, second))
    _require_topics(topics, {*a, *b})
    differences = compare(a, b, align)
    if as_json:
        typer.echo(json.dumps(asdict(differences), indent=2))
    else:
        for note in (*notes, *others):
            typer.secho(note, fg=typer.colors.YELLOW, err=True)
        for name, only in ((first, differences.only_first), (second, differences.only_second)):
            if only:
                typer.echo(f"only in {name}: {', '.join(only)}")
        if align:
            typer.echo(f"the second bag is moved by {differences.shift:+.4f} s")
        typer.echo(f"{'rms':>11} {'largest':>11} {'at (s)':>9} {'spread':>11}  number")
        for d in differences.differences:
            typer.echo(
                f"{d.root_mean_square:11.4g} {d.largest:11.4g} {d.time:9.3f} {d.spread:11.4g}  "
                f"{d.topic}.{d.name}"
            )
    if tolerance >= 0.0 and any(d.largest > tolerance for d in differences.differences):
        raise typer.Exit(1)


@app.command("plot")
def plot_numbers(
    bag: Path = _BAG,
    numbers: list[str] = typer.Argument(
        None, help="topics or numbers, such as /joint_states.position; none: list all"
    ),
    out: Path = typer.Option(Path("bag.png"), help="PNG, PDF, SVG or HTML file"),
) -> None:
    """Plot numbers of a bag over time, or list them."""
    from vms_ph_io.recordings.fields import chosen_curves, plot_fields, read_fields

    columns, notes = read_fields(bag)
    for note in notes:
        typer.secho(note, fg=typer.colors.YELLOW, err=True)
    if not numbers:
        for topic, column in sorted(columns.items()):
            typer.echo(f"{topic} [{column.type}]: {', '.join(column.names)}")
        return
    plot_fields(chosen_curves(columns, numbers), out, bag.name)
    typer.echo(out)


@app.command()
def export(
    bag: Path = _BAG,
    out: Path = typer.Argument(help="folder for CSV files, or a .csv, .jsonl or .npz file"),
    topics: list[str] = typer.Option(None, "--topics", help="topics to export; default: all"),
) -> None:
    """Write the numbers of a bag as CSV, JSON lines or NPZ."""
    from vms_ph_io.recordings.fields import export as write
    from vms_ph_io.recordings.fields import read_fields

    columns, notes = read_fields(bag, topics or ())
    _require_topics(topics, set(columns))
    left = [
        f"{c.others} messages on {t} have other numbers" for t, c in columns.items() if c.others
    ]
    for note in (*notes, *left):
        typer.secho(note, fg=typer.colors.YELLOW, err=True)
    for file in write(columns, out):
        typer.echo(file)


def _require_topics(required: list[str] | None, present: set[str]) -> None:
    for topic in required or ():
        if topic not in present:
            available = ", ".join(sorted(present)) or "none"
            raise VmsPhError(f"there is no topic {topic} with numbers; there are {available}")


@app.command()
def recover(
    bag: Path = _BAG,
    output: Path = typer.Option(
        None,
        "--output",
        "-o",
        help="folder of the new bag; default: <bag>_recovered beside the old one",
    ),
) -> None:
    """Copy what can be read of a bag, after a kill or a full disk, into a new, complete bag."""
    from vms_ph_io.bag import recover as repair

    done = repair(bag, output)
    typer.echo(f"{done.path} is complete: {done.message_count} messages")
    if done.unreadable_bytes:
        typer.echo(f"{done.unreadable_bytes} bytes could not be read")
