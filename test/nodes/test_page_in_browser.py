"""The page in a real browser: the robot fills the view, and the controls command it."""

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
from std_srvs.srv import SetBool
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
        program.interrupt()


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


def _await_value(observer: Observer, node: str, name: str, value: float) -> None:
    end = time.monotonic() + 30.0
    while (found := _value(observer, node, name)) != value:
        assert time.monotonic() < end, f"{name} of {node} is {found}, not {value}"
        time.sleep(0.2)


def _stamp(observer: Observer) -> float:
    stamp = observer.take(JointState, "joint_states").header.stamp
    return float(stamp.sec + 1e-9 * stamp.nanosec)


@pytest.mark.slow
@pytest.mark.parametrize("name", robots.names())
def test_every_control_changes_what_it_says(
    name: str, start: Start, observer: Observer, tmp_path: Path
) -> None:
    with _shown(start, tmp_path, "launch", f"{name}.launch.xml") as page:
        _await_robot(page)
        page.await_text("Energy is conserved")
        plot = "document.querySelector('.uplot canvas').toDataURL()"
        page.run(f"window.before = {plot}")
        page.await_true(f"{plot} != window.before", "the plot does not move")
        page.click("Control")
        _dragged_links(page, observer)
        _time(page, observer)
        _gains(page, observer)
        if not name.endswith("hopper"):
            _reference(page, observer)
        page.tick("record all topics")
        page.await_text("vms-ph bag record -o")
        time.sleep(3.0)
        page.tick("record all topics")
        page.await_text("bag view", 60.0)
        page.click("View")
        page.tick("dark")
        page.await_true(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] < 100",
            "the page is not dark",
        )


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
    assert received[1] - received[0] == pytest.approx(0.05, abs=1e-6)
    observer.node.destroy_subscription(subscription)
    page.tick("paused")
    before = _stamp(observer)
    observer.until(lambda: _stamp(observer) > before, "time does not go on")


def _gains(page: Chromium, observer: Observer) -> None:
    """A gain of the page is the parameter of the node, and what is not allowed is not taken."""
    page.click("Gains")
    name = "damping_ratio" if page.run(f"!!{field('damping_ratio')}") else "tank_initial"
    before = _value(observer, "controller", name)
    after = 0.5 * before if before else 0.25
    page.fill(field(name), repr(after))
    _await_value(observer, "controller", name, after)
    page.await_text(f"ros2 param set /controller {name}")


# Colours of the axes of the handle.
_AXES = ((1.0, 0.125, 0.376), (0.125, 0.5, 1.0))


def _reference(page: Chromium, observer: Observer) -> None:
    """The reference of the controller follows the handle, and the law restarts where it is."""
    page.tick("handle in the scene")
    end = time.monotonic() + 30.0
    taken: list[PoseStamped] = []
    topic = "controller/reference_pose"
    subscription = observer.node.create_subscription(PoseStamped, topic, taken.append, 10)
    while not taken:
        assert time.monotonic() < end, "the handle does not move the reference"
        picture = page.picture()[:, : int(0.66 * 1280)]
        near = [np.abs(picture - np.array(colour)).max(axis=2) < 0.12 for colour in _AXES]
        places = np.argwhere(near[0] | near[1])
        if len(places) < 20:
            time.sleep(0.5)
            continue
        # The tip of an arrow is farthest from the middle of the handle.
        away = np.linalg.norm(places - places.mean(axis=0), axis=1)
        y, x = places[np.argsort(away)[-len(places) // 20]].astype(float)
        toward = (np.array([y, x]) - places.mean(axis=0)) / away.max()
        page.press(x, y)
        for k in range(1, 5):
            page.move(x + 8.0 * k * toward[1], y + 8.0 * k * toward[0])
            observer.spin(0.4)
        page.release(x + 32.0 * toward[1], y + 32.0 * toward[0])
        observer.spin(1.0)
    observer.node.destroy_subscription(subscription)
    page.tick("handle in the scene")
    page.click("restart the law, refill its tank")
    page.await_text("ros2 service call /controller/restart")
    page.click("reset")


@pytest.mark.slow
def test_a_page_that_is_opened_while_time_stands_shows_the_present_pose(
    start: Start, observer: Observer, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    launch = start("launch", "panda.launch.xml", "web:=true", f"port:={port}")
    launch.await_output("web page at")
    observer.take(JointState, "joint_states")
    observer.call(SetBool, "simulator/pause", SetBool.Request(data=True))
    page = Chromium(f"http://127.0.0.1:{port}", tmp_path)
    try:
        _await_robot(page)
        page.await_text("simulation paused")
        page.click("Control")
        page.await_true(f"{field('paused')}.checked", "the control says that time goes on")
    finally:
        page.close()
        launch.interrupt()


@pytest.mark.slow
def test_robots_and_laws_are_chosen_on_the_page(start: Start, tmp_path: Path) -> None:
    with _shown(start, tmp_path, "page", "prismatic_hopper") as page:
        page.await_text("Energy is conserved", 120.0)
        page.click("Control")
        page.fill(field("own robot"), "no_such.urdf")
        page.click("take what is written")
        page.await_text("not done")
        page.fill(field("own robot"), str(Path(__file__).parent / "own_drone.urdf"))
        page.click("take what is written")
        page.await_text("vms_ph: drone", 120.0)
        page.await_text("Energy is conserved", 60.0)
        page.errors.clear()  # while no server was there


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
        # A file that is chosen in the browser is a run like the others.
        page.click("Other recordings")
        page.choose_file(next(bag.rglob("*.mcap")))
        page.await_text(next(bag.rglob("*.mcap")).name, 60.0)
