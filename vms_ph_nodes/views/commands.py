# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Commands of a user to simulator, controller and recorder, as topics, services, parameters."""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose, PoseStamped, Quaternion, Wrench, WrenchStamped
from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from std_srvs.srv import SetBool, Trigger
from vms_ph.srv import StepSimulation

from vms_ph_dynamics import Array, StateError
from vms_ph_io.installation import command_name
from vms_ph_io.wings import WINGS

from ..messages.conversions import NS_PER_SEC, check_range, in_range, to_point, to_vector, to_wrench
from ..messages.frames import WORLD, tool_topic
from ..node.health import InputDiagnostics
from ..node.process import interrupt

# Time that a recording has to end, s.
_STOP_TIMEOUT = 10.0


class Recording:
    """Records all topics into new bags in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._bag = folder

    def start(self) -> str:
        """Start a recording, unless one runs; return the command that does the same."""
        embedded = WINGS["embedded"].is_installed
        if self._process is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._bag = bag = self._folder / time.strftime("%Y-%m-%d_%H-%M-%S")
            command = ["ros2", "bag", "record", "-a", "-o", str(bag)]
            if embedded:
                command = [sys.executable, "-m", "vms_ph_nodes", "bag_recorder", "--ros-args"]
                command += ["-r", "__node:=page_recorder", "-p", f"bag:={bag}"]
            self._process = subprocess.Popen(command, start_new_session=True)
        return f"{ROS_CLI} bag record{'' if embedded else ' -a'} -o {shlex.quote(str(self._bag))}"

    def end(self) -> Path | None:
        """End the recording; return its bag, or None where none was made."""
        process, self._process = self._process, None
        if process is None:
            return None
        interrupt(process, _STOP_TIMEOUT)
        return self._bag if self._bag.exists() else None


ROS_CLI = command_name() if WINGS["embedded"].is_installed else "ros2"
"""What users type before a command in a terminal."""

CHOICE_TOPICS = {name: f"/vms_ph/choose/{name}" for name in ("demo", "robot", "law", "scene")}
"""Topics on which ``vms-ph page`` receives another robot, law or scene, its name or its file, and
both it and ``vms-ph demo`` another demo."""

_SERVICES = {
    "simulator/pause": ("std_srvs/srv/SetBool", SetBool),
    "simulator/reset": ("std_srvs/srv/Trigger", Trigger),
    "simulator/step": ("vms_ph/srv/StepSimulation", StepSimulation),
    "controller/restart": ("std_srvs/srv/Trigger", Trigger),
}

Reply = Callable[[str], None]
"""Receives what became of a command: a sentence, empty where it succeeded."""


@dataclass(frozen=True)
class Request:
    """Something that a user asks of a node.

    Attributes:
        command: shell command that does the same.
        send: sends it; receives what is called with the answer.
    """

    command: str
    send: Callable[[Reply], None]


@dataclass(frozen=True)
class PullEfforts:
    """Efforts on a robot.

    Attributes:
        torques: of joints by name, N m or N.
        base_wrench: (6,) at the root link in its axes; None on a fixed base.
    """

    torques: dict[str, float]
    base_wrench: Array | None


LONGEST_PUSH = 60.0  # s


@contextmanager
def contain_errors(diagnostics: InputDiagnostics, subject: str) -> Iterator[None]:
    """Report any error within, and go on: nothing that others send may end a page."""
    try:
        yield
    except Exception as error:
        diagnostics.report(f"{subject}: {type(error).__name__}: {str(error)[:300]}", "left out")


class Commands:
    """Sends commands of any thread; :meth:`send_pending` sends them in the thread of the node."""

    def __init__(self, node: Node) -> None:
        self._node, self._diagnostics = node, InputDiagnostics(node)
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        services, nodes = _SERVICES.items(), ("simulator", "controller")
        self._clients = {name: node.create_client(kind, name) for name, (_, kind) in services}
        self._parameter_clients = {name: AsyncParameterClient(node, name) for name in nodes}
        self._pose_publisher = node.create_publisher(PoseStamped, "controller/reference_pose", 10)
        self._publishers = {
            topic: node.create_publisher(WrenchStamped, topic, 10)
            for topic in (wrench_topic(""), wrench_topic("base"))
        }
        self._pushes: dict[str, tuple[Wrench, int]] = {}
        self._choice_topics = {
            name: node.create_publisher(String, topic, 10) for name, topic in CHOICE_TOPICS.items()
        }
        self._torque_publisher = node.create_publisher(JointState, "simulator/torque", 10)
        self._pull_source: Callable[[], PullEfforts | None] | None = None
        self._pull: PullEfforts | None = None

    def send_pending(self) -> None:
        """Send what was commanded since the last call, and the wrenches that still act."""
        while not self._queue.empty():
            with contain_errors(self._diagnostics, "a command of the page"):
                self._queue.get()()
        with contain_errors(self._diagnostics, "a link that is dragged"):
            self._publish_pull()
        now = time.monotonic_ns()
        for topic, (wrench, end_time) in list(self._pushes.items()):
            # The last message is zero: the simulator drops a wrench only after its timeout.
            is_over = now >= end_time
            message = WrenchStamped(wrench=Wrench() if is_over else wrench)
            message.header.frame_id = "" if topic == wrench_topic("base") else WORLD
            message.header.stamp = self._node.get_clock().now().to_msg()
            self._publishers[topic].publish(message)
            if is_over:
                del self._pushes[topic]

    def _publish_pull(self) -> None:
        """Publish the efforts of the pull; after its end, zero for those that it had."""
        efforts = None if self._pull_source is None else self._pull_source()
        if efforts is not None:  # a pointer may be anywhere
            wrench = [] if efforts.base_wrench is None else efforts.base_wrench
            efforts = efforts if in_range(np.array([*efforts.torques.values(), *wrench])) else None
        if efforts is None and self._pull is not None:
            wrench = None if self._pull.base_wrench is None else 0.0 * self._pull.base_wrench
            efforts, self._pull = PullEfforts(dict.fromkeys(self._pull.torques, 0.0), wrench), None
        else:
            self._pull = efforts
        if efforts is None:
            return
        header = Header(stamp=self._node.get_clock().now().to_msg())
        if efforts.torques:
            names, values = list(efforts.torques), list(efforts.torques.values())
            self._torque_publisher.publish(JointState(header=header, name=names, effort=values))
        if efforts.base_wrench is not None:
            self._publishers[wrench_topic("base")].publish(to_wrench(header, efforts.base_wrench))

    def full_name(self, name: str) -> str:
        """Return the full name of a topic, a service or a node in the namespace of the page."""
        return f"{self._node.get_namespace().rstrip('/')}/{name}"

    def call(self, name: str, **fields: Any) -> Request:
        """Return a call of a service of the simulator or controller, with fields of its request."""
        type_name, service_type = _SERVICES[name]
        command = f"{ROS_CLI} service call {self.full_name(name)} {type_name}"
        if fields:
            values = ", ".join(f"{key}: {json.dumps(value)}" for key, value in fields.items())
            command += f" {shlex.quote(f'{{{values}}}')}"
        client = self._clients[name]

        request = service_type.Request(**fields)

        async def ask() -> str:
            if not client.service_is_ready():
                return _no_answer_text(name)
            response = await client.call_async(request)
            return "" if response.success else str(response.message)

        return self._request(command, name, ask)

    def set(self, node: str, name: str, value: float) -> Request:
        """Return a change of a parameter of the simulator or controller."""
        client = self._parameter_clients[node]

        async def ask() -> str:
            if not client.services_are_ready():
                return _no_answer_text(node)
            parameter = Parameter(name, Parameter.Type.DOUBLE, value)
            (outcome,) = (await client.set_parameters([parameter])).results
            return "" if outcome.successful else str(outcome.reason)

        command = f"{ROS_CLI} param set {self.full_name(node)} {shlex.quote(name)} {value!r}"
        return self._request(command, node, ask)

    def _request(self, command: str, name: str, ask: Callable[[], Awaitable[str]]) -> Request:
        async def answer(reply: Reply) -> None:
            with contain_errors(self._diagnostics, f"the answer to {name}"):
                reply(await ask())

        def send(reply: Reply) -> None:
            self._queue.put(lambda: self._node.executor.create_task(answer, reply))

        return Request(command, send)

    def choose(self, choice: str, name: str) -> Request:
        """Return the choice of another demo, robot, law or scene, which nobody answers."""
        data = shlex.quote(f"{{data: {json.dumps(name)}}}")
        command = f"{ROS_CLI} topic pub --once {CHOICE_TOPICS[choice]} std_msgs/msg/String {data}"
        publish = self._choice_topics[choice].publish
        return Request(command, lambda _: self._queue.put(lambda: publish(String(data=name))))

    def push(self, port: str, force: Sequence[float], seconds: float) -> None:
        """Push with a force (3,), N, for a time, s.

        Args:
            port: empty for the end effector and ``base`` for the base; or the name of a tool.
            force: in world axes; of the base, in its own.
            seconds: how long it acts.

        Raises:
            StateError: the force is not finite, or the time is not positive or too long.
        """
        check_range(np.array([*force]), "the force of a push")
        if not 0.0 < seconds <= LONGEST_PUSH:
            raise StateError(f"a push acts for up to {LONGEST_PUSH:g} s; given: {seconds} s")
        wrench, topic = Wrench(force=to_vector(force)), wrench_topic(port)

        def begin_push() -> None:
            if topic not in self._publishers:
                self._publishers[topic] = self._node.create_publisher(WrenchStamped, topic, 10)
            self._pushes[topic] = wrench, time.monotonic_ns() + round(seconds * NS_PER_SEC)

        self._queue.put(begin_push)

    def pull(self, efforts: Callable[[], PullEfforts | None] | None) -> None:
        """Pull with efforts that are asked for again and again, until None is given."""
        self._pull_source = efforts

    @property
    def available_choices(self) -> list[str]:
        """The names of :data:`CHOICE_TOPICS` for which somebody waits."""
        return [name for name, pub in self._choice_topics.items() if pub.get_subscription_count()]

    def set_reference_pose(
        self, position: Sequence[float], wxyz: Sequence[float], frame: str
    ) -> None:
        """Set the reference pose of the controller.

        Args:
            position: (3,) m.
            wxyz: unit quaternion, the real part first.
            frame: name of the frame of the pose; the inertial frame.

        Raises:
            StateError: it is not finite, or the quaternion has not the length one.
        """
        check_range(np.array([*position, *wxyz]), "the reference")
        if not abs(np.linalg.norm(wxyz) - 1.0) < 1e-3:
            raise StateError(f"a unit quaternion is needed; given: {[*map(float, wxyz)]}")
        w, x, y, z = map(float, wxyz)
        quaternion = Quaternion(x=x, y=y, z=z, w=w)
        message = PoseStamped(pose=Pose(position=to_point(position), orientation=quaternion))
        message.header.frame_id = frame
        self._queue.put(lambda: self._pose_publisher.publish(message))

    def ask_gains(
        self, answer: Callable[[dict[str, tuple[ParameterDescriptor, float]]], None]
    ) -> bool:
        """Ask for the gains of the controller; return whether it is there to answer.

        They are its parameters with bounds that can be changed while it runs, by name, with their
        values. Called in the thread of the node.
        """
        client = self._parameter_clients["controller"]
        if not client.services_are_ready():
            return False

        async def ask() -> None:
            with contain_errors(self._diagnostics, "the gains of the controller"):
                names = list((await client.list_parameters()).result.names)
                descriptors = (await client.describe_parameters(names)).descriptors
                gains = [descriptor for descriptor in descriptors if _is_gain(descriptor)]
                values = (await client.get_parameters([gain.name for gain in gains])).values
                pairs = zip(gains, values, strict=True)
                answer({gain.name: (gain, value.double_value) for gain, value in pairs})

        self._node.executor.create_task(ask)
        return True


def _no_answer_text(name: str) -> str:
    return f"the {name.partition('/')[0]} does not answer"


def wrench_topic(port: str) -> str:
    """Return the topic of a port's wrench: of the end effector (empty), ``base`` or a tool."""
    if port == "base":
        return "simulator/wrench_base"
    return f"simulator/wrench/{tool_topic(port)}" if port else "simulator/wrench_end_effector"


def _is_gain(descriptor: ParameterDescriptor) -> bool:
    return (
        descriptor.type == ParameterType.PARAMETER_DOUBLE
        and not descriptor.read_only
        and bool(descriptor.floating_point_range)
    )
