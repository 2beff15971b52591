# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The observed payload is told to the driver of the robot, once the user has confirmed it."""

import re
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from controllers.support.observed_robots import holding, moving_arm, samples
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from vms_ph.msg import Payload

from vms_ph_controllers import CartesianImpedance, Reference, RobotState
from vms_ph_controllers.laws.payload_compensation import PayloadCompensation
from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_dynamics.capture import Body, with_body
from vms_ph_io import load_urdf, robots
from vms_ph_nodes.force_observer import ForceObserver
from vms_ph_nodes.messages.conversions import to_stamp
from vms_ph_nodes.messages.observations import from_payload
from vms_ph_nodes.topics import payload_sender
from vms_ph_nodes.topics.payload_sender import fill_request

pytest.importorskip("vms_ph_embedded")
from vms_ph_embedded.activation import _InterfaceModule
from vms_ph_embedded.interfaces import store

# The fields of the services as the drivers publish them; of ur_msgs in its three layouts.
SERVICES = {
    "franka_msgs/SetLoad": (
        "float64 mass\nfloat64[3] center_of_mass\nfloat64[9] load_inertia\n"
        "---\nbool success\nstring error\n"
    ),
    "ur_msgs/SetPayload": (
        "float32 mass\ngeometry_msgs/Vector3 center_of_gravity\n---\nbool success\n"
    ),
    "ur_msgs_lyrical/SetPayload": (
        "float32 mass\ngeometry_msgs/Vector3 center_of_gravity\nfloat64 ixx\nfloat64 iyy\n"
        "float64 izz\nfloat64 ixy\nfloat64 ixz\nfloat64 iyz\n"
        "builtin_interfaces/Duration transition_time\n---\nbool success\n"
    ),
    "ur_msgs_rolling/SetPayload": (
        "geometry_msgs/Inertia payload\nbuiltin_interfaces/Duration transition_time\n"
        "---\nbool success\n"
    ),
    "other_msgs/SetPayload": "float64 weight\n---\nbool success\n",
}
CENTRE, MASS = np.array([0.02, -0.01, 0.08]), 1.0


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Install the packages of the drivers; the function returns the class of a service."""

    def install(name: str) -> Any:
        package, service = name.split("/")
        folder = tmp_path / package / "srv"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{service}.srv").write_text(SERVICES[name])
        monkeypatch.setitem(store._share_folders, package, tmp_path / package)
        parent, module = _InterfaceModule(package), _InterfaceModule(f"{package}.srv")
        monkeypatch.setitem(sys.modules, package, parent)
        monkeypatch.setitem(sys.modules, f"{package}.srv", module)
        return getattr(module, service)

    return install


class Session:
    """The observer, a driver and a robot whose states are published, in one process.

    Attributes:
        requests: that the driver has received.
        answer: of the driver; None where it never answers.
        payloads: that the observer has published.
    """

    def __init__(
        self, kind: Any, service: str, driver: str, robot: str = "panda", *words: str
    ) -> None:
        words = (f"robot:={robot}", f"payload_driver:={driver}", *words)
        parameters = [word for parameter in words for word in ("-p", parameter)]
        rclpy.init(args=["--ros-args", *parameters], domain_id=84)
        self.requests: list[Any] = []
        self.answer: dict[str, Any] | None = {"success": True}
        self.payloads: list[Payload] = []
        self._user, self._driver = Node("user"), Node("driver")
        self._executor = SingleThreadedExecutor()
        self._states = self._user.create_publisher(JointState, "joint_states", 50)
        self._user.create_subscription(Payload, "vms_ph/payload", self.payloads.append, 50)
        self._client = self._user.create_client(SetBool, "/force_observer/set_payload")
        if kind is not None:
            self._driver.create_service(kind, service, self._take)
        self.observer = ForceObserver()
        self._nodes = [self._user, self._driver, self.observer]
        for node in self._nodes:
            self._executor.add_node(node)
        self._time = 1_000_000_000
        self._never: Future = Future()
        self.until(lambda: self._client.service_is_ready())
        self.until(lambda: self._states.get_subscription_count() == 1)

    def close(self) -> None:
        self._executor.shutdown()
        for node in self._nodes:
            node.destroy_node()
        rclpy.shutdown()

    async def _take(self, request: Any, response: Any) -> Any:
        self.requests.append(request)
        if self.answer is None:
            await self._never
        for name, value in (self.answer or {}).items():
            setattr(response, name, value)
        return response

    def until(self, holds: Callable[[], Any], seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end
            self._executor.spin_once(0.02)

    def move(self, heavy: VMSModel, q: np.ndarray, moving: float = 1.0) -> None:
        """Publish what the sensors of the loaded robot measure while it moves and stops."""
        dt, free = 1e-2, np.zeros(heavy.n)
        move, hold = moving_arm(heavy, q), holding(heavy, q)
        still = holding(heavy, None)

        def effort(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            if t < moving:
                return move(t, q, v)
            # It rests where it is after the stop.
            return hold(t, q, v) if t < moving + 1.5 else still(t, q, v)

        moments = list(samples(heavy, q, effort, lambda *_: free, dt, round(moving / dt) + 170, 1))
        for last, following in pairwise(moments):
            # Where an effort jumps, its message has the mean of both sides.
            self.publish(heavy, last.q, last.v, 0.5 * (last.effort + following.effort))

    def publish(self, model: VMSModel, q: np.ndarray, v: np.ndarray, effort: np.ndarray) -> None:
        """Publish a state 10 ms after the last one, and wait until it is observed."""
        self._time += 10_000_000
        state = JointState(name=list(model.joint_names), position=q.tolist(), velocity=v.tolist())
        state.header.stamp, state.effort = to_stamp(self._time), effort.tolist()
        self._states.publish(state)
        self.until(lambda: (self.observer._last_effort or [0])[0] == self._time, 5.0)

    def call(self, confirmed: bool) -> tuple[bool, str]:
        future = self._client.call_async(SetBool.Request(data=confirmed))
        self.until(future.done)
        return future.result().success, future.result().message


@pytest.fixture
def start() -> Iterator[Callable[..., Session]]:
    sessions = []

    def begin(*arguments: Any) -> Session:
        sessions.append(Session(*arguments))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.close()


def loaded(model: VMSModel, mass: float = MASS) -> VMSModel:
    return with_body(model, Body(mass, CENTRE, 2e-3 * mass * np.eye(3)))


def test_the_driver_is_told_the_payload_once_and_the_observer_counts_it_no_more(
    services: Callable[[str], Any], start: Callable[..., Session]
) -> None:
    session = start(services("franka_msgs/SetLoad"), "/service_server/set_load", "franka_fer")
    model = robots.load("panda")
    q = model.home
    assert "no payload is observed yet" in session.call(False)[1]
    session.move(loaded(model), q)
    assert session.call(True) == (
        False,
        "not set: ask what would be sent first: call with data: false",
    )
    success, text = session.call(False)
    assert success
    assert re.search(
        r"would send (1|1\.0\d*|0\.99\d*) kg \(0\.9\d* to 1\.0\d*\), centre of mass", text
    ), text
    assert "panda_link8, to service_server/set_load" in text
    assert session.requests == []
    success, text = session.call(True)
    assert success, text
    assert re.match(r"sent (1|0\.99)", text)
    (request,) = session.requests
    assert request.mass == pytest.approx(MASS, abs=0.02)
    np.testing.assert_allclose(request.center_of_mass, CENTRE, atol=0.005)
    tensor = np.reshape(request.load_inertia, (3, 3), order="F")
    np.testing.assert_array_equal(tensor, tensor.T)
    # The moments of a solid sphere of water: 2/5 m r^2.
    radius = np.cbrt(request.mass / (4.0 / 3.0 * np.pi * 1000.0))
    np.testing.assert_allclose(tensor, 0.4 * request.mass * radius**2 * np.eye(3), atol=1e-12)
    assert session.call(True)[0] is False  # a confirmation holds once

    # The sensors of the joints measure the payload as before; it counts no more.
    session.move(loaded(model), q)
    rest = session.payloads[-1]
    assert abs(rest.mass) < 0.03
    assert rest.mass_deviation < 0.03
    law = PayloadCompensation(CartesianImpedance(model))
    assert law.carry(from_payload(rest)) == ""
    law.update(RobotState(q, np.zeros(7)), Reference(), 0.1)
    assert law.mass == 0.0
    assert session.call(False)[0]
    assert session.call(True)[0]
    assert session.requests[1].mass == pytest.approx(MASS, abs=0.02)

    # It is put down: the driver is told zero, and carries nothing any more.
    session.move(model, q)
    assert session.payloads[-1].mass == pytest.approx(-MASS, abs=0.03)
    success, text = session.call(False)
    assert success, text
    assert "no load" in text
    assert session.call(True)[0]
    assert session.requests[2].mass == 0.0
    session.move(model, q)
    assert session.payloads[-1].mass == pytest.approx(0.0, abs=0.03)


def test_nothing_is_sent_of_what_is_unsure_old_moving_or_too_heavy(
    services: Callable[[str], Any], start: Callable[..., Session]
) -> None:
    session = start(services("franka_msgs/SetLoad"), "/service_server/set_load", "franka_fer")
    model = robots.load("panda")
    q, heavy = model.home, loaded(model, 4.0)
    still = np.zeros(7)
    for _ in range(3):
        session.publish(heavy, q, still, heavy.evaluate(q, still).g)
    assert "the mass is not known well enough" in session.call(False)[1]
    for _ in range(150):
        session.publish(heavy, q, still, heavy.evaluate(q, still).g)
    assert re.search(
        "centre of mass is known to .* m only; turn the end effector", session.call(False)[1]
    )
    session.move(heavy, q)
    assert "more than the 3 kg allowed" in session.call(False)[1]
    time.sleep(0.6)
    assert "the last joint states came" in session.call(False)[1]
    v = np.full(7, 0.1)
    session.publish(heavy, q, v, heavy.evaluate(q, v).g)
    assert "the robot moves with 0.1" in session.call(False)[1]
    assert session.requests == []


def test_a_driver_that_refuses_is_silent_or_absent_is_said(
    services: Callable[[str], Any],
    start: Callable[..., Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(payload_sender, "_ANSWER_TIME", 0.5)
    session = start(services("franka_msgs/SetLoad"), "/service_server/set_load", "franka_fer")
    model = robots.load("panda")
    session.move(loaded(model), model.home)
    session.answer = {"success": False, "error": "command not possible in the current mode (Move)"}

    def confirm() -> str:
        still = np.zeros(7)
        session.publish(model, model.home, still, loaded(model).evaluate(model.home, still).g)
        assert session.call(False)[0]
        success, text = session.call(True)
        assert not success
        return text

    assert re.search(r"set_load refused .* in the current mode \(Move\)", confirm())
    session.answer = {"success": False, "error": ""}
    assert "without a reason" in confirm()
    session.answer = None
    assert "service_server/set_load did not answer in 0.5 s" in confirm()
    assert len(session.requests) == 3
    session._driver.destroy_node()
    session.until(lambda: not session.observer._payload_sender._client.service_is_ready())
    assert "there is no service service_server/set_load" in confirm()


def test_a_driver_that_counts_the_tool_is_told_the_tool_of_the_description_too(
    services: Callable[[str], Any], start: Callable[..., Session], tmp_path: Path
) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(robots.get("panda").description().replace("panda_link8", "arm_tool0"))
    model = load_urdf(path, end_effector="panda_hand_tcp")
    kind = services("ur_msgs/SetPayload")
    words = (str(path), "end_effector:=panda_hand_tcp")
    session = start(kind, "/io_and_status_controller/set_payload", "ur_e_series", *words)
    session.move(loaded(model), model.configuration(robots.get("panda").home))
    success, text = session.call(False)
    assert success, text
    assert "and the tool of 0.76 kg" in text
    assert session.call(True)[0]
    (request,) = session.requests
    assert request.mass == pytest.approx(MASS + 0.76, abs=0.02)
    # Of the whole: the hand and the fingers as the URDF has them, and the load.
    robot = model.tree.pinocchio
    flange = robot.frames[robot.getFrameId("arm_tool0")].placement
    tip = flange.inverse() * robot.frames[model.end_effector_id].placement
    moment = MASS * (tip * CENTRE)
    for link in ("panda_hand", "panda_leftfinger", "panda_rightfinger"):
        inertial = ET.parse(path).find(f"link[@name='{link}']/inertial")
        centre = np.array([float(x) for x in inertial.find("origin").get("xyz").split()])
        at_flange = flange.inverse() * robot.frames[robot.getFrameId(link)].placement
        moment += float(inertial.find("mass").get("value")) * (at_flange * centre)
    sent = request.center_of_gravity
    np.testing.assert_allclose([sent.x, sent.y, sent.z], moment / (MASS + 0.76), atol=0.005)


@pytest.mark.parametrize("layout", ["ur_msgs", "ur_msgs_lyrical", "ur_msgs_rolling"])
def test_every_published_layout_of_the_service_is_filled(
    services: Callable[[str], Any], layout: str
) -> None:
    tensor = np.array([[3e-3, 1e-4, 2e-4], [1e-4, 4e-3, 3e-4], [2e-4, 3e-4, 5e-3]])
    request = fill_request(services(f"{layout}/SetPayload"), Body(2.0, CENTRE, tensor))
    inner = getattr(request, "payload", request)
    centre = inner.com if layout == "ur_msgs_rolling" else request.center_of_gravity
    assert (inner.m if layout == "ur_msgs_rolling" else request.mass) == 2.0
    np.testing.assert_allclose([centre.x, centre.y, centre.z], CENTRE)
    if layout != "ur_msgs":
        entries = [inner.ixx, inner.ixy, inner.ixz, inner.iyy, inner.iyz, inner.izz]
        np.testing.assert_allclose(entries, tensor[np.triu_indices(3)])
        assert request.transition_time.sec == 0


def test_a_service_without_a_mass_is_refused(services: Callable[[str], Any]) -> None:
    with pytest.raises(VmsPhError, match="no field mass or payload"):
        fill_request(services("other_msgs/SetPayload"), Body(1.0, CENTRE, 1e-3 * np.eye(3)))


@pytest.mark.parametrize(
    ("driver", "robot", "sentence"),
    [
        ("franka_fr3", "fr3", r"needs franka_msgs/srv/SetLoad: install the package franka_msgs"),
        (
            "so101",
            "fr3",
            r"no entry payload; .* one of franka_fer, franka_fr3, ur_e_series",
        ),
        (
            "ur_e_series",
            "fr3",
            r"one frame '\.\.tool0' that moves with 'fr3_link8'; 'fr3' has none",
        ),
    ],
)
def test_a_driver_that_cannot_be_told_ends_the_node_with_a_sentence(
    driver: str, robot: str, sentence: str, services: Callable[[str], Any]
) -> None:
    services("ur_msgs/SetPayload")
    words = ["-p", f"robot:={robot}", "-p", f"payload_driver:={driver}"]
    rclpy.init(args=["--ros-args", *words], domain_id=84)
    try:
        with pytest.raises(VmsPhError, match=sentence):
            ForceObserver()
    finally:
        rclpy.shutdown()
