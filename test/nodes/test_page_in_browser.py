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

"""The page in a real browser: every robot is where it should be, and its controls act."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from vms_ph.msg import ControllerState, Power

from vms_ph_io import robots

from .chromium import PROGRAM, SHIFT, Chromium, field
from .conftest import Start
from .observer import Observer
from .page_geometry import SeenRobot
from .test_audit_command import record

pytestmark = [
    pytest.mark.wire,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed"),
]

pytest.importorskip("viser")
from vms_ph_nodes.views.shapes import reach  # noqa: E402

_SHORT = "bluerov2_alpha5"

_MARKERS = ("centre of mass", "momentum", "locked velocity", "temperature", "power")

# The canvas of the scene, and its box.
_SCENE = "[...document.querySelectorAll('canvas')].find(c => !c.closest('.uplot'))"
_CANVAS = f"(b => [b.x, b.y, b.width, b.height])({_SCENE}.getBoundingClientRect())"

_PLOT = "document.querySelector('.uplot canvas').toDataURL()"

# Changes of a pixel: by anything that is drawn, and by more than a shadow on the floor. Distance
# to which edges are found, pixels: they are smoothed, and the camera has the size of a real pixel.
_DRAWN, _STRONG, _NEAR = 0.03, 0.25, 6.0


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
        page.resize(1280, 720)
        yield page
        # A page that begins anew is away for a moment.
        assert [error for error in page.errors if "WebSocket connection" not in error] == []
    finally:
        page.close()
        ended = program.interrupt()
    assert ended == 0


def _drawn(page: Chromium) -> np.ndarray:
    """Return by how much every pixel of the scene changes where the robot is hidden."""
    page.run("document.querySelectorAll('[class*=Notification-closeButton]').forEach(b=>b.click())")
    left, _, width, _ = page.run(_CANVAS)
    shown = slice(int(left), int(left + width))
    pictures = []
    for hidden in (False, True):
        if hidden:
            page.tick("links")
        end = time.monotonic() + 60.0
        while True:  # until it stands still, as it is wanted
            picture = page.picture()
            time.sleep(0.3)
            still = np.abs(page.picture() - picture)[:, shown].max() < _DRAWN
            if still and (not hidden or np.abs(picture - pictures[0])[:, shown].max() > _STRONG):
                break
            assert time.monotonic() < end, "the robot is not drawn"
        pictures.append(picture)
    page.tick("links")
    change = np.abs(pictures[1] - pictures[0]).max(axis=2)
    change[:, shown.stop :] = 0.0
    return np.asarray(change)


def _edges(pixels: np.ndarray) -> np.ndarray:
    high, wide = np.nonzero(pixels)
    assert len(high), "nothing is drawn"
    return np.array([wide.min(), high.min(), wide.max(), high.max()], float)


def _seen(page: Chromium, name: str) -> tuple[SeenRobot, np.ndarray]:
    """Check that the robot is where it should be; return it, and by how much it changes pixels.

    Time stands, at the initial configuration.
    """
    canvas = page.run(_CANVAS)
    robot, change = SeenRobot(name, tuple(canvas)), _drawn(page)
    wanted = robot.box
    if name.endswith("hopper"):  # the view has gone with it when it hopped
        solid = _edges(change > _STRONG)
        wanted = wanted + np.tile(solid[2:] + solid[:2] - wanted[2:] - wanted[:2], 2) / 2.0
        near = 2.0 * _NEAR
    else:
        near = _NEAR
    rows, columns = np.ogrid[: change.shape[0], : change.shape[1]]
    inside = (columns > wanted[0] - near) & (columns < wanted[2] + near)
    inside = inside & (rows > wanted[1] - near) & (rows < wanted[3] + near)
    strong = change > _STRONG
    assert strong[inside].sum() > 0.995 * strong.sum(), f"{name} is beside {wanted}"
    found = _edges((change > _DRAWN) & inside)
    assert np.abs(found - wanted).max() <= near + 1.0, f"{name} is at {found}, not {wanted}"
    filled = float(max((found[2:] - found[:2]) / np.array(canvas[2:])))
    print(f"{name}: at {found.round()}, projected {wanted.round()}, fills {filled:.0%}")
    assert 0.25 < filled < 0.75
    return robot, change


def _is_at_rest(page: Chromium) -> None:
    """Let time stand at the start, without markers; plots and balance have moved before."""
    page.await_text("Energy is conserved", 60.0)
    page.await_true(f"!!{_PLOT}", "there is no plot")
    page.run(f"window.before = {_PLOT}")
    page.await_true(f"{_PLOT} != window.before", "the plot does not move")
    assert page.run("document.querySelectorAll('svg.ef path').length") >= 6
    page.click("View")
    for marker in _MARKERS:
        if page.run(f"!!{field(marker)}"):
            page.untick(marker)
    page.click("Control")
    page.tick("paused")
    page.await_text("simulation paused")
    page.click("reset")
    time.sleep(1.0)
    assert not page.run("document.body.innerText.includes('not done')")
    page.click("View")


def _value(observer: Observer, node: str, name: str) -> float:
    request = GetParameters.Request(names=[name])
    answer = observer.call(GetParameters, f"{node}/get_parameters", request)
    return float(answer.values[0].double_value)


def _stamp(observer: Observer) -> float:
    stamp = observer.take(JointState, "joint_states").header.stamp
    return float(stamp.sec + 1e-9 * stamp.nanosec)


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


def _gain(page: Chromium, observer: Observer, name: str, value: float) -> None:
    """A gain that is changed is a parameter of the controller; one beyond its bounds is none."""
    page.await_true(f"!!{field(name)}", f"there is no {name!r}")
    page.fill(field(name), f"{value:g}")
    end = time.monotonic() + 20.0
    while _value(observer, "controller", name) != value:
        assert time.monotonic() < end, f"{name} is not {value}"
    page.await_text(f"{name} {value!r}")


def _push(page: Chromium, observer: Observer) -> None:
    """A push gives energy; after a reset there is none of it."""
    page.fill(field("for (s)"), "0.3")
    page.click("push")
    observer.take(Power, "vms_ph/power", lambda p: abs(p.wrench_end_effector_energy) > 1e-6)
    page.click("reset")
    observer.take(Power, "vms_ph/power", lambda p: abs(p.wrench_end_effector_energy) < 1e-9)


def _speed(page: Chromium, observer: Observer) -> None:
    """Slow motion is the parameter of the simulator, and time passes slowly."""
    page.choose("speed", "0.1")
    end = time.monotonic() + 20.0
    while _value(observer, "simulator", "real_time_factor") != 0.1:
        assert time.monotonic() < end, "the speed is not 0.1"
    first, begun = _stamp(observer), time.monotonic()
    observer.spin(2.0)
    passed = _stamp(observer) - first
    assert 0.0 < passed < 0.2 * (time.monotonic() - begun)
    page.choose("speed", "1")


def _dark(page: Chromium) -> None:
    """The dark theme is dark."""
    page.click("View")
    page.tick("dark")
    end = time.monotonic() + 20.0
    while (shade := page.picture()[:, -380:].mean()) > 0.4:
        assert time.monotonic() < end, f"the panel is not dark: {shade}"
    page.tick("dark")


def _dragged_link(page: Chromium, observer: Observer, x: float, y: float) -> None:
    """A link that is dragged while Shift is held is pulled, until it is let go."""
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


def _handle(page: Chromium, observer: Observer, robot: SeenRobot) -> None:
    """The handle is dragged along its axis; the reference is where it is, and the robot follows."""
    page.tick("handle in the scene")
    time.sleep(2.0)
    place, size = robot.end_effector[:3, 3], 0.25 * reach(robot.model)
    tips = [place + 0.75 * size * axis for axis in robot.end_effector[:3, :3].T]
    (x, y), *ends = robot.pixels(np.array([place, *tips]))
    axis = int(np.argmax([np.hypot(u - x, v - y) for u, v in ends]))
    u, v = ends[axis]
    references: list[PoseStamped] = []
    subscription = observer.node.create_subscription(
        PoseStamped, "controller/reference_pose", references.append, 10
    )
    observer.spin(1.0)
    page.move(u, v)
    page.press(u, v)
    for k in range(1, 6):
        page.move(u + 0.1 * k * (u - x), v + 0.1 * k * (v - y))
        observer.spin(0.3)
    page.release(u + 0.5 * (u - x), v + 0.5 * (v - y))
    observer.until(lambda: references, "there is no reference")
    observer.spin(1.0)
    last = references[-1].pose.position
    moved = np.array([last.x, last.y, last.z]) - place
    along = float(moved @ robot.end_effector[:3, axis])
    assert 0.1 * size < along < 0.8 * size
    assert np.linalg.norm(moved) < 1.2 * along
    observer.node.destroy_subscription(subscription)
    observer.take(ControllerState, "controller/state", lambda m: m.task_error < 0.2 * along)
    page.await_text("controller/reference_pose")
    page.tick("handle in the scene")


_ALL = [
    pytest.param(name, marks=[] if name == _SHORT else pytest.mark.slow) for name in robots.names()
]


@pytest.mark.parametrize("name", _ALL)
def test_a_robot_is_seen_where_it_is_and_its_controls_act(
    name: str, start: Start, observer: Observer, tmp_path: Path
) -> None:
    with _shown(start, tmp_path, "launch", f"{name}.launch.xml") as page:
        _is_at_rest(page)
        _seen(page, name)
        page.click("Control")
        page.tick("paused")
        if not name.endswith("hopper"):  # a push on a leg on the floor is that of the floor
            _push(page, observer)
        if name == _SHORT:
            page.click("Gains")
            _gain(page, observer, "frequency_base", 1.25)


@pytest.mark.slow
def test_time_and_theme_are_changed(start: Start, observer: Observer, tmp_path: Path) -> None:
    with _shown(start, tmp_path, "launch", f"{_SHORT}.launch.xml") as page:
        page.await_text("Energy is conserved")
        page.click("Control")
        _speed(page, observer)
        _time(page, observer)
        _dark(page)


@pytest.mark.slow
def test_the_handle_and_a_link_are_dragged(
    start: Start, observer: Observer, tmp_path: Path
) -> None:
    with _shown(start, tmp_path, "launch", "panda.launch.xml") as page:
        _is_at_rest(page)
        robot, change = _seen(page, "panda")
        page.click("Control")
        page.tick("paused")
        _dragged_link(page, observer, *_hand(robot, change))
        _handle(page, observer, robot)


def _hand(robot: SeenRobot, change: np.ndarray) -> tuple[float, float]:
    """Return x and y of a pixel of the robot near its end effector; a fixed base is not moved."""
    (x, y), *_ = robot.pixels(robot.end_effector[:3, 3][None])
    rows, columns = np.ogrid[: change.shape[0], : change.shape[1]]
    return _amid((change > _DRAWN) & (np.hypot(columns - x, rows - y) < 40.0))


def _amid(mask: np.ndarray) -> tuple[float, float]:
    """Return x and y of the pixel amid the largest area."""
    depth, layer = mask.astype(int), mask
    while layer.any():
        inner = np.zeros_like(layer)
        inner[1:-1, 1:-1] = layer[1:-1, 1:-1] & layer[:-2, 1:-1] & layer[2:, 1:-1]
        inner[1:-1, 1:-1] &= layer[1:-1, :-2] & layer[1:-1, 2:]
        layer = inner
        depth += layer
    row, column = np.unravel_index(depth.argmax(), depth.shape)
    return float(column), float(row)


# The field beside the time line.
_TIME = "[...document.querySelectorAll('input')].find(e => e.inputMode == 'decimal')"


@pytest.mark.slow
def test_a_recorded_run_is_scrubbed_and_other_files_are_taken_or_refused(
    start: Start, tmp_path: Path
) -> None:
    bag, other = record(tmp_path / "run"), record(tmp_path / "other", shift=0.4)
    words = ("bag", "view", str(bag), "--robot", "panda")
    with _shown(start, tmp_path / "profile", *words) as page:
        page.await_text("unaccounted", 60.0)
        page.await_text("Energies over the run", 60.0)
        time.sleep(3.0)
        begin = page.picture()
        page.fill(_TIME, "0.5")
        _await_change(page, begin)
        # The angle of the first joint is recorded as sin 3 t.
        at = page.picture()
        page.fill(_TIME, "1.0")
        _await_change(page, at)
        page.choose("plot", "power, as in the audit's report")
        page.await_text("panda_joint7")
        page.click("Other recordings")
        time.sleep(1.0)
        file = next(other.glob("*.mcap"))
        page.give(file)
        page.await_text(f"/{file.name}", 60.0)
        garbage = tmp_path / "garbage.mcap"
        garbage.write_bytes(b"no recording")
        page.give(garbage)
        page.await_text("garbage.mcap cannot be shown", 60.0)


def _await_change(page: Chromium, before: np.ndarray) -> None:
    end = time.monotonic() + 120.0
    while (np.abs(page.picture() - before)[:, 320:800].max(axis=2) > 0.1).mean() < 0.003:
        assert time.monotonic() < end, "the robot does not move"
        time.sleep(1.0)
