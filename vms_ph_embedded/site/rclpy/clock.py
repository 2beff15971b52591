# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Clocks."""

from __future__ import annotations

import time as _time
from collections.abc import Callable

from rclpy.clock_type import ClockType
from rclpy.time import Time

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)


class Clock(subset.RclpySubset):
    """A clock of some type; Clock(clock_type=ClockType.ROS_TIME) gives a ROSClock."""

    _clock_type: ClockType
    _change_callbacks: list[Callable[[], None]]  # for sudden changes of the time

    def __new__(cls, *, clock_type: ClockType = ClockType.SYSTEM_TIME) -> Clock:
        """Make a clock of the class that fits the type."""
        if not isinstance(clock_type, ClockType):
            raise TypeError("Clock type must be a ClockType enum")
        self = super().__new__(ROSClock if clock_type is ClockType.ROS_TIME else cls)
        self._clock_type = clock_type
        self._change_callbacks = []
        return self

    @property
    def clock_type(self) -> ClockType:
        """The kind of time of this clock."""
        return self._clock_type

    def __repr__(self) -> str:
        return f"Clock(clock_type={self.clock_type.name})"

    def _now_ns(self) -> int:
        if self._clock_type is ClockType.STEADY_TIME:
            return _time.monotonic_ns()
        return _time.time_ns()

    def now(self) -> Time:
        """The time."""
        return Time(nanoseconds=self._now_ns(), clock_type=self._clock_type)

    def _follows_topic(self) -> bool:
        return False


class ROSClock(Clock):
    """Shows system time, or the time of /clock when use_sim_time of the node is true."""

    _active = False
    _override_ns = 0

    def __new__(cls) -> ROSClock:
        """Make a clock of ROS time."""
        return super().__new__(cls, clock_type=ClockType.ROS_TIME)  # type: ignore[return-value]

    @property
    def ros_time_is_active(self) -> bool:
        """Whether this clock shows the time of /clock."""
        return self._active

    def _now_ns(self) -> int:
        return self._override_ns if self._active else _time.time_ns()

    def _follows_topic(self) -> bool:
        return self._active

    def _set_ros_time_is_active(self, enabled: bool) -> None:
        if enabled != self._active:
            self._active = enabled
            self._notify_of_change()

    def set_ros_time_override(self, time: Time) -> None:
        """Set what this clock shows while ROS time is active."""
        if not isinstance(time, Time):
            raise TypeError(
                f"Time must be specified as rclpy.time.Time. Received type: {type(time)}"
            )
        self._override_ns = time.nanoseconds
        if self._active:
            self._notify_of_change()

    def _notify_of_change(self) -> None:
        for callback in list(self._change_callbacks):
            callback()
