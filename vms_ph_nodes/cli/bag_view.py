# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph bag view: recorded runs on a web page."""

import time
from pathlib import Path

import typer

from vms_ph_dynamics import VmsPhError

_HZ = 30.0
_SUFFIXES = (".mcap", ".db3", ".zstd", ".bag", ".csv", ".npz", ".mat")


def view(
    runs: list[Path] = typer.Argument(help="recordings, or folders with recordings"),
    robot: str = typer.Option(
        "", help="a bundled robot, or the path of a URDF, xacro or MJCF file; default: recorded"
    ),
    base: str = typer.Option("", help="auto, fixed, planar or floating; default: the robot's"),
    port: int = typer.Option(8080, help="port of the page on 127.0.0.1", min=1, max=65535),
    allowed_origins: str = typer.Option("", help="origins besides the page's own"),
    token: str = typer.Option("auto", help="of the page's address: auto, off, or a fixed one"),
    speed: str = typer.Option("1", help="0.1, 0.25, 0.5, 1, 2 or 5 times real time"),
) -> None:
    """Show recorded runs on a web page: scrub, compare two of them, go to what the audit found.

    For instance: vms-ph bag view run/bag other/bag
    """
    try:
        from ..node.process import note_signals
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

    def load(path: Path) -> RecordedRun:
        recording = read_recording(path)
        model, description = recorded_robot(recording, settings, warn)
        return RecordedRun(path, audit(recording, model), description)

    if speed not in SPEEDS:
        raise VmsPhError(f"speed must be one of {', '.join(SPEEDS)}; given: {speed}")
    paths = recordings(runs)
    token = page_token(token)
    server = serve_page(port, allowed_origins, lambda: "replay – vms_ph", token)
    try:
        compare = runs == paths and len(runs) == 2
        replay = Replay(server, paths, load, compare, speed)
        address = page_address(port, token, allowed_origins)
        print(f"web page at {address} ; press Ctrl-C to end", flush=True)
        last = time.monotonic()
        # No exception: it is lost where it arises in what Python calls by itself.
        ended = note_signals()
        while not ended:
            time.sleep(1.0 / _HZ)
            now = time.monotonic()
            if server.get_clients():
                replay.step(now - last)
            last = now
    except KeyboardInterrupt:
        pass
    finally:
        stop_page(server)


def recordings(paths: list[Path]) -> list[Path]:
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
        inside = [file for file in path.iterdir() if _is_recording(file)]
        inside += [file / "bag" for file in path.iterdir() if _is_recording(file / "bag")]
        if not inside:
            raise VmsPhError(
                f"{path} contains no recording: accepted are rosbag2 folders and files of kind "
                f"{', '.join(_SUFFIXES)}"
            )
        recording_paths += sorted(inside, key=lambda file: -file.stat().st_mtime)
    return list(dict.fromkeys(recording_paths))


def _is_recording(path: Path) -> bool:
    if path.is_dir():
        return (path / "metadata.yaml").is_file() or any(path.glob("*.mcap"))
    return path.suffix.lower() in _SUFFIXES
