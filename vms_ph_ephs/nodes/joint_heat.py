# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Publishes temperatures of the joints, computed from friction at their measured velocities."""

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import Temperature
from std_msgs.msg import Header

from vms_ph_dynamics import Friction, VMSModel
from vms_ph_nodes.messages.conversions import NS_PER_SEC, to_stamp
from vms_ph_nodes.messages.frames import tool_topic
from vms_ph_nodes.messages.state_join import JoinedState
from vms_ph_nodes.node.health import OK, WARN
from vms_ph_nodes.node.parameters import declare
from vms_ph_nodes.node.process import ReportingNode, run
from vms_ph_nodes.node.robot_parameters import RobotParameters
from vms_ph_nodes.topics.robot_motion import MeasuredStates

from ..multibody import Heat
from ..multibody.joint_heat import JointHeat
from ..multibody.urdf import body_names

# sensor_msgs/Temperature is in degrees Celsius.
_ZERO_CELSIUS = 273.15

# Longest gap between joint states that count as samples of one motion, s.
_MAX_GAP = 1.0


class JointHeatNode(ReportingNode):
    """Publishes vms_ph/temperature/<joint> for every joint of a robot."""

    PARAMETER_FILE = "joint_heat"
    INPUT = "joint states"

    def __init__(self) -> None:
        super().__init__("joint_heat")
        robot = RobotParameters(self)
        self._heat_capacity: float = declare(self, "heat_capacity")
        self._conductance: float = declare(self, "conductance")
        self._ambient_temperature: float = declare(self, "ambient_temperature")
        rate: float = declare(self, "rate")
        self._period = round(NS_PER_SEC / rate)
        robot.when_known(self._begin)

    def _begin(self, model: VMSModel) -> None:
        self._model = model
        self._health.declare_robot(model)
        theta_0 = self._ambient_temperature + _ZERO_CELSIUS
        cooling = Heat(self._heat_capacity, self._conductance, theta_0)
        self._joint_heat = JointHeat(model.joint_names, Friction.from_model(model), cooling)
        link_names = body_names(model.pinocchio)
        pin_model = model.pinocchio
        self._frames = {name: link_names[pin_model.getJointId(name)] for name in model.joint_names}
        self._temperature_publishers = {
            name: self.create_publisher(Temperature, f"vms_ph/temperature/{topic_part}", 10)
            for name, topic_part in _topic_parts(model.joint_names).items()
        }
        self._last_sample: tuple[int, np.ndarray] | None = None
        self._published_stamp = 0
        self._states = MeasuredStates(
            self,
            model,
            0.0,
            self._on_state,
            lambda reason: self._health.report(WARN, f"unusable joint states: {reason}"),
            odometry=False,
        )

    def _on_state(self, state: JoinedState) -> None:
        stamp, rates = state.stamp, state.v[self._model.b :]
        previous_sample, self._last_sample = self._last_sample, (stamp, rates)
        if previous_sample is None or stamp <= previous_sample[0]:
            if previous_sample is not None and stamp < previous_sample[0]:
                self._joint_heat.reset()
                self._published_stamp = 0
            return
        dt = (stamp - previous_sample[0]) / NS_PER_SEC
        if dt > _MAX_GAP:
            self._health.report(
                WARN, f"{dt:.1f} s without joint states; the heat of that time is unknown"
            )
            return
        self._health.tick()
        temperatures = self._joint_heat.update(previous_sample[1], rates, dt)
        if stamp - self._published_stamp >= self._period and not self._health.disagreement:
            self._published_stamp = stamp
            self._publish(to_stamp(stamp), temperatures)

    def _publish(self, stamp: Time, temperatures: "dict[str, float]") -> None:
        for name, theta in temperatures.items():
            header = Header(stamp=stamp, frame_id=self._frames[name])
            self._temperature_publishers[name].publish(
                Temperature(header=header, temperature=theta - _ZERO_CELSIUS, variance=0.0)
            )
        warmest = max(temperatures, key=lambda name: temperatures[name])
        self._health.report(
            OK,
            f"warmest: {warmest}, {temperatures[warmest] - _ZERO_CELSIUS:.2f} °C",
            {"friction heat (J)": f"{self._joint_heat.friction_heat:.3g}"},
        )


def _topic_parts(names: Sequence[str]) -> dict[str, str]:
    """Return the last part of a topic for each of several names, all different."""
    parts: dict[str, str] = {}
    for name in names:
        part = tool_topic(name)
        parts[name] = part if part not in parts.values() else f"{part}_{len(parts) + 1}"
    return parts


def main() -> None:
    """Run the node."""
    run(JointHeatNode)
