# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The page in a real browser: every robot is where it should be, and its controls act."""

import time
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

pytest.importorskip("viser")
from vms_ph_nodes.views.shapes import reach

from .page_geometry import SeenRobot
from .page_session import BEGINS, LONG, await_change, await_rest, hand, seen, shown

pytestmark = [
    pytest.mark.wire,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed"),
]

_SHORT = "bluerov2_alpha5"

# A machine that draws without a graphics card has no time for more.
_LIGHT = ("markers:=false", "real_time_factor:=0.25")


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
        observer.until(lambda number=number: len(received) >= number, "no step", BEGINS)  # type: ignore[misc]
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
    end = time.monotonic() + BEGINS
    while _value(observer, "controller", name) != value:
        assert time.monotonic() < end, f"{name} is not {value}"
    page.await_text(f"{name} {value!r}")


def _push(page: Chromium, observer: Observer) -> None:
    """A push gives energy; after a reset there is none of it."""
    page.fill(field("for (s)"), "0.3")
    page.click("push")
    observer.take(Power, "vms_ph/power", lambda p: abs(p.wrench_end_effector_energy) > 1e-6, BEGINS)
    page.click("reset")
    observer.take(Power, "vms_ph/power", lambda p: abs(p.wrench_end_effector_energy) < 1e-9, BEGINS)


def _speed(page: Chromium, observer: Observer) -> None:
    """Slow motion is the parameter of the simulator, and time passes slowly."""
    page.choose("speed", "0.1")
    end = time.monotonic() + BEGINS
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
    end = time.monotonic() + BEGINS
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
    observer.until(lambda: found and max(found) > 1e-3, "nothing is pulled", BEGINS)
    page.release(x + 60.0, y - 30.0, SHIFT)
    observer.until(lambda: found[-1] == 0.0, "the spring is not let go", BEGINS)
    for subscription in subscriptions:
        node.destroy_subscription(subscription)


def _handle(page: Chromium, observer: Observer, robot: SeenRobot) -> None:
    """The handle is dragged along its axis; the reference is where it is, and the robot follows."""
    before = page.picture()
    page.tick("handle in the scene")
    await_change(page, before, 0.001)
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
    observer.until(lambda: references, "there is no reference", BEGINS)
    observer.spin(1.0)
    last = references[-1].pose.position
    moved = np.array([last.x, last.y, last.z]) - place
    along = float(moved @ robot.end_effector[:3, axis])
    assert 0.1 * size < along < 0.8 * size
    assert np.linalg.norm(moved) < 1.2 * along
    observer.node.destroy_subscription(subscription)
    observer.take(ControllerState, "controller/state", lambda m: m.task_error < 0.2 * along, BEGINS)
    page.await_text("controller/reference_pose")
    page.tick("handle in the scene")


_ALL = [
    pytest.param(name, marks=[] if name == _SHORT else [pytest.mark.slow, LONG])
    for name in robots.names()
]


@pytest.mark.parametrize("name", _ALL)
def test_a_robot_is_seen_where_it_is_and_its_controls_act(
    name: str, start: Start, observer: Observer, tmp_path: Path
) -> None:
    with shown(start, tmp_path, "launch", f"{name}.launch.xml", *_LIGHT) as page:
        await_rest(page)
        seen(page, name)
        page.click("Control")
        page.tick("paused")
        if not name.endswith("hopper"):  # a push on a leg on the floor is that of the floor
            _push(page, observer)
        if name == _SHORT:
            _gain(page, observer, "frequency_base", 1.25)


@pytest.mark.slow
@LONG
def test_time_and_theme_are_changed(start: Start, observer: Observer, tmp_path: Path) -> None:
    with shown(start, tmp_path, "launch", f"{_SHORT}.launch.xml") as page:
        page.await_text("Energy is conserved")
        page.click("Control")
        _speed(page, observer)
        _time(page, observer)
        _dark(page)


@pytest.mark.slow
@LONG
def test_the_handle_and_a_link_are_dragged(
    start: Start, observer: Observer, tmp_path: Path
) -> None:
    with shown(start, tmp_path, "launch", "panda.launch.xml") as page:
        await_rest(page)
        robot, change = seen(page, "panda")
        page.click("Control")
        page.tick("paused")
        _dragged_link(page, observer, *hand(robot, change))
        _handle(page, observer, robot)
