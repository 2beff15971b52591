# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph bag: record, play, view, inspect, export and repair bags."""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import typer

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_io.installation import command_name

app = typer.Typer(
    help="Record and play bags, show and export their content, repair truncated ones.",
    no_args_is_help=True,
)

_BAG = typer.Argument(help="path of the bag folder or of its .mcap file")


@app.command()
def info(bag: Path = _BAG) -> None:
    """Show the content of a bag, which may be truncated."""
    from vms_ph_io.bag import bag_info, present_topic, present_type

    stats = bag_info(bag)
    truncated_text = f"truncated; `{command_name()} bag recover` makes a complete one"
    state_text = "complete" if stats.is_complete else truncated_text
    state_text = "being recorded" if stats.is_being_recorded else state_text
    typer.echo(f"Files:    {', '.join(f.name for f in stats.files)} ({stats.size / 1e6:.2f} MB)")
    typer.echo(f"State:    {state_text}")
    if stats.unreadable_bytes and not stats.is_being_recorded:
        typer.echo(f"          {stats.unreadable_bytes} bytes are unreadable")
    typer.echo(f"Duration: {stats.duration:.3f} s")
    typer.echo(f"Messages: {stats.message_count}")
    for topic in stats.topics:
        rate = "" if topic.rate is None else f" at {topic.rate:.1f} Hz"
        name, type_name = topic.topic.name, topic.topic.type
        typer.echo(f"  {name} [{type_name}]: {topic.message_count}{rate}")
        present_name = f"{present_topic(name)} [{present_type(type_name)}]"
        if present_name != f"{name} [{type_name}]":
            typer.echo(f"    an earlier name; played as {present_name}")


@app.command()
def report(
    bag: Path = _BAG, namespace: str = typer.Option("", help="namespace of the robot's topics")
) -> None:
    """Show the energy balance of a recorded run, and its energies in the parts of its law."""
    from vms_ph_io.audits.run_record import read_run
    from vms_ph_io.audits.run_record import report as lines

    for line in lines(read_run(bag, namespace)):
        typer.echo(line)


@app.command()
def record(
    topics: list[str] = typer.Argument(None, help="topics to record; all if none is given"),
    output: Path = typer.Option(Path("vms_ph_bag"), "--output", "-o", help="folder, a new one"),
) -> None:
    """Record topics until Ctrl-C."""
    from ..bag_recorder import main

    _set_arguments("bag_recorder", {"bag": str(output), "topics": topics or None})
    typer.echo(f"recording into {output}; press Ctrl-C to end", err=True)
    main()


@app.command()
def play(
    bag: Path = _BAG,
    rate: float = typer.Option(1.0, "--rate", "-r", min=0.01, help="bag time to real time"),
    topics: list[str] = typer.Option(None, "--topics", help="topics to play; all if none is given"),
    clock: float = typer.Option(0.0, "--clock", help="publish /clock at this rate, Hz", min=0.0),
    loop: bool = typer.Option(False, "--loop", "-l", help="start again after the last message"),
    delay: float = typer.Option(0.0, "--delay", "-d", min=0.0, help="before the first message, s"),
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
def export(
    bag: Path = _BAG,
    out: Path = typer.Argument(help="folder for CSV files, or a .csv or .npz file"),
    topics: list[str] = typer.Option(None, "--topics", help="topics to export; default: all"),
) -> None:
    """Write the numbers of a bag as CSV or NPZ."""
    from vms_ph_io.recordings.fields import export as write
    from vms_ph_io.recordings.fields import read_fields

    columns, notes = read_fields(bag, topics or ())
    for topic in topics or ():
        if topic not in columns:
            numeric_names = sorted(read_fields(bag, ())[0])
            name_list, hint = ", ".join(numeric_names) or "none", did_you_mean(topic, numeric_names)
            raise VmsPhError(f"there is no topic {topic}{hint} with numbers; there are {name_list}")
    for note in notes:
        typer.secho(note, fg=typer.colors.YELLOW, err=True)
    for file in write(columns, out):
        typer.echo(file)


@app.command()
def recover(
    bag: Path = _BAG,
    output: Path = typer.Option(
        None, "--output", "-o", help="folder of the new bag; default: <bag>_recovered beside it"
    ),
) -> None:
    """Copy what can be read of a bag, after a kill or a full disk, into a new, complete bag."""
    from vms_ph_io.bag import recover as repair

    recovery = repair(bag, output)
    typer.echo(f"{recovery.path} is complete: {recovery.message_count} messages")
    if recovery.unreadable_bytes:
        typer.echo(f"{recovery.unreadable_bytes} bytes could not be read")


_FRAME_RATE = 30.0
_RECORDING_SUFFIXES = (".mcap", ".db3", ".zstd", ".bag", ".csv", ".npz", ".mat")


@app.command()
def view(
    runs: list[Path] = typer.Argument(help="recordings, or folders with recordings"),
    robot: str = typer.Option(
        "", help="a bundled robot, or the path of a URDF, xacro or MJCF file; default: recorded"
    ),
    base: str = typer.Option("", help="auto, fixed, planar or floating; default: the robot's"),
    port: int = typer.Option(8080, help="port of the page on 127.0.0.1", min=1, max=65535),
    allowed_origins: str = typer.Option("", help="origins besides the page's own"),
    token: str = typer.Option("auto", help="in the page's address: auto, off, or a fixed one"),
    speed: str = typer.Option("1", help="0.1, 0.25, 0.5, 1, 2 or 5 times real time"),
) -> None:
    """Show recorded runs on a web page: scrub, compare two of them, go to what the audit found.

    For instance: vms-ph bag view run/bag other/bag
    """
    try:
        from ..node.process import catch_signals
        from ..views.page_address import page_address, page_token
        from ..views.page_server import serve_page, stop_page
        from ..views.replay import SPEEDS, RecordedRun, Replay
    except ModuleNotFoundError as error:
        raise VmsPhError(f"the web page requires {error.name}: pip install 'vms-ph[web]'") from None
    from vms_ph_io.audits import audit, recorded_robot
    from vms_ph_io.recordings import read_recording
    from vms_ph_io.robots.robot_settings import RobotSettings

    from .audit import warn

    settings = RobotSettings(robot, base)

    def load_run(path: Path) -> RecordedRun:
        recording = read_recording(path)
        model, description = recorded_robot(recording, settings, warn)
        return RecordedRun(path, audit(recording, model), description)

    if speed not in SPEEDS:
        raise VmsPhError(f"speed must be one of {', '.join(SPEEDS)}; given: {speed}")
    paths = find_recordings(runs)
    token = page_token(token)
    server = serve_page(port, allowed_origins, lambda: "replay – vms_ph", token)
    try:
        replay = Replay(server, paths, load_run, runs == paths and len(runs) == 2, speed)
        address = page_address(port, token, allowed_origins)
        print(f"web page at {address} ; press Ctrl-C to end", flush=True)
        last_time = time.monotonic()
        # No exception: it is lost where it arises in what Python calls by itself.
        signals = catch_signals()
        while not signals:
            time.sleep(1.0 / _FRAME_RATE)
            now = time.monotonic()
            if server.get_clients():
                replay.step(now - last_time)
            last_time = now
    except KeyboardInterrupt:
        pass
    finally:
        stop_page(server)


def find_recordings(paths: list[Path]) -> list[Path]:
    """Return the recordings among paths: themselves, or what folders contain, newest first.

    Raises:
        VmsPhError: there is none.
    """
    recording_paths: list[Path] = []
    for path in paths:
        if not path.exists():
            raise VmsPhError(f"there is no recording at {path}")
        if not path.is_dir() or _is_recording(path):
            recording_paths.append(path)
            continue
        found_recordings = [file for file in path.iterdir() if _is_recording(file)]
        found_recordings += [file / "bag" for file in path.iterdir() if _is_recording(file / "bag")]
        if not found_recordings:
            raise VmsPhError(
                f"{path} contains no recording: accepted are rosbag2 folders and files of kind "
                f"{', '.join(_RECORDING_SUFFIXES)}"
            )
        recording_paths += sorted(found_recordings, key=lambda file: -file.stat().st_mtime)
    return list(dict.fromkeys(recording_paths))


def _is_recording(path: Path) -> bool:
    if path.is_dir():
        return (path / "metadata.yaml").is_file() or any(path.glob("*.mcap"))
    return path.suffix.lower() in _RECORDING_SUFFIXES
