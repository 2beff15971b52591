"""The robot of a node, given by name, by file or by the topic robot_description."""

from collections.abc import Callable
from pathlib import Path

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.effects.allocation import Allocation
from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io import read_urdf, robots
from vms_ph_io.packages import with_file_addresses
from vms_ph_io.urdf import require_sound

from ..node.parameters import declare

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

_SUFFIXES = (".urdf", ".xacro", ".xml")


class RobotParameters:
    """The parameters ``robot``, ``base`` and ``end_effector``, and the robot they define."""

    def __init__(self, node: Node, default: str | None = None) -> None:
        self._node = node
        self.robot: str = declare(node, "robot", default)
        self._base: str = declare(node, "base")
        self._end_effector: str = declare(node, "end_effector")

    def description(self) -> str:
        """Return the URDF text of the robot named by the parameter.

        Raises:
            VmsPhError: no such robot or file, or an invalid robot description.
        """
        if not self.robot:
            raise VmsPhError(
                f"{self._node.get_name()} requires the parameter robot: one of "
                f"{', '.join(robots.names())}, or the path of a URDF or xacro file"
            )
        if self.robot.endswith(_SUFFIXES) or "/" in self.robot:
            xml = read_urdf(self.robot)
            for warning in require_sound(xml, Path(self.robot).name):
                self._node.get_logger().warning(warning)
            return with_file_addresses(xml)
        return robots.get(self.robot).description()

    def home(self) -> dict[str, float]:
        """Return the initial joint positions."""
        return dict(robots.get(self.robot).home) if self.robot in robots.names() else {}

    def home_base(self) -> tuple[float, ...] | None:
        """Return the initial pose of the base, or None if the robot defines none."""
        known = self.robot in robots.names()
        return (robots.get(self.robot).home_base or None) if known else None

    def on_floor(self) -> bool:
        """Return whether the robot is simulated with a floor."""
        return self.robot in robots.names() and robots.get(self.robot).on_floor

    def allocation(self) -> Allocation | None:
        """Return the actuator allocation of a bundled robot's base, or None if it defines none."""
        return robots.get(self.robot).allocation() if self.robot in robots.names() else None

    def model(self, description: str) -> VMSModel:
        """Return the model of a description, with the base and end effector of the parameters."""
        if self.robot in robots.names():
            known = robots.get(self.robot)
            return known.model(description, self._base or None, self._end_effector or None)
        return VMSModel.from_urdf(description, self._base or "auto", self._end_effector or None)

    def when_known(self, use: Callable[[VMSModel], None]) -> None:
        """Call ``use`` with the model, at once if the parameter defines it, else on its arrival."""
        if self.robot:
            use(self.model(self.description()))
            return

        def received(message: String) -> None:
            try:
                use(self.model(message.data))
            except VmsPhError as error:
                self._node.get_logger().error(
                    f"the received robot_description is not valid: {error}"
                )

        self._node.create_subscription(String, "robot_description", received, LATCHED)
        self._node.get_logger().info("waiting for the topic robot_description")
