"""Makes the pictures of the page in the documentation, with Chromium.

Usage: ``python test/nodes/page_pictures.py [--out docs] [robot ...]``, by default with all
robots. It takes some minutes, and needs Pillow.
"""

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from chromium import Chromium
from PIL import Image

from vms_ph_io import robots

_COMMAND = [sys.executable, "-c", "from vms_ph_nodes.cli import main; main()"]
_PANEL = 402  # width of the panel, pixels
_COLOURS = 128  # of a picture
_BEGUN = 200_000  # size of a bag that has begun, bytes

# The field beside the time line of a replay.
_TIME = "[...document.querySelectorAll('input')].find(e => e.inputMode == 'decimal')"


@contextmanager
def page(folder: str, *words: str) -> Iterator[Chromium]:
    """Run a command that serves a page, and show the page."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    place = ["--port", str(port)] if words[0] == "bag" else ["web:=true", f"port:={port}"]
    # A domain of its own: nothing else that runs here is seen.
    environment = {**os.environ, "ROS_DOMAIN_ID": str(random.randint(100, 200))}
    program = subprocess.Popen(
        [*_COMMAND, *words, *place], env=environment, cwd=folder, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert program.stdout is not None
    for line in program.stdout:
        if "web page at" in line:
            break
    with tempfile.TemporaryDirectory() as profile:
        shown = Chromium(f"http://127.0.0.1:{port}", Path(profile))
        try:
            shown.resize(1280, 720)
            yield shown
        finally:
            shown.close()
            os.killpg(program.pid, signal.SIGINT)
            program.communicate(timeout=60.0)


def picture(shown: Chromium) -> Image.Image:
    """Return what the page shows, without the browser's note that it renders in software."""
    shown.run(
        "document.querySelectorAll('[class*=Notification-closeButton]').forEach(b=>b.click())"
    )
    time.sleep(0.5)
    return Image.fromarray(np.round(255 * shown.picture()).astype(np.uint8))


def save(image: Image.Image, file: Path) -> None:
    """Write a picture with few colours."""
    image.quantize(_COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    print(file, f"{file.stat().st_size / 1e3:.0f} kB", flush=True)


def moving(shown: Chromium, file: Path, begin: float, end: float, pictures: int = 16) -> None:
    """Write a moving picture of a replay between two times of the run, s."""
    picture(shown)
    frames = []
    for time_shown in np.linspace(begin, end, pictures):
        shown.fill(_TIME, f"{time_shown:.2f}")
        time.sleep(0.5)
        whole = Image.fromarray(np.round(255 * shown.picture()).astype(np.uint8))
        frames.append(whole.resize((720, 432)).quantize(64, dither=Image.Dither.NONE))
    length = max(20, round(1000.0 * (end - begin) / pictures))
    frames[0].save(
        file, save_all=True, append_images=frames[1:], duration=length, loop=0, optimize=True
    )
    print(file, f"{file.stat().st_size / 1e3:.0f} kB", flush=True)


def of_robots(names: list[str], out: Path, folder: str) -> None:
    """Make the pictures of robots, and one of all of them."""
    views = []
    for name in names:
        with page(folder, "launch", name, "push_period:=2") as shown:
            time.sleep(18.0)
            whole = picture(shown)
            views.append(whole.crop((0, 0, 1280 - _PANEL, 720)).resize((439, 360)))
            if name == "panda":
                save(whole, out / "page.png")
                save(whole.crop((1280 - _PANEL, 56, 1280, 392)), out / "page-flow.png")
                shown.click("View")
                shown.click("dark")
                time.sleep(3.0)
                shown.click("Energy")
                time.sleep(1.0)
                save(picture(shown), out / "page-dark.png")
    columns = min(3, len(views))
    rows = -(-len(views) // columns)
    whole = Image.new("RGB", (439 * columns, 360 * rows), "white")
    for k, view in enumerate(views):
        whole.paste(view, (439 * (k % columns), 360 * (k // columns)))
    save(whole, out / "page-robots.png")


def record(folder: str, name: str, *words: str, seconds: float = 8.0, flight: str = "") -> None:
    """Record a run; ``flight`` is a reference pose that is commanded after a while."""
    environment = {**os.environ, "ROS_DOMAIN_ID": str(random.randint(100, 200))}
    run = subprocess.Popen(
        [*_COMMAND, "launch", *words, "record:=true", f"bag:={name}"],
        cwd=folder, env=environment, start_new_session=True,
    )  # fmt: skip
    bag = Path(folder, name)
    while not any(file.stat().st_size > _BEGUN for file in bag.glob("*.mcap")):
        time.sleep(0.5)
    if flight:
        pose = ["/controller/reference_pose", "geometry_msgs/msg/PoseStamped", flight]
        subprocess.run([*_COMMAND, "topic", "pub", "--once", *pose], env=environment, check=True)
    time.sleep(seconds)
    os.killpg(run.pid, signal.SIGINT)
    run.wait(60.0)


def of_replay(out: Path, folder: str) -> None:
    """Make the pictures of recorded runs."""
    record(folder, "first", "panda", "push_period:=1.0", seconds=16.0)
    aside = "{pose: {position: {x: 0.45, y: 0.25, z: 0.6}, orientation: {x: 1.0, w: 0.0}}}"
    record(folder, "second", "panda", flight=aside, seconds=16.0)
    flight = "{header: {frame_id: odom}, pose: {position: {x: 0.4, z: 0.3}}}"
    record(folder, "flight", "hextilt", flight=flight)
    with page(folder, "bag", "view", "first", "second") as shown:
        shown.await_text("Energies over the run", 120.0)
        time.sleep(10.0)
        shown.fill(_TIME, "2.4")
        time.sleep(3.0)
        save(picture(shown), out / "page-replay.png")
    for run, name, (begin, end) in (
        ("first", "push", (1.0, 2.4)),
        ("flight", "flight", (0.5, 5.0)),
    ):
        with page(folder, "bag", "view", run) as shown:
            shown.resize(900, 540)
            shown.await_text("Energies over the run", 120.0)
            time.sleep(10.0)
            moving(shown, out / f"page-{name}.gif", begin, end)


def main() -> None:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=robots.names())
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--only", choices=("robots", "replay"))
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if given.only != "replay":
            of_robots(list(given.robots), out, folder)
        if given.only != "robots":
            of_replay(out, folder)


if __name__ == "__main__":
    main()
