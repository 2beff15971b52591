# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A launch file of ros2_control as a process, and what a user does with it."""

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from controller_manager_msgs.srv import (
    ConfigureController,
    ListControllers,
    ListHardwareInterfaces,
    LoadController,
    SwitchController,
    UnloadController,
)
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParameters
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from vms_ph.msg import ControllerState, Energy, PortEnergy, Power

# Starting Python, the manager and its controllers on a busy machine.
PATIENCE = 120.0

# Background jobs of a script inherit an ignored SIGINT, and so would the launches.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Session:
    """Runs ``ros2 launch vms_ph <name>``; a node of its own talks to what it starts.

    It is in the namespace that the launch arguments name.
    """

    def __init__(self, *launch: str) -> None:
        self._launch = launch
        given = dict(word.split(":=") for word in launch if ":=" in word)
        self._namespace = given.get("namespace", "")
        self.start()

    def start(self) -> None:
        """Launch, and begin to look around anew: who was killed is remembered for seconds."""
        self._services: dict[str, Any] = {}
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("session", namespace=self._namespace)
        words = ["ros2", "launch", "vms_ph", *self._launch]
        self.process = subprocess.Popen(words, start_new_session=True)

    def interrupt(self) -> int:
        """Press Ctrl-C; the exit code of the launch."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(30.0)

    def processes(self, pattern: str = "") -> list[int]:
        """Those of the launch that run, by a pattern of their command lines."""
        words = ["pgrep", "-s", str(self.process.pid), "-f", pattern]
        found = subprocess.run(words, capture_output=True, text=True, check=False)
        return [int(word) for word in found.stdout.split()]

    def end(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.interrupt()
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
        self._services.clear()
        self.node.destroy_node()
        rclpy.shutdown()

    def call(self, kind: Any, name: str, /, of: str = "controller_manager", **fields: Any) -> Any:
        """Call a service of the controller manager, or of another node."""
        name = f"{of}/{name}"
        client = self._services.setdefault(name, self.node.create_client(kind, name))
        assert client.wait_for_service(PATIENCE), f"no service {name}"
        future = client.call_async(kind.Request(**fields))
        rclpy.spin_until_future_complete(self.node, future, timeout_sec=PATIENCE)
        assert future.done(), f"no answer from {name}"
        return future.result()

    def states(self) -> dict[str, str]:
        """The controllers and their states.

        A first request may come before the manager knows the way back: it is asked anew.
        """
        name = "controller_manager/list_controllers"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            client = self.node.create_client(ListControllers, name)
            assert client.wait_for_service(PATIENCE), f"no service {name}"
            future = client.call_async(ListControllers.Request())
            rclpy.spin_until_future_complete(self.node, future, timeout_sec=10.0)
            found = future.result() if future.done() else None
            self.node.destroy_client(client)
            if found is not None:
                return {item.name: item.state for item in found.controller}
        raise AssertionError(f"no answer from {name}")

    def interfaces(self) -> tuple[dict[str, bool], set[str]]:
        """The command interfaces and whether they are claimed; the state interfaces."""
        found = self.call(ListHardwareInterfaces, "list_hardware_interfaces")
        commands = {item.name: item.is_claimed for item in found.command_interfaces}
        return commands, {item.name for item in found.state_interfaces}

    def await_states(self, **wanted: str) -> None:
        self.until(lambda: wanted.items() <= self.states().items(), f"{wanted}")

    def know(self, name: str, kind: str, file: Path) -> None:
        """Tell the manager the type and the parameters of another controller."""
        parameters = [
            Parameter(f"{name}.type", value=kind).to_parameter_msg(),
            Parameter(f"{name}.params_file", value=[str(file)]).to_parameter_msg(),
        ]
        answer = self.call(SetParameters, "set_parameters", parameters=parameters)
        assert all(result.successful for result in answer.results)

    def load(self, name: str) -> None:
        assert self.call(LoadController, "load_controller", name=name).ok
        assert self.call(ConfigureController, "configure_controller", name=name).ok

    def unload(self, name: str) -> None:
        assert self.call(UnloadController, "unload_controller", name=name).ok

    def switch(self, start: list[str], stop: list[str]) -> bool:
        """Activate and deactivate in one cycle; whether the manager did.

        Not as soon as possible, it would switch beside its loop: for some cycles zero would act.
        """
        answer = self.call(
            SwitchController,
            "switch_controller",
            activate_controllers=start,
            deactivate_controllers=stop,
            strictness=SwitchController.Request.STRICT,
            activate_asap=True,
        )
        return bool(answer.ok)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"in vain: {what}"
            assert self.process.poll() is None, "the launch file has ended"
            rclpy.spin_once(self.node, timeout_sec=0.1)

    def collect(self, seconds: float, **topics: tuple[type, str]) -> dict[str, list[Any]]:
        """The messages of topics, by a name for each, for some time after the first of each.

        On a busy machine the robot's time is slower: so much time passes by its stamps as well.
        """
        return self.collect_during(seconds, lambda: True, **topics)

    def collect_during(
        self, seconds: float, action: Callable[[], bool], **topics: tuple[type, str]
    ) -> dict[str, list[Any]]:
        """The same, with what comes while something is done first, which must succeed."""
        found: dict[str, list[Any]] = {name: [] for name in topics}
        subscriptions = [
            self.node.create_subscription(kind, topic, found[name].append, qos_profile_sensor_data)
            for name, (kind, topic) in topics.items()
        ]
        assert action()
        self.until(lambda: all(found.values()), f"messages on {topics}")
        end = time.monotonic() + seconds
        self.until(
            lambda: (
                time.monotonic() >= end
                and max(map(duration, found.values()), default=math.inf) >= seconds
            ),
            f"{seconds} s of {topics}",
        )
        for subscription in subscriptions:
            self.node.destroy_subscription(subscription)
        return found

    def watch_base(
        self, law: str, seconds: float, action: Callable[[], bool], **more: tuple[type, str]
    ) -> dict[str, list[Any]]:
        """What says how a robot on a moving base is led by a law, and its energies."""
        return self.collect_during(
            seconds,
            action,
            ours=(Energy, f"/{law}/energy"),
            theirs=(Energy, "/vms_ph/energy"),
            odom=(Odometry, "/odom"),
            power=(Power, "/vms_ph/power"),
            ports=(PortEnergy, "/vms_ph/port_energy"),
            state=(ControllerState, f"/{law}/state"),
            **more,
        )

    def one(self, kind: type, topic: str) -> Any:
        """The next message of a topic."""
        return self.collect(0.0, it=(kind, topic))["it"][0]

    def until_topic(self, kind: type, topic: str, condition: Callable[[Any], bool]) -> None:
        """Wait for a message that fulfils a condition."""
        fulfilled: list[bool] = []
        subscription = self.node.create_subscription(
            kind, topic, lambda m: fulfilled.append(condition(m)), qos_profile_sensor_data
        )
        self.until(lambda: any(fulfilled), f"what is wanted on {topic}")
        self.node.destroy_subscription(subscription)

    def follow(self, controller: str, joints: list[str], goal: list[float], seconds: float) -> None:
        """Command a JointTrajectoryController to reach joint positions at rest."""
        point = JointTrajectoryPoint(positions=goal, velocities=[0.0] * len(goal))
        point.time_from_start = Duration(seconds=seconds).to_msg()
        trajectory = JointTrajectory(joint_names=joints, points=[point])
        self.tell(JointTrajectory, f"{controller}/joint_trajectory", trajectory)

    def repeat(
        self, kind: type, topic: str, message: Callable[[float], Any], seconds: float
    ) -> None:
        """Publish for some time, once somebody listens, what a function of the time says."""
        publisher = self.node.create_publisher(kind, topic, 10)
        self.until(lambda: publisher.get_subscription_count() > 0, f"a listener on {topic}")
        start = time.monotonic()
        while (passed := time.monotonic() - start) < seconds:
            publisher.publish(message(passed))
            time.sleep(0.005)
            for _ in range(5):
                rclpy.spin_once(self.node, timeout_sec=0.001)
        self.node.destroy_publisher(publisher)

    def tell(self, kind: type, topic: str, message: Any) -> None:
        """Publish once somebody listens.

        The listener may know the publisher later than the publisher knows it, and take nothing.
        """
        publisher = self.node.create_publisher(kind, topic, 10)
        self.until(lambda: publisher.get_subscription_count() > 0, f"a listener on {topic}")
        time.sleep(0.3)
        publisher.publish(message)
        for _ in range(10):
            rclpy.spin_once(self.node, timeout_sec=0.05)
        self.node.destroy_publisher(publisher)


def stamp(message: Any) -> int:
    time_of_message = message.clock if isinstance(message, Clock) else message.header.stamp
    return time_of_message.sec * 1_000_000_000 + time_of_message.nanosec


def duration(messages: list[Any]) -> float:
    """Time between the first and the last of messages by their stamps, s; infinite without any."""
    is_stamped = isinstance(messages[0], Clock) or hasattr(messages[0], "header")
    return 1e-9 * (stamp(messages[-1]) - stamp(messages[0])) if is_stamped else math.inf


def pairs(left: list[Any], right: list[Any]) -> list[tuple[Any, Any]]:
    """Messages of equal stamps."""
    known = {stamp(message): message for message in right}
    return [(message, known[stamp(message)]) for message in left if stamp(message) in known]


def differences(
    left: list[Any], right: list[Any], fields: list[str], share: float = 1.0
) -> dict[str, float]:
    """The largest difference of each field on equal stamps, of the share of them that agrees best.

    NaN equals NaN.
    """
    both, worst = pairs(left, right), dict.fromkeys(fields, 0.0)
    for name in fields:
        values = [(getattr(a, name), getattr(b, name)) for a, b in both]
        off = [0.0 if math.isnan(x) and math.isnan(y) else abs(x - y) for x, y in values]
        off = sorted(math.inf if math.isnan(each) else each for each in off)
        worst[name] = off[math.ceil(share * len(off)) - 1] if off else 0.0
    return worst
