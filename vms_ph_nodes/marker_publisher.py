# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Shows momentum, inertia, power and energy as markers for RViz and the web page."""

import numpy as np
import pinocchio as pin
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from vms_ph_dynamics import PositionTask, VMSModel

from .messages.conversions import NS_PER_SEC, from_stamp, to_point, to_quaternion, to_vector
from .node.health import OK, WARN
from .node.parameters import declare, declare_record
from .node.process import run
from .topics.robot_motion import MotionNode, RobotMotion
from .views.shapes import Arrow, Bar, Ellipsoid, Rgba, Scales, Shape, Shapes, is_visible


class MarkerPublisher(MotionNode):
    """Publishes vms_ph/markers, in the inertial frame."""

    PARAMETER_FILE = "marker_publisher"

    def __init__(self) -> None:
        super().__init__("marker_publisher")
        self._period = round(NS_PER_SEC / float(declare(self, "rate")))
        self._scales = declare_record(self, "scale", Scales)
        self._last_stamp = 0
        self._publisher = self.create_publisher(MarkerArray, "vms_ph/markers", 10)
        self.watch()

    def begin(self, model: VMSModel) -> None:
        """Set up for a robot."""
        self._shapes = Shapes(self._scales, PositionTask(model))

    def on_motion(self, motion: RobotMotion) -> None:
        """Take a motion of the robot."""
        now = from_stamp(motion.stamp)
        # After a backward jump of stamps (a reset, a bag that restarts) publish at once.
        if 0 <= now - self._last_stamp < self._period:
            return
        self._last_stamp = now
        header = self._frames.header(self._frames.inertial, motion.stamp)
        shapes = self._shapes.shapes(motion.d, motion.ports(None))
        self._publisher.publish(to_markers(header, shapes, self._shapes.size))
        summary = f"{len(shapes)} shapes"
        if motion.missing_efforts:
            self._health.report(WARN, f"{summary}; {motion.missing_efforts}, which count as zero")
        else:
            self._health.report(OK, summary)


_SHAFT, _HEAD, _BAR_WIDTH, _TEXT = 0.012, 0.03, 0.05, 0.05  # m, for a robot with a reach of 1 m


def to_markers(header: Header, shapes: list[Shape], reach: float = 1.0) -> MarkerArray:
    """Return shapes as markers, each in its own namespace, so that RViz can hide each one.

    Args:
        header: of every marker.
        shapes: what is drawn.
        reach: of the robot, m, to which the width of arrows, bars and labels is proportional.
    """
    markers = []
    for shape in shapes:
        if isinstance(shape, Arrow):
            markers.append(_arrow(header, shape, reach))
        elif isinstance(shape, Ellipsoid):
            markers.append(_ellipsoid(header, shape))
        else:
            markers += [_bar(header, shape, reach), _label(header, shape, reach)]
    return MarkerArray(markers=markers)


def _arrow(header: Header, arrow: Arrow, reach: float) -> Marker:
    action = Marker.ADD if is_visible(arrow) else Marker.DELETE
    marker = _marker(header, arrow.name, Marker.ARROW, arrow.colour, action)
    if action == Marker.ADD:
        marker.points = [to_point(arrow.start), to_point(arrow.start + arrow.vector)]
        head_length = min(2 * reach * _HEAD, 0.5 * float(np.linalg.norm(arrow.vector)))
        marker.scale = to_vector((reach * _SHAFT, reach * _HEAD, head_length))
    return marker


def _ellipsoid(header: Header, ellipsoid: Ellipsoid) -> Marker:
    marker = _marker(header, ellipsoid.name, Marker.SPHERE, ellipsoid.colour)
    marker.pose.position = to_point(ellipsoid.centre)
    marker.pose.orientation = to_quaternion(ellipsoid.axes)
    marker.scale = to_vector(2 * ellipsoid.half_axes)
    return marker


def _bar(header: Header, bar: Bar, reach: float) -> Marker:
    marker = _marker(header, bar.name, Marker.CUBE, bar.colour)
    marker.pose.position = to_point(bar.position + bar.height / 2 * bar.up)
    rotation = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), bar.up).matrix()
    marker.pose.orientation = to_quaternion(rotation)
    marker.scale = to_vector((reach * _BAR_WIDTH, reach * _BAR_WIDTH, bar.height))
    return marker


def _label(header: Header, bar: Bar, reach: float) -> Marker:
    marker = _marker(header, f"{bar.name}, label", Marker.TEXT_VIEW_FACING, (0.1, 0.1, 0.1, 1.0))
    marker.pose.position = to_point(bar.position + (bar.height + 3 * reach * _TEXT) * bar.up)
    # RViz takes x of a text for the width of a blank; without one its words are far apart.
    marker.scale.x, marker.scale.z = 0.5 * reach * _TEXT, reach * _TEXT
    marker.text = bar.text
    return marker


def _marker(header: Header, name: str, kind: int, colour: Rgba, action: int = Marker.ADD) -> Marker:
    r, g, b, a = colour
    colour_message = ColorRGBA(r=r, g=g, b=b, a=a)
    return Marker(header=header, ns=name, type=kind, action=action, color=colour_message)


def main() -> None:
    """Run the node."""
    run(MarkerPublisher)
