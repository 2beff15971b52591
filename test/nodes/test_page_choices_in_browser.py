# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What else is done in a real browser: choices, recordings, the tank; who may look, and who not."""

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import viser
import yaml
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from vms_ph.msg import ControllerState

from vms_ph_io import robots
from vms_ph_io.bag import bag_info
from vms_ph_io.installation import share_directory

from .chromium import PROGRAM, Chromium, field
from .conftest import Start
from .observer import Observer
from .page_session import BEGINS, CLOSE_NOTES, LONG, await_change, browser, served, shown

pytestmark = [
    pytest.mark.wire,
    pytest.mark.slow,
    LONG,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed"),
]

# Slow motion: a machine that draws without a graphics card has no time for more.
_LIGHT = ("markers:=false", "real_time_factor:=0.25")


def _arguments(observer: Observer) -> str:
    """Return the launch arguments of the controller that runs; empty while none answers."""
    request = GetParameters.Request(names=["launch_arguments"])
    answer = observer.ask(GetParameters, "controller/get_parameters", request)
    end = time.monotonic() + _ANSWERS
    while not answer.done() and time.monotonic() < end:
        observer.spin(0.1)
    return str(answer.result().values[0].string_value) if answer.done() else ""


# A node that ends does not answer a request that it has received: it is asked again after this, s.
_ANSWERS = 10.0


def _joints(observer: Observer, wanted: set[str]) -> None:
    observer.take(JointState, "joint_states", lambda m: set(m.name) == wanted, BEGINS)


def test_robot_law_and_scene_are_chosen_from_lists_which_the_command_fills(
    start: Start, observer: Observer, tmp_path: Path
) -> None:
    told: list[str] = []
    node = observer.node
    heard = [
        node.create_subscription(
            String, f"/vms_ph/choose/{topic}", lambda m: told.append(m.data), 10
        )
        for topic in ("robot", "law", "scene")
    ]
    own, broken, law = (tmp_path / name for name in ("own.urdf", "broken.urdf", "my_law.py"))
    own.write_text(robots.get("panda").description())
    broken.write_text("<robot name='<b>'><link name='<img src=x>'/><link name='b'/></robot>")
    law.write_text("from vms_ph_controllers import PoseIDAPBC as Mine")
    named = (f"robots:={own},{broken}", f"laws:={law}:Mine")
    with shown(start, tmp_path / "profile", "page", "panda", *named) as page:
        _at(page, "panda")
        assert "own law" not in page.text()
        page.choose("law", f"{law}:Mine")
        observer.until(lambda: told == [f"{law}:Mine"], "no law is chosen", BEGINS)
        _await_argument(observer, f"controller={law}:Mine")
        _at(page, "panda")
        page.run(CLOSE_NOTES)
        before = page.picture()
        page.choose("scene", "wall")
        observer.until(lambda: told[1:] == ["wall"], "no scene is chosen", BEGINS)
        _await_argument(observer, "scene=wall")
        _at(page, "panda")
        await_change(page, before, 0.1)  # the wall is larger than the robot
        page.choose("robot", "borinot")
        observer.until(lambda: told[2:] == ["borinot"], "no robot is chosen", BEGINS)
        _joints(observer, set(robots.load("borinot").joint_names))
        _at(page, "borinot")
        page.choose("robot", str(broken))
        page.await_text("not done")
        page.await_text("<img src=x>")
        page.choose("robot", str(own))
        _joints(observer, set(robots.load("panda").joint_names))
        assert told[3:] == [str(own)]
        _at(page, "panda")
    for each in heard:
        node.destroy_subscription(each)


def _at(page: Chromium, name: str) -> None:
    """Await the page of a robot, with its lists, in its tab of controls."""
    page.await_text(f"vms_ph: {name}", BEGINS)
    # A line says this until something is chosen: the page is that of the new launch. The tabs of
    # a page that begins anew do so, too.
    end = time.monotonic() + BEGINS
    while "The page begins anew with what is chosen" not in page.text():
        assert time.monotonic() < end, page.text()
        page.click("Control")
        time.sleep(2.0)
    page.await_true(f"!!{field('law')}", "there are no lists", BEGINS)


def _await_argument(observer: Observer, wanted: str) -> None:
    observer.until(lambda: wanted in _arguments(observer), f"{wanted} does not run", BEGINS)


def test_a_recording_is_started_and_ended_and_the_tank_is_refilled(
    start: Start, observer: Observer, tmp_path: Path
) -> None:
    config = yaml.safe_load((share_directory() / "config/panda.yaml").read_text())
    own = config.setdefault("controller", {}).setdefault("ros__parameters", {})
    own |= {"tank_capacity": 2.0, "tank_initial": 1.0}
    file = tmp_path / "with_tank.yaml"
    file.write_text(yaml.safe_dump(config))
    words = ("launch", "panda.launch.xml", f"config:={file}", *_LIGHT)
    with (
        served(start, *words) as (program, address),
        browser(address, tmp_path / "profile") as page,
    ):
        page.await_text("tank", BEGINS)
        page.click("Control")
        page.tick("record all topics")
        page.await_text("vms-ph bag record -o ")
        line = next(each for each in page.text().splitlines() if "bag record -o" in each)
        bag = program.folder / line.rpartition(" ")[2]
        # The damping of the push fills the tank on; a refill takes it back at once, and then it
        # changes again: no message need have the very first level.
        levels = [1.0]
        heard = observer.node.create_subscription(
            ControllerState, "controller/state", lambda m: levels.append(m.tank_level), 100
        )
        page.fill(field("for (s)"), "0.5")
        page.click("push")
        observer.until(lambda: levels[-1] > 1.01, "the push does not fill the tank", BEGINS)
        high = levels[-1]
        page.click("restart the law, refill its tank")
        observer.until(
            lambda: abs(levels[-1] - 1.0) < 0.2 * (high - 1.0), "no tank is refilled", BEGINS
        )
        observer.node.destroy_subscription(heard)
        assert "not done" not in page.text()
        observer.until(lambda: [*bag.glob("*.mcap")], "nothing is recorded", BEGINS)
        observer.receive(JointState, "joint_states", 20, BEGINS)
        page.tick("record all topics")
        page.await_text(f"vms-ph bag view {bag.relative_to(program.folder)}")
        numbers = {each.topic.name: each.message_count for each in bag_info(bag).topics}
        assert numbers["/joint_states"] > 10
        assert numbers["/controller/state"] > 10


def test_a_page_to_look_at_has_no_controls(
    start: Start, observer: Observer, tmp_path: Path
) -> None:
    words = ("launch", "borinot.launch.xml", "view_only:=true", *_LIGHT)
    with shown(start, tmp_path / "profile", *words) as page:
        page.await_text("Energy is conserved", BEGINS)
        said = page.text()
        assert "View" in said
        assert "Control" not in said
        assert "Shift" not in said
        node = observer.node
        assert node.count_subscribers("simulator/wrench_end_effector")
        assert not node.count_publishers("simulator/wrench_end_effector")
        assert not node.count_publishers("controller/reference_pose")


# Opens a connection as the page does; tells what becomes of it.
_CONNECT = """window.found = '', window.socket = new WebSocket('%s', 'viser-v%s'),
socket.onopen = () => window.found += 'open ', socket.onerror = () => window.found += 'refused '"""


def test_two_browsers_share_a_page_and_a_page_of_another_origin_is_refused(
    start: Start, observer: Observer, tmp_path: Path
) -> None:
    with (
        served(start, "launch", "borinot.launch.xml", *_LIGHT) as (_, address),
        browser(address, tmp_path / "first") as first,
        browser(address, tmp_path / "second") as second,
    ):
        for page in (first, second):
            page.await_text("Energy is conserved", BEGINS)
            page.click("Control")
        first.tick("paused")
        for page in (first, second):
            page.await_text("simulation paused")
        second.await_true(f"{field('paused')}.checked", "the other page does not show it")
        second.tick("paused")
        first.await_true(f"!{field('paused')}.checked", "the first page does not show it")
        # What one browser pushes, the other one shows.
        pushes: list[WrenchStamped] = []
        topic = "simulator/wrench_end_effector"
        heard = observer.node.create_subscription(WrenchStamped, topic, pushes.append, 10)
        observer.until(lambda: observer.node.count_publishers(topic), "no page")
        second.click("push")
        observer.until(lambda: any(m.wrench.force.x for m in pushes), "no push", BEGINS)
        observer.node.destroy_subscription(heard)
        call = _CONNECT % (address.replace("http", "ws"), viser.__version__)
        second.run(call)
        second.await_true("window.found == 'open '", "the page itself is refused")
        with _elsewhere(tmp_path) as other:
            second.open(f"http://127.0.0.1:{other}")
            second.await_text("another page")
            second.run(call)
            second.await_true("window.found == 'refused '", "another page is let in")
        first.await_text("Energy is conserved")


@contextmanager
def _elsewhere(folder: Path) -> Iterator[int]:
    """Serve a page of another origin; give its port."""
    (folder / "site").mkdir()
    (folder / "site/index.html").write_text("<link rel=icon href='data:,'>another page")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given: object) -> None:
            super().__init__(*given, directory=str(folder / "site"))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()
