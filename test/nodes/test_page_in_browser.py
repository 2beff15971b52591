# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The page in a real browser: the robot fills the view, and the controls command it."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from vms_ph.msg import Power

from vms_ph_io import robots

from .chromium import PROGRAM, SHIFT, Chromium, field
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


@contextmanager
def _shown(start: Start, folder: Path, *words: str) -> Iterator[Chromium]:
    """Run a command that serves a page, and show it; at its end the console has no errors."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    launched = ("web:=true", f"port:={port}")
    program = start(*words, *(launched if words[0] == "launch" else ("--port", str(port))))
    program.await_output("web page at")
    page = Chromium(f"http://127.0.0.1:{port}", folder)
    try:
        yield page
        assert page.errors == []
    finally:
        page.close()
        ended = program.interrupt()
    assert ended == 0


def _await_robot(page: Chromium, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not 0.25 < (filled := _filled(page.picture()).max()) < 0.75:
        assert time.monotonic() < end, f"the robot fills {filled:.0%} of the view"
        time.sleep(1.0)


@pytest.mark.parametrize("name", _ALL)
def test_the_page_shows_the_robot_and_commands_it(
    name: str, start: Start, observer: Observer, tmp_path: Path
) -> None:
    with _shown(start, tmp_path, "launch", f"{name}.launch.xml") as page:
        _await_robot(page)
        page.await_text("Energy is conserved")
        assert page.run("document.title").endswith(" – vms_ph")
        assert page.run("document.querySelectorAll('svg.ef path').length") >= 6
        page.click("Control")
        if not name.endswith("hopper"):  # a push on a leg on the floor is that of the floor
            page.click("push")
            observer.take(Power, "vms_ph/power", lambda p: abs(p.wrench_end_effector_energy) > 1e-6)
        page.click("reset")
        observer.take(Power, "vms_ph/power", lambda p: abs(p.wrench_end_effector_energy) < 1e-9)


def _value(observer: Observer, node: str, name: str) -> float:
    request = GetParameters.Request(names=[name])
    answer = observer.call(GetParameters, f"{node}/get_parameters", request)
    return float(answer.values[0].double_value)


def _stamp(observer: Observer) -> float:
    stamp = observer.take(JointState, "joint_states").header.stamp
    return float(stamp.sec + 1e-9 * stamp.nanosec)


@pytest.mark.slow
def test_links_are_dragged_and_time_is_commanded(
    start: Start, observer: Observer, tmp_path: Path
) -> None:
    with _shown(start, tmp_path, "launch", f"{_SHORT}.launch.xml") as page:
        _await_robot(page)
        page.await_text("Energy is conserved")
        plot = "document.querySelector('.uplot canvas').toDataURL()"
        page.run(f"window.before = {plot}")
        page.await_true(f"{plot} != window.before", "the plot does not move")
        page.click("Control")
        _dragged_links(page, observer)
        _time(page, observer)


def _solid(page: Chromium) -> tuple[float, float]:
    """Return x and y of a pixel amid the largest area of the robot."""
    picture = page.picture()
    left, right = (int(share * picture.shape[1]) for share in (0.25, 0.66))
    solid = picture[:, left:right].max(axis=2) < 0.72
    depth, layer = solid.astype(int), solid
    while layer.any():
        inner = np.zeros_like(layer)
        inner[1:-1, 1:-1] = layer[1:-1, 1:-1] & layer[:-2, 1:-1] & layer[2:, 1:-1]
        inner[1:-1, 1:-1] &= layer[1:-1, :-2] & layer[1:-1, 2:]
        layer = inner
        depth += layer
    row, column = np.unravel_index(depth.argmax(), depth.shape)
    return float(left + column), float(row)


def _dragged_links(page: Chromium, observer: Observer) -> None:
    """A link that is dragged while Shift is held is pulled, until it is let go."""
    x, y = _solid(page)
    found: list[float] = []

    def see(message: JointState | WrenchStamped) -> None:
        if isinstance(message, JointState):
            found.append(float(np.abs(message.effort).max(initial=0.0)))
        else:
            f = message.wrench.force
            found.append(abs(f.x) + abs(f.y) + abs(f.z))

    node = observer.node
    topics = ((JointState, "simulator/torque"), (WrenchStamped, "simulator/wrench_base"))
    subscriptions = [node.create_subscription(kind, topic, see, 10) for kind, topic in topics]
    page.press(x, y, SHIFT)
    for k in range(1, 6):
        page.move(x + 12.0 * k, y - 6.0 * k, SHIFT)
        observer.spin(0.4)
    observer.until(lambda: found and max(found) > 1e-3, "nothing is pulled", 30.0)
    page.release(x + 60.0, y - 30.0, SHIFT)
    observer.until(lambda: found[-1] == 0.0, "the spring is not let go", 30.0)
    for subscription in subscriptions:
        node.destroy_subscription(subscription)


def _time(page: Chromium, observer: Observer) -> None:
    """Time stands, advances by steps, and goes on slowly."""
    page.tick("paused")
    page.await_text("simulation paused")
    page.fill(field("steps"), "50")
    received: list[float] = []

    def see(message: JointState) -> None:
        received.append(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)

    subscription = observer.node.create_subscription(JointState, "joint_states", see, 10)
    observer.until(lambda: observer.node.count_publishers("joint_states"), "no simulator")
    observer.spin(2.0)  # what was still under way
    received.clear()
    for number in (1, 2):
        page.click("step")
        observer.until(lambda number=number: len(received) >= number, "no step")  # type: ignore[misc]
    observer.spin(1.0)
    assert len(received) == 2
    passed = 50 * _value(observer, "simulator", "step")
    assert received[1] - received[0] == pytest.approx(passed, abs=1e-6)
    observer.node.destroy_subscription(subscription)
    page.tick("paused")
    before = _stamp(observer)
    observer.until(lambda: _stamp(observer) > before, "time does not go on")


# The field beside the time line.
_TIME = "[...document.querySelectorAll('input')].find(e => e.inputMode == 'decimal')"


@pytest.mark.slow
def test_scrubbing_a_recorded_run_moves_the_robot_in_the_browser(
    start: Start, tmp_path: Path
) -> None:
    bag = record(tmp_path / "run")
    words = ("bag", "view", str(bag), "--robot", "panda")
    with _shown(start, tmp_path / "profile", *words) as page:
        page.await_text("unaccounted", 60.0)
        _await_robot(page)
        end = time.monotonic() + 120.0
        before = page.picture()
        page.fill(_TIME, "0.5")
        while (np.abs(page.picture() - before)[:, 320:800].max(axis=2) > 0.2).mean() < 0.005:
            assert time.monotonic() < end, "the robot does not move"
            time.sleep(1.0)
