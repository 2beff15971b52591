# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The action ~/follow_joint_trajectory of a controller with references for the joints.

Its goals are paths through joint space from trajectory messages.

It exists in a ROS 2 with control_msgs; the embedded runtime has no actions.
"""

import importlib
import math
from itertools import pairwise
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.task import Future

from vms_ph_dynamics import Array, StateError, VMSModel

from ..messages.conversions import NS_PER_SEC, from_joints


class JointPath:
    """Joint positions over time: cubic between points with velocities, else linear.

    Attributes:
        duration: time of the last point, s.
        end_positions: (n,) of the last point, rad or m.
    """

    def __init__(self, times: Array, positions: Array, velocities: Array | None = None) -> None:
        """Interpolate between points.

        Args:
            times: (k,) s, increasing.
            positions: (k,n).
            velocities: (k,n), or None for straight lines.
        """
        self._times, self._positions, self._velocities = times, positions, velocities
        self.duration, self.end_positions = float(times[-1]), positions[-1]

    def positions_at(self, time: float) -> Array:
        """Return the positions (n,) at a time, s; those of an end outside the path."""
        times = self._times
        if time <= times[0]:
            return self._positions[0]
        if time >= times[-1]:
            return self.end_positions
        k = int(np.searchsorted(times, time, side="right")) - 1
        interval = times[k + 1] - times[k]
        s = (time - times[k]) / interval
        start, end = self._positions[k], self._positions[k + 1]
        if self._velocities is None:
            return start + s * (end - start)
        tangents = interval * self._velocities[k : k + 2]
        return (
            (1 + 2 * s) * (1 - s) ** 2 * start
            + s * (1 - s) ** 2 * tangents[0]
            + s**2 * (3 - 2 * s) * end
            + s**2 * (s - 1) * tangents[1]
        )


def _displacement(model: VMSModel, start: Array, end: Array) -> Array:
    """Return by how much joints move (n,), a continuous joint the shorter way, rad or m."""
    at_rest = np.zeros(model.n)
    (start_q, _), (end_q, _) = (from_joints(model, x, at_rest) for x in (start, end))
    return model.difference(start_q, end_q)[model.b :]


def path_from_message(model: VMSModel, message: Any, start_positions: Array) -> JointPath:
    """Return the path of a trajectory_msgs/JointTrajectory that begins at the joint positions (n,).

    Raises:
        StateError: a joint that is missing or unknown, or points that are no path.
    """
    names, points = list(message.joint_names), list(message.points)
    if sorted(names) != sorted(model.joint_names):
        raise StateError(
            f"a trajectory needs all joints once: {', '.join(model.joint_names)}; "
            f"given: {', '.join(names)}"
        )
    if not points:
        raise StateError("a trajectory needs at least one point; given: none")
    joint_order = [names.index(name) for name in model.joint_names]
    times = [p.time_from_start.sec + p.time_from_start.nanosec / NS_PER_SEC for p in points]
    if times[0] < 0.0 or any(b <= a for a, b in pairwise(times)):
        raise StateError(f"the times of the points must increase from zero on; given: {times}")
    has_velocities = all(len(point.velocities) for point in points)
    for p in points:
        if len(p.positions) != len(names) or len(p.velocities) not in (0, len(names)):
            raise StateError(
                f"every point needs {len(names)} positions, and as many velocities or none; given: "
                f"{len(p.positions)} and {len(p.velocities)}"
            )
    positions = np.array([p.positions for p in points], dtype=float)[:, joint_order]
    velocities = np.zeros_like(positions)
    if has_velocities:
        velocities = np.array([p.velocities for p in points], dtype=float)[:, joint_order]
    if not (np.isfinite(positions).all() and np.isfinite(velocities).all()):
        raise StateError("a trajectory must be finite; given: a number that is not")
    if times[0] > 0.0:
        times, positions = [0.0, *times], np.vstack([start_positions, positions])
        velocities = np.vstack([np.zeros(model.n), velocities])
    return JointPath(np.array(times), positions, velocities if has_velocities else None)


# Where a goal names no tolerances: largest error at the end, rad or m, and time to get there, s.
_GOAL_TOLERANCE, _GOAL_TIME = 0.01, 10.0

_FEEDBACK_PERIOD = 0.05  # s


class _Goal:
    """One goal that is followed: its path, its tolerances and how far it is."""

    def __init__(self, handle: Any, path: JointPath, names: tuple[str, ...]) -> None:
        request = handle.request
        self.handle, self.path, self.outcome = handle, path, Future()
        self.time, self.feedback_time = 0.0, -math.inf
        self.path_tolerance = _tolerances(request.path_tolerance, names, math.inf)
        self.goal_tolerance = _tolerances(request.goal_tolerance, names, _GOAL_TOLERANCE)
        time_tolerance = request.goal_time_tolerance
        self.time_tolerance = time_tolerance.sec + time_tolerance.nanosec / NS_PER_SEC or _GOAL_TIME


def _tolerances(tolerances: Any, names: tuple[str, ...], default: float) -> Array:
    """Return the position tolerances (n,); 0 is the default and a negative one none, as in ROS."""
    by_name = {tolerance.name: tolerance.position for tolerance in tolerances}
    values = [by_name.get(name, 0.0) or default for name in names]
    return np.array([math.inf if value < 0.0 else value for value in values])


class TrajectoryAction:
    """Serves FollowJointTrajectory; the controller asks for its reference at every step."""

    def __init__(self, node: Node, model: VMSModel, follows_joints: bool) -> None:
        """Serve the action.

        Args:
            node: the controller's.
            model: the robot.
            follows_joints: whether the law follows references of the joints; otherwise goals are
                rejected, with the reason in the log.

        Raises:
            ImportError: there are no actions, or no control_msgs.
        """
        actions = importlib.import_module("rclpy.action")
        self._action_type = importlib.import_module("control_msgs.action").FollowJointTrajectory
        responses, self._accept_cancel = actions.GoalResponse, actions.CancelResponse.ACCEPT
        self._accept_goal, self._reject_goal = responses.ACCEPT, responses.REJECT
        self._node, self._model, self._follows_joints = node, model, follows_joints
        self._goal: _Goal | None = None
        self._joint_positions: Array | None = None
        self._server = actions.ActionServer(
            node,
            self._action_type,
            "~/follow_joint_trajectory",
            execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=lambda _: self._accept_cancel,
        )

    def reset(self) -> None:
        """End the goal, as after a reset of the simulation."""
        self._end("INVALID_GOAL", "the controller was restarted")
        self._joint_positions = None

    def reference(self, joints: Array, dt: float) -> Array | None:
        """Return the joint positions (n,) of the trajectory after a time step, or None without one.

        Args:
            joints: (n,) present positions, of continuous joints in any turn.
            dt: time since the last call, s.
        """
        self._joint_positions, goal = joints, self._goal
        if goal is None:
            return None
        if goal.handle.is_cancel_requested:
            self._end("", "cancelled; the joints hold where they are")
            return joints
        goal.time += dt
        desired_positions = goal.path.positions_at(goal.time)
        displacement = _displacement(self._model, joints, desired_positions)
        error = np.abs(displacement)
        if goal.time - goal.feedback_time >= _FEEDBACK_PERIOD:
            goal.feedback_time = goal.time
            self._send_feedback(goal, desired_positions, joints, displacement)
        if np.any(error > goal.path_tolerance):
            self._end("PATH_TOLERANCE_VIOLATED", self._violation(error, goal.path_tolerance))
            return joints
        if goal.time >= goal.path.duration:
            if np.all(error <= goal.goal_tolerance):
                self._end("SUCCESSFUL", f"reached, {error.max():.3g} from the goal at most")
            elif goal.time > goal.path.duration + goal.time_tolerance:
                self._end("GOAL_TOLERANCE_VIOLATED", self._violation(error, goal.goal_tolerance))
        return desired_positions

    def _violation(self, error: Array, tolerance: Array) -> str:
        k = int(np.argmax(error / tolerance))
        return f"{self._model.joint_names[k]} is off by {error[k]:.3g}; allowed: {tolerance[k]:.3g}"

    def _send_feedback(self, goal: _Goal, goal_joints: Array, joints: Array, error: Array) -> None:
        message = self._action_type.Feedback(joint_names=list(self._model.joint_names))
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.desired.positions, message.actual.positions = goal_joints.tolist(), joints.tolist()
        message.error.positions = error.tolist()
        goal.handle.publish_feedback(message)

    def _on_goal(self, request: Any) -> Any:
        """Accept a goal, or reject it with one sentence in the log."""
        try:
            if not self._follows_joints:
                raise StateError("the controller follows no references of the joints")
            if self._joint_positions is None:
                raise StateError("no state of the robot has been received yet")
            path_from_message(self._model, request.trajectory, self._joint_positions)
        except StateError as error:
            self._node.get_logger().error(f"a trajectory is rejected: {error}")
            return self._reject_goal
        return self._accept_goal

    async def _execute(self, handle: Any) -> Any:
        """Follow a goal in place of the one before."""
        self._end("INVALID_GOAL", "another trajectory replaces this one")
        if self._joint_positions is None:
            handle.abort()
            return self._action_type.Result(error_code=self._action_type.Result.INVALID_GOAL)
        path = path_from_message(self._model, handle.request.trajectory, self._joint_positions)
        self._goal = goal = _Goal(handle, path, self._model.joint_names)
        code, reason = await goal.outcome
        result = self._action_type.Result(error_string=reason)
        if not code:
            handle.canceled()
            return result
        result.error_code = getattr(self._action_type.Result, code)
        (handle.succeed if code == "SUCCESSFUL" else handle.abort)()
        return result

    def _end(self, code: str, reason: str) -> None:
        """End the goal with the name of an error code; an empty one cancels it."""
        goal, self._goal = self._goal, None
        if goal is not None:
            goal.outcome.set_result((code, reason))
