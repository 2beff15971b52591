# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Shows momentum, inertia, power and energy as markers for RViz and the web page."""

from visualization_msgs.msg import MarkerArray

from vms_ph_dynamics import PositionTask, VMSModel

from .messages.conversions import NANOSECONDS, from_stamp
from .node.health import OK, WARN
from .node.parameters import declare, declare_record
from .node.process import run
from .topics.robot_motion import MotionNode, RobotMotion
from .views.markers import to_markers
from .views.shapes import Scales, Shapes


class MarkerPublisher(MotionNode):
    """Publishes vms_ph/markers, in the inertial frame."""

    PARAMETERS = "marker_publisher"

    def __init__(self) -> None:
        super().__init__("marker_publisher")
        self._period = round(NANOSECONDS / float(declare(self, "rate")))
        self._scales = declare_record(self, "scale", Scales)
        self._last = 0
        self._publisher = self.create_publisher(MarkerArray, "vms_ph/markers", 10)
        self.watch()

    def begin(self, model: VMSModel) -> None:
        """Take the robot."""
        self._shapes = Shapes(self._scales, PositionTask(model))

    def on_motion(self, motion: RobotMotion) -> None:
        """Take a motion of the robot."""
        now = from_stamp(motion.stamp)
        # After a backward jump of stamps (a reset, a bag that restarts) publish at once.
        if 0 <= now - self._last < self._period:
            return
        self._last = now
        header = self._frames.header(self._frames.inertial, motion.stamp)
        shapes = self._shapes.of(motion.d, motion.ports(None))
        self._publisher.publish(to_markers(header, shapes, self._shapes.size))
        count = f"{len(shapes)} shapes"
        if motion.unknown:
            self._health.report(WARN, f"{count}; {motion.unknown}, which count as zero")
        else:
            self._health.report(OK, count)


def main() -> None:
    """Run the node."""
    run(MarkerPublisher)
