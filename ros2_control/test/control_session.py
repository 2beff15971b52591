"""A launch file of ros2_control as a process, and what a user does with it."""

import math
import os
import signal
import subprocess
import time
from collections.abc import Callable
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
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions

# Starting Python, the manager and its controllers on a busy machine.
PATIENCE = 120.0


class Session:
    """Runs ``ros2 launch vms_ph <name>``; a node of its own talks to what it starts."""

    def __init__(self, *launch: str) -> None:
        self._launch = launch
        self._services: dict[str, Any] = {}
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("session")
        self.start()

    def start(self) -> None:
        words = ["ros2", "launch", "vms_ph", *self._launch]
        self.process = subprocess.Popen(words, start_new_session=True)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30.0)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.node.destroy_node()
        rclpy.shutdown()

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        """Call a service of the controller manager."""
        client = self._services.setdefault(
            name, self.node.create_client(kind, f"/controller_manager/{name}")
        )
        assert client.wait_for_service(PATIENCE), f"no service {name}"
        future = client.call_async(kind.Request(**fields))
        rclpy.spin_until_future_complete(self.node, future, timeout_sec=PATIENCE)
        assert future.done(), f"no answer from {name}"
        return future.result()

    def states(self) -> dict[str, str]:
        """The controllers and their states."""
        found = self.call(ListControllers, "list_controllers").controller
        return {item.name: item.state for item in found}

    def interfaces(self) -> tuple[dict[str, bool], set[str]]:
        """The command interfaces and whether they are claimed; the state interfaces."""
        found = self.call(ListHardwareInterfaces, "list_hardware_interfaces")
        commands = {item.name: item.is_claimed for item in found.command_interfaces}
        return commands, {item.name for item in found.state_interfaces}

    def await_states(self, **wanted: str) -> None:
        self.until(lambda: wanted.items() <= self.states().items(), f"{wanted}")

    def load(self, name: str) -> None:
        assert self.call(LoadController, "load_controller", name=name).ok
        assert self.call(ConfigureController, "configure_controller", name=name).ok

    def unload(self, name: str) -> None:
        assert self.call(UnloadController, "unload_controller", name=name).ok

    def switch(self, start: list[str], stop: list[str]) -> bool:
        """Activate and deactivate at once; whether the manager did."""
        answer = self.call(
            SwitchController,
            "switch_controller",
            activate_controllers=start,
            deactivate_controllers=stop,
            strictness=SwitchController.Request.STRICT,
        )
        return bool(answer.ok)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"in vain: {what}"
            assert self.process.poll() is None, "the launch file has ended"
            rclpy.spin_once(self.node, timeout_sec=0.1)

    def collect(self, seconds: float, **topics: tuple[type, str]) -> dict[str, list[Any]]:
        """The messages of topics, by a name for each, for some time after the first of each."""
        found: dict[str, list[Any]] = {name: [] for name in topics}
        subscriptions = [
            self.node.create_subscription(kind, topic, found[name].append, qos_profile_sensor_data)
            for name, (kind, topic) in topics.items()
        ]
        self.until(lambda: all(found.values()), f"messages on {topics}")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.05)
        for subscription in subscriptions:
            self.node.destroy_subscription(subscription)
        return found

    def one(self, kind: type, topic: str) -> Any:
        """The next message of a topic."""
        return self.collect(0.0, it=(kind, topic))["it"][0]

    def tell(self, kind: type, topic: str, message: Any) -> None:
        """Publish once somebody listens."""
        publisher = self.node.create_publisher(kind, topic, 10)
        self.until(lambda: publisher.get_subscription_count() > 0, f"a listener on {topic}")
        publisher.publish(message)
        for _ in range(10):
            rclpy.spin_once(self.node, timeout_sec=0.05)
        self.node.destroy_publisher(publisher)


def stamp(message: Any) -> int:
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def pairs(left: list[Any], right: list[Any]) -> list[tuple[Any, Any]]:
    """Messages of equal stamps."""
    known = {stamp(message): message for message in right}
    return [(message, known[stamp(message)]) for message in left if stamp(message) in known]


def differences(left: list[Any], right: list[Any], fields: list[str]) -> dict[str, float]:
    """The largest difference of each field on equal stamps; NaN equals NaN."""
    worst = dict.fromkeys(fields, 0.0)
    for a, b in pairs(left, right):
        for name in fields:
            x, y = getattr(a, name), getattr(b, name)
            if math.isnan(x) and math.isnan(y):
                continue
            worst[name] = max(worst[name], abs(x - y)) if not math.isnan(x - y) else math.inf
    return worst
