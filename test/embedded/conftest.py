# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Fixtures for tests that speak ROS: a DDS domain of their own, nodes, and other processes.

The contract suite below imports rclpy and message packages only. With a real ROS 2 it runs on that,
by `pytest -c /dev/null --confcutdir test/embedded test/embedded/contract`.
"""

from __future__ import annotations

import fcntl
import gc
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

# Before any message class exists: a real ROS 2 leaves field checks off otherwise.
os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"

try:
    import rclpy
except ImportError:
    from vms_ph_embedded import activate

    activate(Path(__file__).parents[2])
    import rclpy

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node


def pytest_configure(config: pytest.Config) -> None:
    # The contract suite also runs without the settings of this repository.
    config.addinivalue_line("markers", "wire: starts real processes that talk DDS")


TIMEOUT = 20.0  # s; generous, because nothing waits for it unless something is wrong

IS_EMBEDDED = "vms_ph_embedded" in rclpy.__file__
_PRELUDE = (
    "from pathlib import Path\n"
    "from vms_ph_embedded import activate\n"
    f"activate(Path({str(Path(__file__).parents[2])!r}))\n"
)


@pytest.fixture(scope="session", autouse=True)
def ros_domain() -> Iterator[int]:
    """A domain that no other test session on this machine uses at the same time.

    Users of a machine have locks of their own, and begin at different domains.
    """
    user = os.getuid()
    for domain in itertools.islice(itertools.cycle(range(20, 100)), user % 80, None):
        with Path(tempfile.gettempdir(), f"vms_ph_test_domain_{user}_{domain}.lock").open(
            "w"
        ) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            before = dict(os.environ)
            os.environ["ROS_DOMAIN_ID"] = str(domain)
            os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
            yield domain
            os.environ.clear()
            os.environ.update(before)
            return


@pytest.fixture(scope="session")
def release() -> str:
    """Whose rclpy this is: "embedded", "jazzy" or "kilted"; these two stand for others beside them.

    The embedded runtime follows Jazzy where nodes would notice.
    """
    if IS_EMBEDDED:
        return "embedded"
    return "jazzy" if int(version("rclpy").partition(".")[0]) < 8 else "kilted"


class Ros:
    """Makes nodes in one context, spins them, and starts other processes."""

    def __init__(self) -> None:
        self.executor = SingleThreadedExecutor()
        self.nodes: list[Node] = []

    def node(self, name: str = "node", **kwargs: Any) -> Node:
        node = Node(name, **kwargs)
        self.nodes.append(node)
        self.executor.add_node(node)
        return node

    def spin_until(self, condition: Callable[[], Any], timeout: float = TIMEOUT) -> bool:
        """Spin all nodes until something holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.executor.spin_once(timeout_sec=0.02)
        return True

    def spin_for(self, seconds: float) -> None:
        """Spin all nodes for a while: for what must not happen."""
        self.spin_until(lambda: False, seconds)

    def result(self, future: Any) -> Any:
        assert self.spin_until(future.done), "the future did not complete"
        return future.result()

    def close(self) -> None:
        for node in self.nodes:
            node.destroy_node()
        self.nodes.clear()
        self.executor.shutdown()
        # rclpy's managed nodes refer to themselves in circles, and stay in the graph until found.
        gc.collect()


@pytest.fixture
def ros() -> Iterator[Ros]:
    """A default context for one test."""
    rclpy.init(args=[])
    made = Ros()
    yield made
    made.close()
    rclpy.try_shutdown()


@pytest.fixture
def ros_process() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts another Python that can import rclpy, to run some code with command-line arguments."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *args: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        prelude = _PRELUDE if IS_EMBEDDED else ""
        process = subprocess.Popen(
            [sys.executable, "-c", prelude + code, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
