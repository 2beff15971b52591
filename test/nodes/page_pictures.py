# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Makes the pictures of the page in the documentation, with Chromium.

Usage: ``python test/nodes/page_pictures.py [--out docs] [robot ...]``, by default with all
robots. It takes some minutes, and needs Pillow.
"""

import argparse
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
from chromium import Chromium
from PIL import Image, ImageDraw

from vms_ph_io import robots
from vms_ph_io.bag import bag_info

_COMMAND = [sys.executable, "-c", "from vms_ph_nodes.cli import main; main()"]
_PANEL = 402  # width of the panel, pixels

# Robot time over time: a machine that draws the page without a graphics card keeps up.
_SLOW = 0.25

# Time of the run that a plot shows in a picture, s.
_SHOWN = 12.0

# What the page says while no node has anything to say.
_FINE = "nodes fine"

# Whether it has said so ever since.
_WATCH = f"""window.steady = true; clearInterval(window.watch);
window.watch = setInterval(
  () => {{ window.steady &&= document.body.innerText.includes({_FINE!r}) }}, 50)"""

# The sign of a page that is connected to its server.
_CONNECTED = "!!document.querySelector('[class*=cloud-check]')"

# Whether the scene is no longer pale.
_OPAQUE = """(() => {
  let e = document.querySelector('canvas[data-engine]');
  while (e && getComputedStyle(e).opacity == 1) e = e.parentElement;
  return !e;
})()"""

# Time in which the shapes of a robot arrive, s.
_SHAPES = 8.0

# Hides how many pictures this browser draws.
_NO_NOTE = """document.head.insertAdjacentHTML(
  'beforeend', '<style>#vms-pictures {display: none}</style>')"""

# Pictures a second of a moving one.
_FRAMES = 6.0

# Counts the frames that the page draws from now on.
_AWAIT_DRAWN = """window.drawn = 0;
(function count() { window.drawn++ < 9 && requestAnimationFrame(count) })()"""

# The field beside the time line of a replay.
_TIME = "[...document.querySelectorAll('input')].find(e => e.inputMode == 'decimal')"


def serve(folder: str, domain: str, *words: str) -> tuple["subprocess.Popen[str]", str, str]:
    """Run a command that serves a page; return it, its address and what it has said so far."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    launched = ["web:=true", f"port:={port}"]
    place = launched if words[0] == "launch" else ["--port", str(port)]
    program = subprocess.Popen(
        [*_COMMAND, *words, *place], env={**os.environ, "ROS_DOMAIN_ID": domain}, cwd=folder,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert program.stdout is not None
    said = ""
    for line in program.stdout:
        said += line
        if "web page at" in line:
            break
    return program, re.findall(r"web page at (\S+)", said)[0], said


def end(program: "subprocess.Popen[str]") -> None:
    """End a command that serves a page."""
    os.killpg(program.pid, signal.SIGINT)
    program.communicate(timeout=60.0)


@contextmanager
def page(folder: str, *words: str) -> Iterator[Chromium]:
    """Run a command that serves a page, and show the page."""
    # A domain of its own: nothing else that runs here is seen.
    program, address, _ = serve(folder, str(random.randint(1, 99)), *words)
    with tempfile.TemporaryDirectory() as profile:
        shown = Chromium(address, Path(profile))
        try:
            shown.resize(1280, 720)
            shown.await_text("vms_ph: ", 600.0)
            shown.await_text("unaccounted", 600.0)
            shown.run(_NO_NOTE)
            yield shown
        finally:
            shown.close()
            end(program)


def picture(shown: Chromium) -> Image.Image:
    """Return what the page shows, without the browser's note that it renders in software.

    A page that has lost its server for a moment is pale, and waited for.
    """
    shown.run(
        "document.querySelectorAll('[class*=Notification-closeButton]').forEach(b=>b.click())"
    )
    while True:
        shown.await_true(_CONNECTED, "the page has lost its server")
        shown.await_true(_OPAQUE, "the scene stays pale")
        time.sleep(0.5)
        taken = shown.picture()
        if shown.run(_CONNECTED):
            return Image.fromarray(np.round(255 * taken).astype(np.uint8))


def few(image: Image.Image, colours: int) -> Image.Image:
    """Return a picture with few colours, among which those of small areas are kept."""
    return image.quantize(
        colours, method=Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE
    )


def save(image: Image.Image, file: Path) -> None:
    """Write a picture with few colours."""
    few(image, 256).save(file, optimize=True)
    print(file, f"{file.stat().st_size / 1e3:.0f} kB", flush=True)


def moving(shown: Chromium, file: Path, begin: float, end: float, slow: float = 1.0) -> None:
    """Write a moving picture of a replay between two times of the run, s, slowed down."""
    picture(shown)
    frames = []
    length = float(shown.run("document.body.innerText.match(/over all ([0-9.]+) s:/)[1]"))
    assert length >= end, f"the run takes {length} s only"
    pictures = round(_FRAMES * slow * (end - begin))
    for time_shown in np.linspace(begin, end, pictures):
        shown.fill(_TIME, f"{time_shown:.2f}")
        shown.await_text(f"at {time_shown:.2f} s:")
        shown.run(_AWAIT_DRAWN)
        shown.await_true("window.drawn > 3", "the page is not drawn")
        whole = Image.fromarray(np.round(255 * shown.picture()).astype(np.uint8))
        frames.append(few(whole.resize((720, 432)), 128))
    frames[0].save(
        file, save_all=True, append_images=frames[1:], duration=round(1000.0 / _FRAMES), loop=0,
        optimize=True,
    )  # fmt: skip
    print(file, f"{file.stat().st_size / 1e3:.0f} kB", flush=True)


def of_demos(out: Path, folder: str) -> None:
    """Make the pictures of demos, in real time; a busy machine is too slow for the drone."""
    with page(folder, "demo", "drone") as shown:
        shown.await_text("Energy is", 600.0)
        time.sleep(_SHOWN)
        save(picture(shown), out / "page-hexarotor.png")
    with page(folder, "demo", "arm") as shown:
        await_running(shown, 1.0)
        save(steady(shown), out / "page.png")
        shown.click("View")
        shown.click("dark")
        time.sleep(3.0)
        shown.click("Energy")
        time.sleep(1.0)
        # To the line that names the robot.
        shown.run("document.querySelectorAll('*').forEach(e => { e.scrollTop = 0; })")
        save(steady(shown), out / "page-dark.png")


def of_robots(names: list[str], out: Path, folder: str) -> None:
    """Make the pictures of robots, and one of all of them."""
    views = []
    for name in names:
        with launched(folder, name, "markers:=false") as shown:
            views.append(view_of(shown).resize((439, 360)))
    columns = min(3, len(views))
    rows = -(-len(views) // columns)
    whole = Image.new("RGB", (439 * columns, 360 * rows), "white")
    draw = ImageDraw.Draw(whole)
    for k, (name, view) in enumerate(zip(names, views, strict=True)):
        left, top = 439 * (k % columns), 360 * (k // columns)
        whole.paste(view, (left, top))
        draw.text((left + 12, top + 10), name, "black", font_size=18)
    save(whole, out / "page-robots.png")


def view_of(shown: Chromium) -> Image.Image:
    """Return the view of the robot, some time after the first of it is drawn."""

    def seen() -> Image.Image:
        return picture(shown).crop((0, 0, 1280 - _PANEL, 720))

    def drawn() -> float:
        grey = np.asarray(seen().convert("L"), float)
        return float((np.abs(grey - grey[0, 0]) > 5.0).mean())

    while drawn() < 0.01:
        pass
    time.sleep(_SHAPES)
    return seen()


def launched(folder: str, robot: str, *words: str) -> AbstractContextManager[Chromium]:
    """Show the page of a robot that is pushed every two seconds."""
    return page(folder, "launch", robot, "push_period:=2", f"real_time_factor:={_SLOW}", *words)


def await_running(shown: Chromium, speed: float = _SLOW) -> None:
    """Wait until the plots show some seconds of a run, and no node has anything to say."""
    shown.await_text("Energy is", 600.0)
    time.sleep(_SHOWN / speed)
    shown.await_text(_FINE, 600.0)


def steady(shown: Chromium) -> Image.Image:
    """Return a picture on which no node has anything to say."""
    while True:
        shown.await_text(_FINE, 600.0)
        shown.run(_WATCH)
        time.sleep(1.0)  # what is drawn may be older than the text
        taken = picture(shown)
        if shown.run("window.steady"):
            return taken


def of_exergy(out: Path, folder: str) -> None:
    """Make the picture of the exergy of a robot with battery, motors and heat."""
    with launched(folder, "hextilt", "engine:=ephs") as shown:
        shown.choose("flow through", "battery to heat (exergy)")
        shown.await_text("exergy since the start", 600.0)
        await_running(shown)
        save(steady(shown), out / "page-exergy.png")


def record(folder: str, name: str, *words: str, seconds: float, flight: str = "") -> None:
    """Record a run; ``flight`` is a reference pose that is commanded early in it.

    Time passes slowly in it: a busy machine keeps up.
    """
    environment = {**os.environ, "ROS_DOMAIN_ID": str(random.randint(1, 99))}
    run = subprocess.Popen(
        [*_COMMAND, "launch", *words, "record:=true", f"bag:={name}", "real_time_factor:=0.2"],
        cwd=folder, env=environment, start_new_session=True,
    )  # fmt: skip
    await_samples(Path(folder, name), 50)
    if flight:
        pose = ["/controller/reference_pose", "geometry_msgs/msg/PoseStamped", flight]
        subprocess.run([*_COMMAND, "topic", "pub", "--once", *pose], env=environment, check=True)
    await_samples(Path(folder, name), round(100 * seconds))
    os.killpg(run.pid, signal.SIGINT)
    run.wait(60.0)


def await_samples(bag: Path, count: int) -> None:
    """Wait until a bag has so many joint states, of which there are 100 a second."""
    while True:
        time.sleep(1.0)
        if not any(bag.glob("*.mcap")):
            continue
        numbers = {each.topic.name: each.message_count for each in bag_info(bag).topics}
        if numbers.get("/joint_states", 0) >= count:
            return


def of_replay(out: Path, folder: str) -> None:
    """Make the pictures of recorded runs."""
    record(folder, "first", "panda", "push_period:=1.0", seconds=3.0)
    record(folder, "demo", "task", "task:=arm", seconds=8.0)
    aside = "{pose: {position: {x: 0.45, y: 0.25, z: 0.6}, orientation: {x: 1.0, w: 0.0}}}"
    record(folder, "second", "panda", flight=aside, seconds=3.0)
    flight = "{header: {frame_id: odom}, pose: {position: {x: 0.4, z: 0.3}}}"
    record(folder, "flight", "hextilt", flight=flight, seconds=5.0)
    with page(folder, "bag", "view", "first", "second") as shown:
        shown.await_text("Energies over the run", 600.0)
        time.sleep(10.0)
        shown.fill(_TIME, "2.4")
        time.sleep(3.0)
        save(picture(shown), out / "page-replay.png")
    for run, robot, name, begin, end, slow in (
        ("demo", "panda", "push", 3.1, 6.3, 2.0),
        ("flight", "hextilt", "flight", 1.2, 4.4, 1.0),
    ):
        with page(folder, "bag", "view", run, "--robot", robot) as shown:
            shown.resize(900, 540)
            shown.await_text("Energies over the run", 600.0)
            time.sleep(10.0)
            moving(shown, out / f"page-{name}.gif", begin, end, slow)


def main() -> None:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=robots.names())
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--only", choices=("demos", "robots", "exergy", "replay"))
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if given.only in (None, "demos"):
            of_demos(out, folder)
        if given.only in (None, "robots"):
            of_robots(list(given.robots), out, folder)
        if given.only in (None, "exergy"):
            of_exergy(out, folder)
        if given.only in (None, "replay"):
            of_replay(out, folder)


if __name__ == "__main__":
    main()
