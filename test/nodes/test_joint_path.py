# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Paths through joint space from trajectory messages."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rclpy

from vms_ph_dynamics import Array, StateError
from vms_ph_io import load_urdf, robots
from vms_ph_nodes.controller import ControllerNode
from vms_ph_nodes.topics.trajectory_action import JointPath, path_from_message

MODEL = robots.load("hextilt")
NAMES = list(MODEL.joint_names)
HOME = np.zeros(MODEL.n)


def trajectory(*points: tuple[float, list[float], list[float]], names: Any = NAMES) -> Any:
    """The fields of a trajectory_msgs/JointTrajectory, which the embedded runtime does not have."""
    made = [
        SimpleNamespace(
            positions=positions,
            velocities=velocities,
            time_from_start=SimpleNamespace(sec=int(t // 1), nanosec=round(t % 1 * 1e9)),
        )
        for t, positions, velocities in points
    ]
    return SimpleNamespace(joint_names=names, points=made)


def test_a_cubic_has_the_positions_and_velocities_of_its_points() -> None:
    times, rng = np.array([0.0, 0.5, 2.0]), np.random.default_rng(2)
    positions, velocities = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    path, h = JointPath(times, positions, velocities), 1e-6
    for k, t in enumerate(times):
        np.testing.assert_allclose(path.positions_at(t), positions[k])
    for t, side in ((0.0, h), (0.5, h), (0.5, -h), (2.0, -h)):
        rate = (path.positions_at(t + side) - path.positions_at(t)) / side
        np.testing.assert_allclose(rate, velocities[times.tolist().index(t)], atol=1e-4)
    # A cubic polynomial is reproduced between the points.
    cubic = JointPath(times, np.c_[times**3], np.c_[3 * times**2])
    assert cubic.positions_at(1.3) == pytest.approx(1.3**3)


def test_without_velocities_the_path_is_straight_and_begins_at_the_robot() -> None:
    goal = [0.1 * k for k in range(MODEL.n)]
    shuffled = NAMES[::-1]
    path = path_from_message(MODEL, trajectory((2.0, goal[::-1], []), names=shuffled), HOME + 0.5)
    np.testing.assert_allclose(path.positions_at(0.0), 0.5)
    np.testing.assert_allclose(path.positions_at(1.0), 0.25 + 0.5 * np.array(goal))
    np.testing.assert_allclose(path.positions_at(5.0), goal)
    assert path.duration == 2.0


@pytest.mark.wire
def test_a_controller_tells_the_action_the_angles_of_endless_joints() -> None:
    model = load_urdf(Path(__file__).parents[1] / "golden/native/crane.urdf")
    positions = np.array([0.5, 0.2, 0.3, 0.4, -2.0])
    told: list[Array] = []
    rclpy.init(args=["--ros-args", "-p", "controller:=CartesianImpedance"], domain_id=86)
    try:
        node = ControllerNode(model)
        node._trajectory_action = SimpleNamespace(  # type: ignore[assignment]
            reference=lambda joints, dt: told.append(joints), reset=lambda: None
        )
        node.begin()
        q = model.configuration(dict(zip(model.joint_names, positions.tolist(), strict=True)))
        node.control(q, np.zeros(model.nv), 0.01)
        node.destroy_node()
    finally:
        rclpy.shutdown()
    np.testing.assert_allclose(told[0], positions)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (trajectory((1.0, [0.0], []), names=NAMES[:1]), "needs all joints once"),
        (trajectory(), "at least one point"),
        (trajectory((1.0, [0.0] * 5, []), (1.0, [0.0] * 5, [])), "must increase"),
        (trajectory((1.0, [0.0] * 3, [])), "5 positions"),
        (trajectory((1.0, [0.0] * 5, [0.0])), "as many velocities or none"),
        (trajectory((1.0, [float("nan")] * 5, [])), "must be finite"),
    ],
)
def test_what_is_no_path_is_refused_in_one_sentence(message: Any, why: str) -> None:
    with pytest.raises(StateError, match=why) as caught:
        path_from_message(MODEL, message, HOME)
    assert "\n" not in str(caught.value)
