"""Shows momentum, inertia, power and energy of a robot as markers for RViz and the web page."""

from dataclasses import fields

from rclpy.node import Node
from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.links import LinkTree
from vms_ph_dynamics.tasks import PositionTask

from .conversions import NANOSECONDS, from_stamp
from .frames import inertial_frame, with_prefix
from .health import OK, WARN, Health
from .markers import to_markers
from .parameters import declare
from .process import run
from .robot_motion import MotionListener, RobotMotion
from .robot_parameters import RobotParameters
from .shapes import Scales, Shapes


class MarkerPublisher(Node):
    """Publishes vms_ph/markers, in the inertial frame."""

    def __init__(self) -> None:
        super().__init__("marker_publisher")
        robot = RobotParameters(self)
        rate: float = declare(self, "rate", 25.0, "of the markers at most, Hz", 0.1, 1000.0)
        self._period = round(NANOSECONDS / rate)
        self._prefix: str = declare(
            self, "frame_prefix", "", "of the robot's frames in /tf, for the headers"
        )
        self._scales = Scales(
            **{
                item.name: declare(
                    self, f"scale.{item.name}", item.default, _MEANING[item.name], 0.0, 1000.0
                )
                for item in fields(Scales)
            }
        )
        self._last = 0
        self._publisher = self.create_publisher(MarkerArray, "vms_ph/markers", 10)
        self._health = Health(self)
        self._health.report(WARN, "no joint states yet")
        robot.when_known(self._watch)

    def destroy_node(self) -> None:
        """End, telling the other nodes."""
        self._health.farewell()
        super().destroy_node()

    def _watch(self, model: VMSModel) -> None:
        self._frame = with_prefix(self._prefix, inertial_frame(model, LinkTree(model).root))
        self._shapes = Shapes(self._scales, PositionTask(model))
        self._listener = MotionListener(
            self, model, self._show, lambda why: self._health.report(WARN, why)
        )

    def _show(self, motion: RobotMotion) -> None:
        now = from_stamp(motion.stamp)
        # A stamp that goes back (a reset, a bag from its start) is shown at once.
        if 0 <= now - self._last < self._period:
            return
        self._last = now
        header = Header(stamp=motion.stamp, frame_id=self._frame)
        shapes = self._shapes.of(motion.d, motion.ports(None))
        self._publisher.publish(to_markers(header, shapes))
        self._health.report(OK, f"{len(shapes)} shapes")


_MEANING = {
    "momentum": "length of the momentum arrows, m per kg m/s and per kg m^2/s",
    "velocity": "length of the arrows of the locked velocity, m per m/s and per rad/s",
    "inertia": "half axes of the task inertia, m per kg",
    "power": "length of the arrows at the ports, m per W",
    "energy": "height of the energy bars, m per J",
    "longest": "of any arrow or bar, m",
}


def main() -> None:
    """Run the node."""
    run(MarkerPublisher)


if __name__ == "__main__":
    main()
