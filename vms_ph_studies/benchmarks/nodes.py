# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Processor time per second of every node in its own process, with topics at 100 Hz.

The nodes use the same ROS as the benchmark. The model server receives 20 requests per second.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from vms_ph_dynamics import VmsPhError
from vms_ph_io import robots, share_directory

from . import Benchmark
from .timing import Case, Timing

_LIMITS = {
    "closed_loop": 0.60,
    "energy_monitor": 0.25,
    "marker_publisher": 0.25,
    "model_server": 0.25,
}
_REQUESTS = 20.0  # rate of requests to the model server, Hz
_WARM_UP = 2.0  # time for imports and discovery before the measurement, s
_FEWEST = 4  # default duration of the measurement, s
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def _run(robot: str, base: str, seconds: float) -> list[Timing]:
    """Return the processor time per second of every node, s."""
    import vms_ph_nodes  # noqa: F401  # it selects the runtime, for all that follows

    config = share_directory() / f"config/{robot}.yaml"
    if robot not in robots.names() or not config.is_file():
        raise VmsPhError(
            f"this benchmark needs a bundled robot: one of {', '.join(robots.names())}"
        )
    if not Path("/proc/self/stat").is_file():
        raise VmsPhError(
            "the processor time of processes is read from /proc, which does not exist here"
        )
    before = os.environ.get("ROS_DOMAIN_ID")
    # A separate DDS domain, so that other nodes are not discovered.
    os.environ["ROS_DOMAIN_ID"] = str(100 + os.getpid() % 130)
    started = {name: _start(name, robot, config) for name in _LIMITS}
    try:
        samples = _sample(started, max(float(_FEWEST), seconds))
    finally:
        os.environ.pop("ROS_DOMAIN_ID")
        if before is not None:
            os.environ["ROS_DOMAIN_ID"] = before
        for process in started.values():
            process.terminate()
        for process in started.values():
            process.wait(10.0)
    timings = []
    for name, limit in _LIMITS.items():
        median, lower, upper = np.percentile(samples[name], [50, 25, 75])
        case = Case(name, lambda: None, seconds=limit)
        timings.append(Timing(case, float(median), float(lower), float(upper)))
    return timings


def _start(name: str, robot: str, config: Path) -> "subprocess.Popen[bytes]":
    words = ["--ros-args", "--params-file", str(config), "-p", f"robot:={robot}"]
    return subprocess.Popen(
        [sys.executable, "-m", f"vms_ph_nodes.{name}", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _sample(
    started: "dict[str, subprocess.Popen[bytes]]", seconds: float
) -> dict[str, list[float]]:
    import rclpy

    from vms_ph_nodes.model_service.model_client import ModelClient, robot_state

    rclpy.init(args=[])
    node = rclpy.create_node("benchmark")
    try:
        client = ModelClient(node, patience=20.0)
        state = robot_state({})
        _request_for(client, state, _WARM_UP)
        samples: dict[str, list[float]] = {name: [] for name in started}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            before, begun = _processor_time(started), time.monotonic()
            _request_for(client, state, 1.0)
            after, passed = _processor_time(started), time.monotonic() - begun
            for name in started:
                samples[name].append((after[name] - before[name]) / passed)
        return samples
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _request_for(client: "object", state: "object", seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        begun = time.monotonic()
        client.dynamics(state)  # type: ignore[attr-defined]
        time.sleep(max(0.0, min(left, 1.0 / _REQUESTS - (time.monotonic() - begun))))


def _processor_time(started: "dict[str, subprocess.Popen[bytes]]") -> dict[str, float]:
    """Return the processor time used so far by each process, user and kernel, all threads, s."""
    spent = {}
    for name, process in started.items():
        if process.poll() is not None:
            raise VmsPhError(
                f"{name} ended with exit code {process.returncode}; run it separately to see why"
            )
        # The name in parentheses may contain anything; the fields follow it.
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        spent[name] = (int(fields[11]) + int(fields[12])) / _TICKS
    return spent


def _runtime() -> dict[str, str]:
    import rclpy

    found = rclpy.get_rmw_implementation_identifier()
    return {"ROS": "embedded" if "vms_ph_embedded" in str(rclpy.__file__) else f"rclpy on {found}"}


BENCHMARK = Benchmark(
    id="nodes",
    title="processor time of the nodes per second, topics at 100 Hz",
    reference="closed_loop",
    cases=lambda robot, base: [],
    base="",
    run=_run,
    versions=_runtime,
)
