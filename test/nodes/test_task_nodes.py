# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Tasks under nodes: the simulation of the task alone, references at their times, goals, refusals."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
import yaml
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from vms_ph.msg import TaskProgress

from vms_ph_dynamics.errors import OptionError, VmsPhError
from vms_ph_dynamics.simulation.robot_task import RobotTask
from vms_ph_io import robot_tasks, share_directory
from vms_ph_nodes import closed_loop, task_settings
from vms_ph_nodes.task_runner import TaskRunner
from vms_ph_studies.tasks import TaskRun

TASKS = share_directory() / "config/tasks"


@contextmanager
def running(name: str, tmp: pytest.MonkeyPatch, home: Path, *parameters: str) -> Iterator[None]:
    """Make the parameters of the nodes of a task those of this process."""
    tmp.setenv("ROS_HOME", str(home))
    found = task_settings.arguments(name)
    text = "; ".join(f"{key}={value}" for key, value in found.items())
    pairs = [f"launch_arguments:={text}", f"robot:={found['robot']}", *parameters]
    words = [part for pair in pairs for part in ("-p", pair)]
    rclpy.init(args=["--ros-args", "--params-file", found["config"], *words], domain_id=61)
    try:
        yield
    finally:
        rclpy.shutdown()


def own_task(folder: Path, name: str, **changes: Any) -> str:
    content = yaml.safe_load((TASKS / f"{name}.yaml").read_text())
    file = folder / "own.yaml"
    file.write_text(yaml.safe_dump({**content, **changes}))
    return str(file)


@pytest.mark.parametrize("name", ["underwater_station", "flight_one_axis", "wheels_drive"])
def test_current_wind_and_wheels_are_those_of_the_task_alone(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = own_task(tmp_path, name, targets=[{"at": 50.0, "base": [0.0, 0.0, 0.0]}])
    steps = 12
    with running(own, monkeypatch, tmp_path):
        nodes = closed_loop.make()
        nodes[0]._restart()  # the law was not active before
        nodes[0]._advance(steps)
        found = nodes[0]._sample()
        residual = nodes[0].simulation
        for node in nodes:
            node.destroy_node()
    alone = TaskRun(robot_tasks.load(own))
    alone.to(steps * alone.simulation.dt)
    q, v = alone.state()
    assert residual.time == pytest.approx(alone.simulation.time)
    assert np.abs(v).max() > 1e-5
    np.testing.assert_allclose(found.q, q, atol=1e-12)
    np.testing.assert_allclose(found.v, v, atol=1e-11)
