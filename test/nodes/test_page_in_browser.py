"""The page in a real browser: the robot fills the view, and the controls command it."""

import socket
import time
from pathlib import Path

import numpy as np
import pytest
from vms_ph.msg import Power

from vms_ph_io import robots

from .chromium import PROGRAM, Chromium
from .conftest import Start
from .observer import Observer
from .test_audit_command import record

pytestmark = [
    pytest.mark.wire,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed"),
]

pytest.importorskip("viser")


_SHORT = "bluerov2_alpha5"
_ALL = [
    pytest.param(name, marks=[] if name == _SHORT else pytest.mark.slow) for name in robots.names()
]


def _filled(picture: np.ndarray) -> np.ndarray:
    """Return height and width of what is drawn and is no grid, as shares of the view.

    The middle of the view is enough: the panel is at the right, notes of the browser at the left.
    """
    rows, columns = picture.shape[:2]
    middle = picture[:, int(0.25 * columns) : int(0.66 * columns)]
    solid = middle.max(axis=2) < 0.72  # lines of the grid and the ellipsoid are lighter
    # A line is thin: what is solid has solid neighbours on all sides.
    inner = solid[1:-1, 1:-1] & solid[:-2, 1:-1] & solid[2:, 1:-1]
    inner &= solid[1:-1, :-2] & solid[1:-1, 2:]
    high, wide = np.nonzero(inner)
    if not len(high):
        return np.zeros(2)
    return np.array([np.ptp(high) / rows, np.ptp(wide) / columns])


@pytest.mark.parametrize("name", _ALL)
def test_the_page_shows_the_robot_and_commands_it(
    name: str, start: Start, observer: Observer, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    launch = start("launch", f"{name}.launch.xml", "web:=true", f"port:={port}")
    launch.await_output("web page at")
    page = Chromium(f"http://127.0.0.1:{port}", tmp_path)
    try:
        end = time.monotonic() + 120.0
        while not 0.25 < (filled := _filled(page.picture()).max()) < 0.75:
            assert time.monotonic() < end, f"the robot fills {filled:.0%} of the view"
            time.sleep(1.0)
        page.await_text("Energy is conserved")
        assert page.run("document.title").endswith(" – vms_ph")
        assert page.run("document.querySelectorAll('svg.ef path').length") >= 6
        page.click("Control")
        if not name.endswith("hopper"):  # a push on a leg on the floor is that of the floor
            page.click("push")
            observer.take(Power, "vms_ph/power", lambda p: abs(p.wrench_end_effector_energy) > 1e-6)
        page.click("reset")
        observer.take(Power, "vms_ph/power", lambda p: abs(p.wrench_end_effector_energy) < 1e-9)
        assert page.errors == []
    finally:
        page.close()
        launch.interrupt()


# The field beside the time line.
_TIME = "[...document.querySelectorAll('input')].find(e => e.inputMode == 'decimal')"


@pytest.mark.slow
def test_scrubbing_a_recorded_run_moves_the_robot_in_the_browser(
    start: Start, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    bag = record(tmp_path / "run")
    words = ("--robot", "panda", "--port", str(port))
    program = start("bag", "view", str(bag), *words)
    program.await_output("web page at")
    page = Chromium(f"http://127.0.0.1:{port}", tmp_path / "profile")
    try:
        page.await_text("unaccounted", 60.0)
        end = time.monotonic() + 120.0
        while not 0.25 < _filled(page.picture()).max() < 0.75:
            assert time.monotonic() < end, "the robot is not there"
            time.sleep(1.0)
        before = page.picture()
        page.fill(_TIME, "0.5")
        while (np.abs(page.picture() - before)[:, 320:800].max(axis=2) > 0.2).mean() < 0.005:
            assert time.monotonic() < end, "the robot does not move"
            time.sleep(1.0)
        assert page.errors == []
    finally:
        page.close()
        assert program.interrupt() == 0
