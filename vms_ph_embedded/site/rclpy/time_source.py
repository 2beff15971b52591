# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The source of time of the ROS clocks of a node."""

from __future__ import annotations

import weakref
from typing import Any

import rosgraph_msgs.msg
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import ROSClock
from rclpy.clock_type import ClockType
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)

CLOCK_TOPIC = "/clock"
USE_SIM_TIME_NAME = "use_sim_time"


class TimeSource:
    """Sets clocks by /clock while the parameter use_sim_time of a node is true."""

    def __init__(self, *, node: Any = None) -> None:
        self._node_of: Any = lambda: None
        self._subscription: Any = None
        self._clocks: list[ROSClock] = []
        self._last_time = Time(clock_type=ClockType.ROS_TIME)
        self._is_active = False
        if node is not None:
            self.attach_node(node)

    @property
    def ros_time_is_active(self) -> bool:
        """Whether the clocks go by /clock."""
        return self._is_active

    @ros_time_is_active.setter
    def ros_time_is_active(self, enabled: bool) -> None:
        if self._is_active == enabled:
            return
        self._is_active = enabled
        for clock in self._clocks:
            clock._set_ros_time_is_active(enabled)
        node = self._node_of()
        if enabled and node is not None:
            self._subscription = node.create_subscription(
                rosgraph_msgs.msg.Clock,
                CLOCK_TOPIC,
                self.clock_callback,
                QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
            )
        elif self._subscription is not None:
            self._unsubscribe()

    def attach_node(self, node: Any) -> None:
        """Follow the parameter use_sim_time of a node."""
        self._node_of = weakref.ref(node)
        if not node.has_parameter(USE_SIM_TIME_NAME):
            node.declare_parameter(USE_SIM_TIME_NAME, False)
        parameter = node.get_parameter(USE_SIM_TIME_NAME)
        if parameter.type_ == Parameter.Type.BOOL:
            self.ros_time_is_active = parameter.value
        else:
            node.get_logger().error(
                f"Invalid type for parameter '{USE_SIM_TIME_NAME}' {parameter.type_!r} "
                "should be bool"
            )
        node.add_on_set_parameters_callback(self._on_set_parameters)

    def attach_clock(self, clock: ROSClock) -> None:
        """Set a clock too."""
        if not isinstance(clock, ROSClock):
            raise ValueError("Only clocks with type ROS_TIME can be attached.")
        clock.set_ros_time_override(self._last_time)
        clock._set_ros_time_is_active(self._is_active)
        self._clocks.append(clock)

    def clock_callback(self, msg: Any) -> None:
        """Set all clocks by a message; one that is no time is passed over."""
        node = self._node_of()
        if msg.clock.sec < 0 or msg.clock.nanosec >= 1_000_000_000:
            if node is not None:
                node.get_logger().warning(
                    f"dropped what came on /clock: sec {msg.clock.sec}, nanosec "
                    f"{msg.clock.nanosec} is no time",
                    throttle_duration_sec=1.0,
                )
            return
        self._last_time = Time.from_msg(msg.clock)
        for clock in self._clocks:
            clock.set_ros_time_override(self._last_time)

    def _unsubscribe(self) -> None:
        node = self._node_of()
        if node is not None:
            node.destroy_subscription(self._subscription)
        self._subscription = None

    def _on_set_parameters(self, parameters: list[Parameter]) -> Any:
        for parameter in parameters:
            if parameter.name == USE_SIM_TIME_NAME:
                if parameter.type_ != Parameter.Type.BOOL:
                    reason = f"{USE_SIM_TIME_NAME} parameter set to something besides a bool"
                    return SetParametersResult(successful=False, reason=reason)
                self.ros_time_is_active = parameter.value
        return SetParametersResult(successful=True)
