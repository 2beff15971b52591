# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An interactive marker of RViz that moves the reference of the controller.

It needs the ROS package interactive_markers, which RViz brings with it.
"""

import importlib
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, Quaternion
from std_msgs.msg import ColorRGBA

from vms_ph_dynamics import Array, VMSModel, VmsPhError
from vms_ph_dynamics.energy.legend import LEGEND

from .messages.conversions import from_stamp, to_pose
from .node.health import OK
from .node.parameters import declare
from .node.process import run
from .topics.robot_motion import MotionNode, RobotMotion
from .views.shapes import reach, rgba

_MARKER_NAME = "reference"

# Quaternions (w, x, y, z) that turn the x axis of a control into each axis of the marker.
_SQRT_HALF = 0.5**0.5
_AXIS_QUATERNIONS = {
    "x": (_SQRT_HALF, _SQRT_HALF, 0.0, 0.0),
    "y": (_SQRT_HALF, 0.0, 0.0, _SQRT_HALF),
    "z": (_SQRT_HALF, 0.0, _SQRT_HALF, 0.0),
}


class ReferenceMarker(MotionNode):
    """Serves vms_ph/reference and publishes <controller>/reference_pose where it is dragged.

    On a fixed base the reference is that of the end effector, on a moving one that of the base; on
    a planar base it moves in the plane. The marker begins at the robot, and again after a reset.
    """

    PARAMETER_FILE = "reference_marker"

    def __init__(self) -> None:
        """Create the node.

        Raises:
            VmsPhError: the package interactive_markers is missing.
        """
        try:
            library = importlib.import_module("interactive_markers")
            self._marker_messages = importlib.import_module("visualization_msgs.msg")
        except ImportError as error:
            raise VmsPhError(
                "reference_marker needs the ROS package interactive_markers, which a ROS 2 with "
                f"RViz has: {error}"
            ) from None
        super().__init__("reference_marker")
        controller: str = declare(self, "controller")
        self._server = library.InteractiveMarkerServer(self, "vms_ph/reference")
        self._publisher = self.create_publisher(PoseStamped, f"{controller}/reference_pose", 10)
        self._last_stamp = -1
        self.watch()

    def begin(self, model: VMSModel) -> None:
        """Set up for a robot."""

    def on_motion(self, motion: RobotMotion) -> None:
        """Put the marker where the robot is, at the first state and after a jump back in time."""
        stamp, last_stamp = from_stamp(motion.stamp), self._last_stamp
        self._last_stamp = stamp
        self._health.report(OK, "running")
        if 0 <= last_stamp <= stamp:
            return
        frame = self._frames.root if self._model.b else self._frames.end_effector
        marker = self._marker(motion.d.placement(frame))
        self._server.insert(marker, feedback_callback=self._on_feedback)
        self._server.applyChanges()

    def _marker(self, pose: Array) -> Any:
        messages, size = self._marker_messages, 0.3 * reach(self._model)
        marker = messages.InteractiveMarker(
            header=self._frames.header(self._frames.inertial, Time()),
            pose=to_pose(pose),
            name=_MARKER_NAME,
            description=f"reference of {'base' if self._model.b else self._model.end_effector}",
            scale=size,
        )
        marker.controls = [self._ball_control(size), *self._axis_controls()]
        return marker

    def _ball_control(self, size: float) -> Any:
        """Return the control that is seen, and moves nothing."""
        messages = self._marker_messages
        r, g, b, a = rgba(LEGEND["reference"].colour, 0.6)
        ball = messages.Marker(type=messages.Marker.SPHERE, color=ColorRGBA(r=r, g=g, b=b, a=a))
        ball.scale.x = ball.scale.y = ball.scale.z = 0.15 * size
        return messages.InteractiveMarkerControl(always_visible=True, markers=[ball])

    def _axis_controls(self) -> list[Any]:
        control = self._marker_messages.InteractiveMarkerControl
        is_planar = self._model.base == "planar"
        controls = []
        for axis, (w, x, y, z) in _AXIS_QUATERNIONS.items():
            for verb, mode, in_plane in (
                ("move", control.MOVE_AXIS, axis != "z"),
                ("turn", control.ROTATE_AXIS, axis == "z"),
            ):
                if in_plane or not is_planar:
                    handle = control(name=f"{verb} {axis}", interaction_mode=mode)
                    handle.orientation = Quaternion(w=w, x=x, y=y, z=z)
                    controls.append(handle)
        return controls

    def _on_feedback(self, feedback: Any) -> None:
        if feedback.event_type != type(feedback).POSE_UPDATE:
            return
        p = feedback.pose.position
        if np.isfinite([p.x, p.y, p.z]).all():
            header = self._frames.header(self._frames.inertial, self.get_clock().now().to_msg())
            self._publisher.publish(PoseStamped(header=header, pose=feedback.pose))


def main() -> None:
    """Run the node."""
    run(ReferenceMarker)
