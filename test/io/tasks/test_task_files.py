# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks from files, and what is said about files that are not valid."""

from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, OptionError
from vms_ph_io.settings import scenes
from vms_ph_io.tasks import robot_tasks


def test_every_bundled_task_has_targets_and_goals_within_its_shortest_form() -> None:
    assert not set(robot_tasks.names()) & set(scenes.names())  # vms-ph demo takes both
    for name in robot_tasks.names():
        task = robot_tasks.load(name)
        assert task.name == name
        assert task.targets or task.push
        assert all(target.time < 60.0 for target in task.targets)
        # The first reference for a goal, and the time after it, lie before the end.
        for goal in task.goals.values():
            times = [
                t.time
                for t in task.targets
                if t.concerns(goal.error) and t.time < task.min_duration
            ]
            assert any(begun + goal.settling_time < task.min_duration for begun in (0.0, *times)), (
                name,
                goal,
            )


def test_a_task_is_read_as_it_is_written() -> None:
    task = robot_tasks.load("underwater_waypoints")
    assert (task.robot, task.actuators, task.wind) == ("bluerov2_alpha5", "own", None)
    np.testing.assert_allclose(task.current, [0.15, 0.0, 0.0])
    (second,) = task.targets_between(10.0, 20.0)
    assert second.joints == {"alpha_axis_e": 0.6}
    assert second.concerns("attitude")
    assert not second.concerns("end_effector")
    goal = task.goals["place"]
    # A new target interrupts the judgement.
    assert task.counts(goal, 15.9)
    assert not task.counts(goal, 16.1)
    wind = robot_tasks.load("flight_survey").wind
    assert wind is not None
    # A body that drifts with the wind feels none; the drag rises with the square.
    np.testing.assert_allclose(wind.force(0.0, wind.velocity), 0.0, atol=1e-15)
    at_rest = wind.force(0.0, np.zeros(3))
    assert np.linalg.norm(at_rest) == pytest.approx(0.5 * 1.2 * 0.02 * 5.0)
    np.testing.assert_allclose(wind.force(0.0, -wind.velocity), 4.0 * at_rest)


HEAD = "title: a\nrobot: panda\n"
GOALS = "goals: {g: {of: joints, within: 0.1}}\n"
CUBE = "payload: {mass: 1, moments: [1, 1, 1], at: 1}\n"
DOOR = "mechanism: {hinge: [0, 1, 0], axis: [0, 0, 1], inertia: 4}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title: a\nrobot: panda", "the task lacks 'goals'"),
        (HEAD + "goals: {}", "goals must be a mapping"),
        (HEAD + "goals: {g: {of: hand, within: 1}}", "must be one of base, attitude, end_effector"),
        (HEAD + "goals: {g: {of: base, within: 0}}", "within of the goal 'g' must be above zero"),
        (HEAD + "goals: {g: {of: base, within: 1, after: -1}}", "must not be negative; given: -1"),
        (HEAD + GOALS + "targets: [{at: 1}]", "target 0 needs one of base, turn"),
        (HEAD + GOALS + "targets: [{at: 1, base: [1]}]", r"base of target 0 .* shape \(3,\)"),
        (HEAD + GOALS + "targets: [{at: 2, joints: {}}, {at: 1, joints: {}}]", "follow each other"),
        (HEAD + GOALS + "targets: [{at: 1, joints: [1]}]", "must be a mapping from names"),
        (HEAD + GOALS + "wind: {gust: 1}", "wind lacks 'velocity'"),
        (HEAD + GOALS + "wind: {velocity: [1, 0, 0], period: 0}", "period of the wind must be"),
        (HEAD + GOALS + DOOR.replace("inertia: 4", "inertia: 0"), "inertia of a mechanism must be"),
        (HEAD + GOALS + DOOR.replace("axis", "hook"), "mechanism has the unknown key 'hook'"),
        (HEAD + GOALS + "mechanism: 4", "mechanism must have the keys hinge, axis, inertia, damp"),
        (HEAD + GOALS.replace("joints", "grip"), "the goal 'g' is of a grip; the task lacks 'mech"),
        (
            HEAD + GOALS + "targets: [{at: 1, mechanism: 1}]",
            "at 1 s turns a mechanism; the task la",
        ),
        (HEAD + GOALS + "targets: [{at: 1, over: 1}]", "target 0 needs one of .* mechanism"),
        (
            HEAD + GOALS + DOOR + "targets: [{at: 1, mechanism: 1, over: 0}]",
            "over of target 0 must be above zero",
        ),
        (
            HEAD + GOALS + DOOR + "targets: [{at: 1, mechanism: 1, end_effector: [0, 0, 1]}]",
            "gives both end_effector and mechanism",
        ),
        (HEAD + GOALS + "payload: {mass: 1, at: 1}", "payload lacks 'moments'"),
        (HEAD + GOALS + CUBE.replace("mass: 1", "mass: -1"), "a body has a positive mass"),
        (HEAD + GOALS + CUBE.replace("at: 1", "at: 1, release: 1"), r"\(at in files\), 1 s"),
        (HEAD + GOALS + CUBE.replace("at: 1", "at: 1, to: 3"), r"to of a payload .* shape \(3,\)"),
        (HEAD + GOALS + CUBE.replace("at: 1", "at: 1, weight: 3"), "unknown key 'weight'"),
        (HEAD + GOALS + "step: -1", "step of the task must be above zero"),
        (HEAD + GOALS + "speed: 1", "the unknown key 'speed'"),
    ],
)
def test_a_file_that_is_not_valid_is_refused_with_what_is_wrong(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(ModelError, match=said):
        robot_tasks.load(str(path))


def test_an_unknown_task_is_answered_with_those_there_are() -> None:
    with pytest.raises(OptionError, match="there is no task 'moon'; there are arm, arm_pick"):
        robot_tasks.load("moon")
