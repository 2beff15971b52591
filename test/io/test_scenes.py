# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes from files, and what is said about files that are not valid."""

from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, OptionError
from vms_ph_dynamics.simulation.contact import ForceGoal, PlaceGoal
from vms_ph_io.descriptions.robot_shapes import robot_shapes
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.settings import scenes


@pytest.mark.parametrize("name", scenes.names())
def test_every_bundled_scene_has_a_task_with_goals(name: str) -> None:
    file = scenes.load(name)
    assert file.scene.name == name
    assert file.scene.bodies
    assert file.task is not None
    assert file.task.goals


def test_a_scene_is_read_as_it_is_written() -> None:
    file = scenes.load("wall")
    (wall,) = file.scene.bodies
    assert wall.name == "wall"
    assert not wall.is_free
    assert wall.pose[:3, 3] == pytest.approx([0.71, 0.0, 0.6])
    assert wall.shapes[0].size == (0.1, 1.2, 1.2)
    assert file.task is not None
    goal = file.task.goals["force"]
    assert isinstance(goal, ForceGoal)
    assert goal.force.tolist() == [20.0, 0.0, 0.0]
    assert file.task.move(0.5).push.tolist() == [0.0, 0.0, 0.0]  # type: ignore[union-attr]
    assert file.task.move(1.0).push.tolist() == [20.0, 0.0, 0.0]  # type: ignore[union-attr]
    other = file.task.with_controller("TaskSpaceIDAPBC")
    assert other.point.tolist() == [0.0, 0.0, 0.13]
    assert other.goals is file.task.goals
    assert other.initial_positions is file.task.initial_positions
    unnamed = file.task.with_controller("PushingImpedance")
    assert (unnamed.controller, unnamed.gains) == ("PushingImpedance", file.task.gains)
    box = scenes.load("box")
    assert box.scene.body("box").is_free
    assert box.task is not None
    assert isinstance(box.task.goals["box"], PlaceGoal)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bodies: {}", "the scene lacks 'title'"),
        ("title: a\nbodies: {b: {shapes: [{cone: [1]}]}}", "has the unknown key 'cone'"),
        ("title: a\nbodies: {b: {shapes: [{box: [1, 2]}]}}", r"box of shape 0 .* shape \(3,\)"),
        ("title: a\nbodies: {b: {shapes: [{sphere: [-1]}]}}", "radius, in m and above zero"),
        ("title: a\nbodies: {b: {shapes: [{plane: }], mass: 1}}", "cannot contain a plane"),
        ("title: a\nbodies: {b: {shapes: [], mass: -1}}", "must not be negative; given: -1 kg"),
        ("title: a\nsurface: {friction: 0}", "friction of the surface must be above zero"),
        ("title: a\ntask: {robot: panda, goals: {g: {of: x, at: [0, 0, 0], within: 1}}}", "'x'"),
        ("title: a\ntask: {robot: panda, moves: [{at: 0}]}", "move 0 lacks 'to'"),
        ("title: a\nbodies: [1]", "bodies must be a mapping"),
        ("title: a\ntask: {robot: panda, laws: [1]}", "laws must be a mapping"),
        ("title: a\ntask: {robot: panda, laws: {L: {goals: {}}}}", "the law 'L' has the unknown"),
        ("title: a\ntask: {robot: panda, laws: {L: {point: [1]}}}", "point of the law 'L'"),
    ],
)
def test_a_file_that_is_not_valid_is_refused_with_what_is_wrong(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(ModelError, match=said):
        scenes.load(str(path))


def test_an_unknown_scene_is_answered_with_those_there_are() -> None:
    with pytest.raises(OptionError, match="there is no scene 'moon'; there are box, drone_wall"):
        scenes.load("moon")


def test_the_shapes_of_a_robot_move_with_its_joints() -> None:
    settings = RobotSettings("panda")
    description = settings.description()
    model = settings.model(description)
    shapes = robot_shapes(model, description)
    assert {shape.joint for shape in shapes} == set(range(1, 8))  # the first link stands still
    broken = description.replace("link5.stl", "no_such_file.stl")
    assert len(robot_shapes(model, broken)) == len(shapes) - 1
    # Of the hand, welded to the last joint, the shapes are where the hand is.
    low = min(float((s.shape.pose[:3, 3])[2]) for s in shapes if s.joint == 7)
    assert np.isfinite(low)
