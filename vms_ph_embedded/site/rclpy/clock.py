# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Clocks, and how to wait for them."""

from __future__ import annotations

import threading
import time as _time
from collections.abc import Callable
from enum import IntEnum

from rclpy.clock_type import ClockType
from rclpy.context import Context, get_default_context
from rclpy.duration import Duration
from rclpy.exceptions import NotInitializedException
from rclpy.time import Time

from vms_ph_embedded import subset

__getattr__ = subset.missing_from(__name__)


class ClockChange(IntEnum):
    """Change of the time source at a jump."""

    ROS_TIME_NO_CHANGE = 1
    ROS_TIME_ACTIVATED = 2
    ROS_TIME_DEACTIVATED = 3
    SYSTEM_TIME_NO_CHANGE = 4


class JumpThreshold:
    """Size of a jump of time from which a callback is called."""

    def __init__(
        self,
        *,
        min_forward: Duration | None,
        min_backward: Duration | None,
        on_clock_change: bool = True,
    ) -> None:
        if min_forward is not None and min_forward.nanoseconds <= 0:
            raise ValueError("min_forward must be a positive non-zero duration")
        if min_backward is not None and min_backward.nanoseconds >= 0:
            raise ValueError("min_backward must be a negative non-zero duration")
        if min_forward is None and min_backward is None and not on_clock_change:
            raise ValueError("At least one jump threshold must be enabled")
        self.min_forward = min_forward
        self.min_backward = min_backward
        self.on_clock_change = on_clock_change

    def _exceeded(self, jump: TimeJump) -> bool:
        if jump.clock_change in (ClockChange.ROS_TIME_ACTIVATED, ClockChange.ROS_TIME_DEACTIVATED):
            return self.on_clock_change
        forward, backward, delta = self.min_forward, self.min_backward, jump.delta
        return (forward is not None and delta >= forward) or (
            backward is not None and delta <= backward
        )


class TimeJump:
    """A jump of time."""

    def __init__(self, clock_change: ClockChange, delta: Duration) -> None:
        if not isinstance(clock_change, ClockChange):
            raise TypeError("clock_change must be an instance of rclpy.clock.ClockChange")
        self.clock_change = clock_change
        self.delta = delta


class JumpHandle:
    """A registered jump callback; unregisters at the end of a with block."""

    def __init__(
        self,
        *,
        clock: Clock,
        threshold: JumpThreshold,
        pre_callback: Callable[[], None] | None,
        post_callback: Callable[[TimeJump], None] | None,
    ) -> None:
        if pre_callback is None and post_callback is None:
            raise ValueError("One of pre_callback or post_callback must be callable")
        if pre_callback is not None and not callable(pre_callback):
            raise ValueError("pre_callback must be callable if given")
        if post_callback is not None and not callable(post_callback):
            raise ValueError("post_callback must be callable if given")
        self._clock = clock
        self.threshold = threshold
        self.pre_callback = pre_callback
        self.post_callback = post_callback
        clock._jump_handles.append(self)

    def unregister(self) -> None:
        """Call the callbacks no more."""
        if self in self._clock._jump_handles:
            self._clock._jump_handles.remove(self)

    def __enter__(self) -> JumpHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.unregister()


class Clock(subset.Subset):
    """A clock of some type; Clock(clock_type=ClockType.ROS_TIME) gives a ROSClock."""

    _clock_type: ClockType
    _jump_handles: list[JumpHandle]

    def __new__(cls, *, clock_type: ClockType = ClockType.SYSTEM_TIME) -> Clock:
        """Make a clock of the class that fits the type."""
        if not isinstance(clock_type, ClockType):
            raise TypeError("Clock type must be a ClockType enum")
        self = super().__new__(ROSClock if clock_type is ClockType.ROS_TIME else cls)
        self._clock_type = clock_type
        self._jump_handles = []
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

    def create_jump_callback(
        self,
        threshold: JumpThreshold,
        *,
        pre_callback: Callable[[], None] | None = None,
        post_callback: Callable[[TimeJump], None] | None = None,
    ) -> JumpHandle:
        """Have functions called before and after the time jumps."""
        return JumpHandle(
            clock=self, threshold=threshold, pre_callback=pre_callback, post_callback=post_callback
        )

    def sleep_until(self, until: Time, context: Context | None = None) -> bool:
        """Sleep until a time; False when woken by a shutdown or a change of the time source."""
        context = context or get_default_context()
        if not context.ok():
            raise NotInitializedException()
        if until.clock_type != self._clock_type:
            raise ValueError("until's clock type does not match this clock's type")
        wake = threading.Event()
        source_changed = False

        def on_jump(jump: TimeJump) -> None:
            nonlocal source_changed
            source_changed = source_changed or jump.clock_change in (
                ClockChange.ROS_TIME_ACTIVATED,
                ClockChange.ROS_TIME_DEACTIVATED,
            )
            if source_changed or self._now_ns() >= until.nanoseconds:
                wake.set()

        any_step = JumpThreshold(min_forward=Duration(nanoseconds=1), min_backward=None)
        context.on_shutdown(wake.set)
        try:
            with self.create_jump_callback(any_step, post_callback=on_jump):
                while not wake.is_set() and (left := until.nanoseconds - self._now_ns()) > 0:
                    wake.wait(None if self._follows_topic() else left / 1e9)
        finally:
            context._forget_on_shutdown(wake.set)
        return context.ok() and not source_changed and self._now_ns() >= until.nanoseconds

    def sleep_for(self, rel_time: Duration, context: Context | None = None) -> bool:
        """Sleep for a duration; False when woken before."""
        return self.sleep_until(self.now() + rel_time, context)

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
        if enabled == self._active:
            return
        change = ClockChange.ROS_TIME_ACTIVATED if enabled else ClockChange.ROS_TIME_DEACTIVATED
        before = self._now_ns()
        after = self._override_ns if enabled else _time.time_ns()
        self._jump(TimeJump(change, Duration(nanoseconds=after - before)), active=enabled)

    def set_ros_time_override(self, time: Time) -> None:
        """Set what this clock shows while ROS time is active."""
        if not isinstance(time, Time):
            raise TypeError(
                f"Time must be specified as rclpy.time.Time. Received type: {type(time)}"
            )
        delta = Duration(nanoseconds=time.nanoseconds - self._override_ns)
        if self._active:
            self._jump(
                TimeJump(ClockChange.ROS_TIME_NO_CHANGE, delta), override_ns=time.nanoseconds
            )
        else:
            self._override_ns = time.nanoseconds

    def _jump(
        self, jump: TimeJump, *, active: bool | None = None, override_ns: int | None = None
    ) -> None:
        affected = [handle for handle in self._jump_handles if handle.threshold._exceeded(jump)]
        for handle in affected:
            if handle.pre_callback is not None:
                handle.pre_callback()
        if active is not None:
            self._active = active
        if override_ns is not None:
            self._override_ns = override_ns
        for handle in affected:
            if handle.post_callback is not None:
                handle.post_callback(jump)
