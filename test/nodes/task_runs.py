# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks under nodes in this process."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor, TimeoutException
from visualization_msgs.msg import Marker, MarkerArray
from vms_ph.msg import TaskProgress

from vms_ph_nodes import closed_loop, task_settings
from vms_ph_nodes.energy_monitor import EnergyMonitor
from vms_ph_nodes.task_runner import TaskRunner


@contextmanager
def running(name: str, patch: pytest.MonkeyPatch, home: Path, *parameters: str) -> Iterator[None]:
    """Make the parameters of the nodes of a task those of this process."""
    patch.setenv("ROS_HOME", str(home))
    found = task_settings.arguments(name)
    text = "; ".join(f"{key}={value}" for key, value in found.items())
    pairs = [f"launch_arguments:={text}", f"robot:={found['robot']}", *parameters]
    words = [part for pair in pairs for part in ("-p", pair)]
    rclpy.init(args=["--ros-args", "--params-file", found["config"], *words], domain_id=61)
    try:
        yield
    finally:
        rclpy.shutdown()


@dataclass
class Run:
    """What a task under nodes ended with."""

    progress: list[TaskProgress]
    unaccounted: float
    failed: bool
    markers: list[Marker]  # last of what surrounds the robot


# More than the samples that a simulator publishes in one turn.
ROUNDS = 30

IS_EMBEDDED = "vms_ph_embedded" in rclpy.__file__


def receive_all(executor: SingleThreadedExecutor) -> None:
    """Serve every entity as often as one may have something to receive.

    The nodes of one process share its time: a simulator that catches up would go on publishing
    until the queues of those that watch it are full, and states would be lost.
    """
    for _ in range(ROUNDS):
        if IS_EMBEDDED:
            executor.spin_until_future_complete(executor.create_task(lambda: None))
        elif not serve_ready(executor):
            return


def serve_ready(executor: Any) -> bool:
    """Serve what is ready in an executor of ROS 2, where a task would come before all else.

    Whether there was something.
    """
    served = False
    with suppress(TimeoutException):
        while True:
            task, _, _ = executor.wait_for_ready_callbacks(timeout_sec=0.0)
            task()
            if task.exception() is not None:
                raise task.exception()
            served = True
    return served


def run_once(name: str, patch: pytest.MonkeyPatch, home: Path) -> Run:
    """Run simulator, controller, energy monitor and runner until the runner ends."""
    chosen = (f"task:={name}", "once:=true", "seconds:=0.0", "real_time_factor:=2.0")
    sim_time = ("use_sim_time:=true", "publish_clock:=true", "period:=0.2")
    with running(name, patch, home, *chosen, *sim_time):
        progress: list[TaskProgress] = []
        nodes = closed_loop.make()
        runner, monitor = TaskRunner(), EnergyMonitor()
        runner.create_subscription(TaskProgress, "vms_ph/task", progress.append, 10)
        scenes: list[MarkerArray] = []
        runner.create_subscription(MarkerArray, "vms_ph/scene", scenes.append, 10)
        closing, watching = SingleThreadedExecutor(), SingleThreadedExecutor()
        for node in nodes:
            closing.add_node(node)
        for node in (runner, monitor):
            watching.add_node(node)
        end = time.monotonic() + 60.0
        with suppress(ExternalShutdownException):
            while time.monotonic() < end:
                closing.spin_once(timeout_sec=0.1)
                receive_all(watching)
            pytest.fail(f"the runner has not ended; its messages: {progress}")
        failed, unaccounted = runner.failed, monitor._audit.unaccounted_energy
        for node in (*nodes, runner, monitor):
            node.destroy_node()
    return Run(progress, unaccounted, failed, list(scenes[-1].markers) if scenes else [])
