# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The action ~/follow_joint_trajectory of a controller with references for the joints.

It exists in a ROS 2 with control_msgs; the embedded runtime has no actions.
"""

import importlib
import math
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.task import Future

from vms_ph_dynamics import StateError, VMSModel
from vms_ph_dynamics.arrays import Array

from ..messages.conversions import NANOSECONDS
from .joint_path import JointPath, path_from_message

# Where a goal names no tolerances: largest error at the end, rad or m, and time to get there, s.
_GOAL_ERROR, _GOAL_TIME = 0.01, 10.0

_FEEDBACK_PERIOD = 0.05  # s


class _Goal:
    """One goal that is followed: its path, its tolerances and how far it is."""

    def __init__(self, handle: Any, path: JointPath, names: tuple[str, ...]) -> None:
        request = handle.request
        self.handle, self.path, self.done = handle, path, Future()
        self.time, self.feedback_time = 0.0, -math.inf
        self.path_error = _tolerances(request.path_tolerance, names, math.inf)
        self.goal_error = _tolerances(request.goal_tolerance, names, _GOAL_ERROR)
        allowed = request.goal_time_tolerance
        self.patience = allowed.sec + allowed.nanosec / NANOSECONDS or _GOAL_TIME


def _tolerances(tolerances: Any, names: tuple[str, ...], default: float) -> Array:
    """Return the position tolerances (n,); 0 is the default and a negative one none, as in ROS."""
    by_name = {item.name: item.position for item in tolerances}
    values = [by_name.get(name, 0.0) or default for name in names]
    return np.array([math.inf if value < 0.0 else value for value in values])


class TrajectoryAction:
    """Serves FollowJointTrajectory; the controller asks for its reference at every step."""

    def __init__(self, node: Node, model: VMSModel, supported: bool) -> None:
        """Serve the action.

        Args:
            node: the controller's.
            model: the robot.
            supported: whether the law follows references of the joints; otherwise goals are
                rejected, with the reason in the log.

        Raises:
            ImportError: there are no actions, or no control_msgs.
        """
        actions = importlib.import_module("rclpy.action")
        self._kind = importlib.import_module("control_msgs.action").FollowJointTrajectory
        self._accept = actions.GoalResponse.ACCEPT, actions.CancelResponse.ACCEPT
        self._reject = actions.GoalResponse.REJECT
        self._node, self._model, self._supported = node, model, supported
        self._goal: _Goal | None = None
        self._q: Array | None = None
        self._server = actions.ActionServer(
            node,
            self._kind,
            "~/follow_joint_trajectory",
            execute_callback=self._execute,
            goal_callback=self._judge,
            cancel_callback=lambda _: self._accept[1],
        )

    def forget(self) -> None:
        """End the goal, as after a reset of the simulation."""
        self._end("INVALID_GOAL", "the controller was restarted")
        self._q = None

    def reference(self, joints: Array, dt: float) -> Array | None:
        """Return the joint positions (n,) of the trajectory after a time step, or None without one.

        Args:
            joints: (n,) present positions.
            dt: time since the last call, s.
        """
        self._q, goal = joints, self._goal
        if goal is None:
            return None
        if goal.handle.is_cancel_requested:
            self._end("", "cancelled; the joints hold where they are")
            return joints
        goal.time += dt
        desired = goal.path.at(goal.time)
        error = np.abs(desired - joints)
        if goal.time - goal.feedback_time >= _FEEDBACK_PERIOD:
            goal.feedback_time = goal.time
            self._send_feedback(goal, desired, joints)
        if np.any(error > goal.path_error):
            self._end("PATH_TOLERANCE_VIOLATED", self._worst(error, goal.path_error))
            return joints
        if goal.time >= goal.path.duration:
            if np.all(error <= goal.goal_error):
                self._end("SUCCESSFUL", f"reached, {error.max():.3g} from the goal at most")
            elif goal.time > goal.path.duration + goal.patience:
                self._end("GOAL_TOLERANCE_VIOLATED", self._worst(error, goal.goal_error))
        return desired

    def _worst(self, error: Array, allowed: Array) -> str:
        k = int(np.argmax(error / allowed))
        return f"{self._model.joint_names[k]} is off by {error[k]:.3g}; allowed: {allowed[k]:.3g}"

    def _send_feedback(self, goal: _Goal, desired: Array, joints: Array) -> None:
        message = self._kind.Feedback(joint_names=list(self._model.joint_names))
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.desired.positions, message.actual.positions = desired.tolist(), joints.tolist()
        message.error.positions = (desired - joints).tolist()
        goal.handle.publish_feedback(message)

    def _judge(self, request: Any) -> Any:
        """Accept a goal, or reject it with one sentence in the log."""
        try:
            if not self._supported:
                raise StateError("the controller follows no references of the joints")
            if self._q is None:
                raise StateError("no state of the robot has been received yet")
            path_from_message(self._model, request.trajectory, self._q)
        except StateError as error:
            self._node.get_logger().error(f"a trajectory is rejected: {error}")
            return self._reject
        return self._accept[0]

    async def _execute(self, handle: Any) -> Any:
        """Follow a goal in place of the one before."""
        self._end("INVALID_GOAL", "another trajectory replaces this one")
        if self._q is None:
            handle.abort()
            return self._kind.Result(error_code=self._kind.Result.INVALID_GOAL)
        path = path_from_message(self._model, handle.request.trajectory, self._q)
        self._goal = goal = _Goal(handle, path, self._model.joint_names)
        code, why = await goal.done
        result = self._kind.Result(error_string=why)
        if not code:
            handle.canceled()
            return result
        result.error_code = getattr(self._kind.Result, code)
        (handle.succeed if code == "SUCCESSFUL" else handle.abort)()
        return result

    def _end(self, code: str, why: str) -> None:
        """End the goal with the name of an error code; an empty one cancels it."""
        goal, self._goal = self._goal, None
        if goal is not None:
            goal.done.set_result((code, why))


def serve_trajectories(node: Node, model: VMSModel, supported: bool) -> TrajectoryAction | None:
    """Return the action, or None where the runtime has no actions or control_msgs is missing."""
    try:
        return TrajectoryAction(node, model, supported)
    except ImportError:
        return None
