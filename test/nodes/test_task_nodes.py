# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks under nodes: the motion of the task alone, references at their times, goals, refusals."""

import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from built_core import compiled  # noqa: F401
from rclpy.executors import SingleThreadedExecutor

from vms_ph_dynamics import Ports, VMSModel, VmsPhError
from vms_ph_dynamics.simulation.robot_task import RobotTask
from vms_ph_io import share_directory
from vms_ph_io.tasks import robot_tasks
from vms_ph_io.tasks.task_reference import TaskReference
from vms_ph_io.tasks.task_run import TaskRun
from vms_ph_nodes import closed_loop, task_settings
from vms_ph_nodes.node.parameters import parameters_of
from vms_ph_nodes.task_runner import TaskRunner
from vms_ph_nodes.views.marker_scene import is_drawable

from .conftest import Start
from .task_runs import run_once, running

TASKS = share_directory() / "config/tasks"


def own_task(folder: Path, name: str, **changes: Any) -> str:
    content = yaml.safe_load((TASKS / f"{name}.yaml").read_text())
    file = folder / "own.yaml"
    file.write_text(yaml.safe_dump({**content, **changes}))
    return str(file)


# The arm has the handle in its hand at the start, takes the body, and sets it down.
TAKEN = {
    "mass": 1.0,
    "moments": [0.002, 0.002, 0.002],
    "centre": [0.02, 0.0, -0.05],
    "at": 0.012,
    "release": 0.03,
}


CAUGHT = {
    "mass": 40.0,
    "moments": [1.0, 1.0, 1.0],
    "at": 0.05,
    "velocity": [0.01, 0.02, 0.0],
    "spin": [0.05, 0.0, 0.0],
}


def robot_model(task: str) -> VMSModel:
    return task_settings.node_settings(robot_tasks.load(task))[1]


def lead_home(nodes: list[Any], task: str) -> None:
    """Give the law the references with which the task begins."""
    (simulator, controller), wanted = nodes, robot_tasks.load(task)
    both = controller.controller.LEADS_BASE_AND_TOOL
    found = TaskReference(wanted, simulator.model, simulator._home, both)
    given = found.reference_between(-1.0, 0.0)
    for part in ("pose", "position", "joints"):
        if (value := getattr(given, part)) is not None:
            controller._reference_topics._pending[part] = value


@pytest.mark.parametrize(
    ("name", "changes", "steps"),
    [
        ("underwater_station", {}, 5),
        ("flight_one_axis", {}, 5),
        ("wheels_drive", {}, 5),
        ("mobile_door", {}, 5),
        ("underwater_valve", {"current": [0.1, 0.2, 0.0]}, 5),
        ("arm_pick", {"payload": TAKEN}, 10),
        ("arm_pick", {"payload": TAKEN}, 20),
        ("arm_pick", {"payload": {**TAKEN, "in_model": False}}, 10),
        ("satellite_catch", {"payload": CAUGHT}, 6),
    ],
)
def test_what_surrounds_and_loads_the_robot_is_that_of_the_task_alone(
    name: str,
    changes: dict[str, Any],
    steps: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    holds = name in ("mobile_door", "underwater_valve")
    far = {"at": 50.0, **({"mechanism": 0.1} if holds else {"joints": {}})}
    own = own_task(tmp_path, name, targets=[far], **changes)
    pushed = name in ("wheels_drive", "mobile_door")  # nothing else moves these
    push = Ports(torque=np.full(robot_model(own).n, 0.5))
    with running(own, monkeypatch, tmp_path):
        nodes = closed_loop.make()
        simulator = nodes[0]
        simulator._restart()  # the law was not active before
        lead_home(nodes, own)
        if pushed:
            simulator.simulation.apply(push)
        simulator._advance(steps)
        found, held = simulator._sample(), simulator._engine.held_mechanism
        law = nodes[1].controller.model.total_mass
        for node in nodes:
            node.destroy_node()
    alone = TaskRun(robot_tasks.load(own))
    if pushed:
        alone.simulation.apply(push)
    alone.simulate(steps * alone.simulation.dt)
    q, v = alone.state()
    assert found.time == pytest.approx(alone.simulation.time)
    assert np.abs(v).max() > 1e-6
    np.testing.assert_allclose(found.q, q, atol=1e-12)
    np.testing.assert_allclose(found.v, v, atol=1e-11)
    assert law == alone.law.model.total_mass
    if held is not None:
        assert held.angle == pytest.approx(alone._mechanism.angle, abs=1e-12)
        assert np.linalg.norm(found.wrench_end_effector) > 1e-6


# The vehicle moves aside in a current, and its arm moves: in little more than a second.
QUICK = {
    "targets": [{"at": 0.3, "base": [0.01, 0.0, 0.0], "joints": {"alpha_axis_e": 0.05}}],
    "goals": {
        "place": {"of": "base", "within": 0.06, "after": 0.6},
        "arm": {"of": "joints", "within": 0.06, "after": 0.6},
    },
    "unaccounted": 1e-7,
    "shortest": 1.2,
}


QUICK_PICK = {
    "payload": {**TAKEN, "at": 0.3, "release": 0.8, "to": [0.0, 0.0, 0.005], "within": 0.01},
    "targets": [{"at": 0.4, "end_effector": [0.0, 0.0, 0.005]}],
    "goals": {"place": {"of": "end_effector", "within": 0.01, "after": 0.1}},
    "shortest": 1.0,
}
QUICK_CATCH = {
    "payload": {**CAUGHT, "at": 0.5, "in_model": True},
    "targets": [{"at": 0.5, "turn": [0.0, 0.0, 0.0]}],
    "goals": {"attitude": {"of": "attitude", "within": 0.05}},
    "shortest": 1.0,
}
QUICK_DOOR = {
    "targets": [{"at": 0.1, "mechanism": 0.05, "over": 0.3}],
    "goals": {
        "door": {"of": "mechanism", "within": 0.06, "after": 0.2},
        "grip": {"of": "grip", "within": 0.01},
    },
    "shortest": 0.6,
}


@pytest.mark.parametrize(
    ("name", "changes", "judged"),
    [
        ("arm_pick", QUICK_PICK, {"place", "taken", "payload", "support"}),
        (
            "satellite_catch",
            QUICK_CATCH,
            {"attitude", "actuators", "rates", "taken", "linear_momentum", "angular_momentum"},
        ),
        ("mobile_door", QUICK_DOOR, {"door", "grip", "actuators", "rates"}),
    ],
)
def test_a_task_with_what_the_end_effector_takes_or_holds_is_run_and_judged(
    name: str,
    changes: dict[str, Any],
    judged: set[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    run = run_once(own_task(tmp_path, name, **changes), monkeypatch, tmp_path)
    last = run.progress[-1]
    found = dict(zip(last.goals, last.obtained, strict=True))
    assert set(found) == judged | {"torques", "unaccounted"}
    assert not run.failed, found
    assert all(last.judged)
    # Of robot and payload, with the actuators where the base has some; of the robot alone.
    assert abs(found["unaccounted"]) < 1e-7
    assert abs(run.unaccounted) < 1e-7
    assert run.markers
    assert all(map(is_drawable, run.markers))
    assert {m.ns for m in run.markers} == {"mechanism" if name == "mobile_door" else "payload"}
    if name == "mobile_door":
        assert 1e-4 < found["door"] < 0.06
        assert found["grip"] > 1e-6
    else:
        assert found["taken"] < 5e-3


def test_a_task_is_run_once_under_nodes_and_judged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = run_once(own_task(tmp_path, "underwater_station", **QUICK), monkeypatch, tmp_path)
    *before, last = run.progress
    assert not run.failed
    assert [m.time for m in run.progress] == sorted(m.time for m in run.progress)
    assert {m.given for m in run.progress} == {0, 1}
    assert all(m.given == 0 for m in before if m.time < 0.3)
    assert last.ended
    assert last.met
    assert all(last.judged)
    found = dict(zip(last.goals, last.obtained, strict=True))
    assert set(found) == {"place", "arm", "torques", "actuators", "unaccounted"}
    # The references were followed, and did not come before their time.
    assert 0.0 < found["arm"] < 0.06
    # Energies are those seen from the water, for all nodes.
    assert abs(run.unaccounted) < 1e-7


@pytest.mark.slow
def test_a_task_whose_goals_are_not_met_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    strict = {"place": {"of": "base", "within": 1e-6, "after": 0.6}}
    own = own_task(tmp_path, "underwater_station", **{**QUICK, "goals": strict})
    run = run_once(own, monkeypatch, tmp_path)
    assert run.failed
    assert run.progress[-1].ended
    assert not run.progress[-1].met


def test_a_demo_begins_anew_again_and_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    soon = own_task(tmp_path, "arm", repeat=0.1)
    with running(soon, monkeypatch, tmp_path, f"task:={soon}", "use_sim_time:=true"):
        nodes, runner = closed_loop.make(), TaskRunner()
        executor = SingleThreadedExecutor()
        for node in (*nodes, runner):
            executor.add_node(node)
        end = time.monotonic() + 60.0
        while nodes[0].simulation.resets < 3:
            executor.spin_once(timeout_sec=0.1)
            assert time.monotonic() < end, "it does not begin anew"
        pushes = nodes[0]._efforts._pushes
        for node in (*nodes, runner):
            node.destroy_node()
    assert (pushes.force, pushes.first) == (60.0, 4.0)


@pytest.mark.slow
@pytest.mark.wire
@pytest.mark.parametrize("name", robot_tasks.names())
def test_a_task_holds_its_goals_for_a_minute_under_nodes(name: str, start: Start) -> None:
    program = start(
        "launch", "task", f"task:={name}", "once:=true", "real_time_factor:=10", "rate:=20.0"
    )
    assert program.wait(900.0) == 0, program.output
    assert f"task {name} after 60.0" in program.output
    assert "NOT" not in program.output


@pytest.mark.usefixtures("copied_commands")
@pytest.mark.parametrize("name", ["flight_survey", "arm_reach"])
def test_the_launch_file_of_tasks_hands_every_node_the_robot_of_the_task(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    launching = pytest.importorskip("vms_ph_embedded.launch")
    monkeypatch.setenv("ROS_HOME", str(tmp_path))
    share = share_directory()
    description = launching.load(
        share / "launch/task.launch.xml",
        {"task": name, "once": "true", "gravity": "0 0 -9.8"},
        find_share=lambda package: share,
    )
    lines = {p.name.rpartition("-")[0]: list(map(str, p.command)) for p in description.processes}
    assert set(lines) == {
        "closed_loop", "energy_monitor", "marker_publisher", "model_server", "task_runner"
    }  # fmt: skip
    task = robot_tasks.load(name)
    for line in lines.values():
        (text,) = [word for word in line if word.startswith("launch_arguments:=")]
        pairs = dict(part.split("=", 1) for part in text.split(":=", 1)[1].split("; "))
        assert pairs["robot"] == task.robot
        assert pairs["gravity"] == "0 0 -9.8"  # what the user says comes first
        assert pairs["actuators"] == task.actuators
        assert pairs["tools"] == ("hextilt__base_link" if task.wind else "")
    content = yaml.safe_load((tmp_path / f"vms_ph/task_{name}.yaml").read_text())
    law = content["/**/controller"]["ros__parameters"]
    assert law == {"controller": task.controller, "base_actuated": True, **task.gains}
    simulator = content["/**/simulator"]["ros__parameters"]
    assert simulator["step"] == task.step
    assert ("wind.velocity" in simulator) == (task.wind is not None)


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("moon", {}, "there is no task 'moon'; there are .*arm_reach"),
        ("underwater_station", {"current": [0.1, 0.0, 0.1]}, "current must be horizontal"),
        ("underwater_station", {"robot": "hextilt"}, "floating bases in water; not on 'hextilt"),
        ("arm_reach", {"wind": {"velocity": [1.0, 0.0, 0.0]}}, "a wind pushes moving bases"),
        ("underwater_station", {"gains": {"stiffness": 1.0}}, "has no gains stiffness"),
        ("mobile_door", {"payload": TAKEN}, "robots without 'mechanism' and without 'wheels'"),
        ("underwater_valve", {"payload": TAKEN}, "is in water"),
        (
            "arm_pick",
            {"payload": {**TAKEN, "velocity": [0.1, 0.0, 0.0]}},
            "for tasks without gravity",
        ),
        ("mobile_drive", {"wheels": {"panda_joint1": 0.1}}, "actuators:=own drive a base that"),
        (
            "underwater_station",
            {"targets": [{"at": 1.0, "joints": {"alpha_axis_e": -0.8}}]},
            "outside its limits from 0 to",
        ),
    ],
)
def test_what_nodes_cannot_run_is_refused_before_they_start(
    name: str, changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(VmsPhError, match=said) as caught:
        task_settings.arguments(own_task(tmp_path, name, **changes) if changes else name)
    assert "\n" not in str(caught.value)


def test_nodes_simulate_every_entry_of_a_task() -> None:
    # An entry that is added belongs into task_settings.parameters, or is refused there.
    assert {item.name for item in fields(RobotTask)} == {
        *("name", "title", "robot", "scene", "base", "actuators", "controller", "gains"),
        "min_duration",
        *("base_actuated", "push", "repeat"),
        *("initial_positions", "end_effector", "gravity", "inertia", "locked_joints", "wheels"),
        *("step", "joint_friction", "current", "wind", "mechanism", "payload", "targets"),
        *("goals", "max_residual"),
    }


@pytest.mark.parametrize("name", robot_tasks.names())
def test_nodes_take_every_bundled_task(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROS_HOME", str(tmp_path))
    found = task_settings.arguments(name)
    nodes = yaml.safe_load(Path(found["config"]).read_text())
    unknown = nodes["/**/simulator"]["ros__parameters"].keys() - parameters_of("simulator").keys()
    assert not unknown


def test_a_wind_needs_the_port_through_which_it_pushes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (
        running("flight_survey", monkeypatch, tmp_path, "launch_arguments:=robot=hextilt"),
        pytest.raises(
            VmsPhError, match=r"pushes 'hextilt__base_link', .* set tools:=hextilt__base"
        ),
    ):
        closed_loop.make()
