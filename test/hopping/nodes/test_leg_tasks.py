# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of legs under nodes: the motion of the task alone, and goals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from nodes.conftest import Start
from nodes.task_runs import run_once, running

from vms_ph_dynamics import VmsPhError
from vms_ph_hopping import hop, hopping_run, hopping_tasks
from vms_ph_io import share_directory
from vms_ph_nodes import closed_loop, task_settings
from vms_ph_nodes.node.parameters import parameters_of


def hopping_task(folder: Path, **changes: Any) -> str:
    content = yaml.safe_load((share_directory() / "config/hops/hop_forward.yaml").read_text())
    file = folder / "own_hop.yaml"
    file.write_text(yaml.safe_dump({**content, **changes}))
    return str(file)


def test_a_leg_under_nodes_hops_as_in_its_task_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seconds = 0.2
    alone = hopping_run.prepare(hopping_tasks.load("hop_forward"))
    run = hop(alone[1], *alone[2:], seconds)
    with running("hop_forward", monkeypatch, tmp_path):
        nodes = closed_loop.make()
        nodes[0]._restart()  # the law was not active before
        nodes[0]._advance(round(seconds / nodes[0].step))
        found = nodes[0]._sample()
        for node in nodes:
            node.destroy_node()
    last = run.leg(-1)
    assert run.events  # it has touched the floor
    # Steps end at the samples of the node, and keep the tolerance of the task.
    np.testing.assert_allclose(found.q, last.q, atol=1e-6)
    np.testing.assert_allclose(found.v, last.v, atol=1e-5)


def test_the_hops_of_a_leg_are_judged_by_its_states_in_flight(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    goals = {
        "height": {"of": "apex", "at": 0.2478, "within": 0.001},
        "higher": {"of": "apex", "at": 0.2578, "within": 0.005},
        "forward": {"of": "speed", "at": 0.2325, "within": 0.002},
    }
    own = hopping_task(tmp_path, goals=goals, shortest=0.6, tolerance=1e-5)
    run = run_once(own, monkeypatch, tmp_path)
    last = run.progress[-1]
    found = dict(zip(last.goals, last.obtained, strict=True))
    assert set(found) == {*goals, "efforts", "unaccounted"}
    assert all(last.judged)
    assert run.failed  # it does not hop higher
    assert found["height"] < 0.001
    assert found["forward"] < 0.002
    assert found["higher"] == pytest.approx(0.01, abs=0.001)
    assert abs(found["unaccounted"]) < 1e-6


def test_a_law_of_a_leg_that_nodes_do_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VmsPhError, match="has the law I; that of nodes is II"):
        task_settings.arguments(hopping_task(tmp_path, law="I"))


@pytest.mark.slow
@pytest.mark.wire
@pytest.mark.parametrize("name", hopping_tasks.names())
def test_a_leg_holds_its_goals_for_a_minute_under_nodes(name: str, start: Start) -> None:
    program = start(
        "launch", "task", f"task:={name}", "once:=true", "real_time_factor:=10", "rate:=20.0"
    )
    assert program.wait(900.0) == 0, program.output
    assert f"task {name} after 60.0" in program.output
    assert "NOT" not in program.output


@pytest.mark.parametrize("name", hopping_tasks.names())
def test_nodes_take_every_bundled_task_of_a_leg(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROS_HOME", str(tmp_path))
    found = task_settings.arguments(name)
    nodes = yaml.safe_load(Path(found["config"]).read_text())
    unknown = nodes["/**/simulator"]["ros__parameters"].keys() - parameters_of("simulator").keys()
    assert not unknown
