# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Commands of a user to simulator, controller and recorder, as topics, services, parameters."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Vector3, Wrench, WrenchStamped
from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from vms_ph.srv import StepSimulation

from vms_ph_dynamics.arrays import Array
from vms_ph_io.wings import WINGS

from ..messages.conversions import NANOSECONDS
from ..messages.frames import tool_topic


class Recording:
    """Records all topics into new bags in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._bag = folder

    def start(self) -> str:
        """Start a recording, unless one runs; return the command that does the same."""
        if self._process is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._bag = self._folder / time.strftime("%Y-%m-%d_%H-%M-%S")
            self._process = subprocess.Popen(self._words(), start_new_session=True)
        if not WINGS["embedded"].is_installed:
            return f"ros2 bag record -a -o {self._bag}"
        return f"vms-ph bag record -o {self._bag}"

    def end(self, seconds: float = 10.0) -> Path | None:
        """End the recording; return its bag, or None where none was made.

        Args:
            seconds: to wait for its end at most.
        """
        process, self._process = self._process, None
        if process is None:
            return None
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return self._bag if self._bag.exists() else None

    def _words(self) -> list[str]:
        if not WINGS["embedded"].is_installed:
            return ["ros2", "bag", "record", "-a", "-o", str(self._bag)]
        module = [sys.executable, "-m", "vms_ph_nodes.bag_recorder", "--ros-args"]
        return [*module, "-r", "__node:=page_recorder", "-p", f"bag:={self._bag}"]


ROBOT_TOPIC = "/vms_ph/choose/robot"
"""Topic on which ``vms-ph page`` is told another robot: a bundled one, or the path of a file."""

LAW_TOPIC = "/vms_ph/choose/law"
"""Topic on which ``vms-ph page`` is told another control law."""

SCENE_TOPIC = "/vms_ph/choose/scene"
"""Topic on which ``vms-ph page`` is told another scene around the robot; empty: none."""

Reply = Callable[[str], None]
"""Receives what became of a command: a sentence, empty where it succeeded."""


@dataclass(frozen=True)
class Gain:
    """A parameter of the controller that can be changed while it runs.

    Attributes:
        name, description: of the parameter.
        value: at present.
        least, most: bounds.
    """

    name: str
    description: str
    value: float
    least: float
    most: float


@dataclass(frozen=True)
class Efforts:
    """Efforts on a robot.

    Attributes:
        torques: of joints by name, N m or N.
        base: (6,) wrench at the root link in its axes; None on a fixed base.
    """

    torques: dict[str, float]
    base: Array | None


class Commands:
    """Sends commands; other threads may give them, :meth:`work` sends them in that of the node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._pause = node.create_client(SetBool, "simulator/pause")
        self._reset = node.create_client(Trigger, "simulator/reset")
        self._step = node.create_client(StepSimulation, "simulator/step")
        self._restart = node.create_client(Trigger, "controller/restart")
        self._parameters = AsyncParameterClient(node, "controller")
        self._simulator = AsyncParameterClient(node, "simulator")
        self._reference = node.create_publisher(PoseStamped, "controller/reference_pose", 10)
        self._wrenches = {
            topic: node.create_publisher(WrenchStamped, topic, 10)
            for topic in (wrench_topic(""), wrench_topic("base"))
        }
        self._pushes: dict[str, tuple[Wrench, int]] = {}
        self._robot = node.create_publisher(String, ROBOT_TOPIC, 10)
        self._law = node.create_publisher(String, LAW_TOPIC, 10)
        self._scene = node.create_publisher(String, SCENE_TOPIC, 10)
        self._torque = node.create_publisher(JointState, "simulator/torque", 10)
        self._pull_efforts: Callable[[], Efforts | None] | None = None
        self._pulled: Efforts | None = None

    def work(self) -> None:
        """Send what was commanded since the last call, and the wrenches that still act."""
        while not self._queue.empty():
            self._queue.get()()
        self._publish_pull()
        now = self._steady.now().nanoseconds
        for topic, (wrench, end) in list(self._pushes.items()):
            # The last message is zero: the simulator drops a wrench only after its timeout.
            over = now >= end
            message = WrenchStamped(wrench=Wrench() if over else wrench)
            message.header.frame_id = "" if topic.endswith("base") else "world"
            message.header.stamp = self._node.get_clock().now().to_msg()
            self._wrenches[topic].publish(message)
            if over:
                del self._pushes[topic]

    def _publish_pull(self) -> None:
        """Publish the efforts of the pull; after its end, zero for those that it had."""
        efforts = None if self._pull_efforts is None else self._pull_efforts()
        if efforts is None and self._pulled is not None:
            base = None if self._pulled.base is None else 0.0 * self._pulled.base
            efforts, self._pulled = Efforts(dict.fromkeys(self._pulled.torques, 0.0), base), None
        else:
            self._pulled = efforts
        if efforts is None:
            return
        now = self._node.get_clock().now().to_msg()
        if efforts.torques:
            names, values = list(efforts.torques), list(efforts.torques.values())
            message = JointState(name=names, effort=values)
            message.header.stamp = now
            self._torque.publish(message)
        if efforts.base is not None:
            f, m = (Vector3(x=x, y=y, z=z) for x, y, z in efforts.base.reshape(2, 3).tolist())
            wrench = WrenchStamped(wrench=Wrench(force=f, torque=m))
            wrench.header.stamp = now
            self._wrenches[wrench_topic("base")].publish(wrench)

    def full_name(self, name: str) -> str:
        """Return the full name of a topic, a service or a node in the namespace of the page."""
        return f"{self._node.get_namespace().rstrip('/')}/{name}"

    def pause(self, paused: bool, reply: Reply) -> None:
        """Pause or resume simulated time."""
        self._call(self._pause, SetBool.Request(data=paused), reply)

    def reset(self, reply: Reply) -> None:
        """Return to the start."""
        self._call(self._reset, Trigger.Request(), reply)

    def restart_law(self, reply: Reply) -> None:
        """Let the law begin anew: it holds the present pose, and its tank is refilled."""
        self._call(self._restart, Trigger.Request(), reply, "controller")

    def step(self, steps: int, reply: Reply) -> None:
        """Advance paused time by integrator steps."""
        self._call(self._step, StepSimulation.Request(steps=steps), reply)

    def push(self, port: str, force: Sequence[float], seconds: float) -> None:
        """Push with a force (3,), N, for a time, s.

        Args:
            port: empty for the end effector and ``base`` for the base; or the name of a tool.
            force: in world axes; of the base, in its own.
            seconds: how long it acts.
        """
        x, y, z = (float(value) for value in force)
        wrench, topic = Wrench(force=Vector3(x=x, y=y, z=z)), wrench_topic(port)

        def begin() -> None:
            if topic not in self._wrenches:
                publisher = self._node.create_publisher(WrenchStamped, topic, 10)
                self._wrenches[topic] = publisher
            end = self._steady.now().nanoseconds + round(seconds * NANOSECONDS)
            self._pushes[topic] = wrench, end

        self._queue.put(begin)

    def pull(self, efforts: Callable[[], Efforts | None] | None) -> None:
        """Pull with efforts that are asked for again and again, until None is given."""
        self._pull_efforts = efforts

    @property
    def robot_can_be_chosen(self) -> bool:
        """Whether somebody waits for the choice of a robot."""
        return bool(self._robot.get_subscription_count())

    def choose_robot(self, name: str) -> None:
        """Choose another robot: the name of a bundled one, or the path of a file."""
        self._queue.put(lambda: self._robot.publish(String(data=name)))

    def choose_law(self, name: str) -> None:
        """Choose another control law."""
        self._queue.put(lambda: self._law.publish(String(data=name)))

    def choose_scene(self, name: str) -> None:
        """Choose another scene around the robot; empty: none."""
        self._queue.put(lambda: self._scene.publish(String(data=name)))

    def set_speed(self, factor: float, reply: Reply) -> None:
        """Set the ratio of simulated to real time."""
        self._set(self._simulator, "simulator", "real_time_factor", factor, reply)

    def set_reference_pose(
        self, position: Sequence[float], wxyz: Sequence[float], frame: str
    ) -> None:
        """Set the reference pose of the controller.

        Args:
            position: (3,) m.
            wxyz: unit quaternion, the real part first.
            frame: in whose axes; the inertial frame.
        """
        w, *imaginary = (float(value) for value in wxyz)
        turn = Quaternion(w=w, **dict(zip("xyz", imaginary, strict=True)))
        point = Point(**dict(zip("xyz", map(float, position), strict=True)))
        message = PoseStamped(pose=Pose(position=point, orientation=turn))
        message.header.frame_id = frame
        self._queue.put(lambda: self._reference.publish(message))

    def set_gain(self, name: str, value: float, reply: Reply) -> None:
        """Set a parameter of the controller."""
        self._set(self._parameters, "controller", name, value, reply)

    def _set(
        self, client: AsyncParameterClient, node: str, name: str, value: float, reply: Reply
    ) -> None:
        def on_answer(future: "Future") -> None:
            results = future.result().results
            reply("" if results[0].successful else results[0].reason)

        def ask() -> None:
            if not client.services_are_ready():
                reply(f"the {node} does not answer")
                return
            parameter = Parameter(name, Parameter.Type.DOUBLE, value)
            client.set_parameters([parameter]).add_done_callback(on_answer)

        self._queue.put(ask)

    def ask_gains(self, answer: Callable[[list[Gain]], None]) -> bool:
        """Ask for the gains of the controller; return whether it is there to answer.

        Called in the thread of the node.
        """
        client = self._parameters
        if not client.services_are_ready():
            return False

        def listed(future: "Future") -> None:
            names = list(future.result().result.names)
            client.describe_parameters(names).add_done_callback(described)

        def described(future: "Future") -> None:
            descriptors = [
                descriptor for descriptor in future.result().descriptors if _is_gain(descriptor)
            ]
            names = [descriptor.name for descriptor in descriptors]
            client.get_parameters(names).add_done_callback(lambda got: valued(descriptors, got))

        def valued(descriptors: list[ParameterDescriptor], future: "Future") -> None:
            values = [entry.double_value for entry in future.result().values]
            answer([_gain(entry, value) for entry, value in zip(descriptors, values, strict=True)])

        client.list_parameters().add_done_callback(listed)
        return True

    def _call(self, client: object, request: object, reply: Reply, node: str = "simulator") -> None:
        def on_answer(future: "Future") -> None:
            response = future.result()
            reply("" if response.success else response.message)

        def ask() -> None:
            if not client.service_is_ready():
                reply(f"the {node} does not answer")
                return
            client.call_async(request).add_done_callback(on_answer)

        self._queue.put(ask)


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


def _gain(descriptor: ParameterDescriptor, value: float) -> Gain:
    bounds = descriptor.floating_point_range[0]
    return Gain(descriptor.name, descriptor.description, value, bounds.from_value, bounds.to_value)
