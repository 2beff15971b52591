# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Timers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy._entity import Entity
from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)


class Timer(Entity, subset.RclpySubset):
    """Has its callback called by an executor at a fixed period.

    Periods are counted from the start, so that delays do not add up; one that an executor was too
    late for is left out.
    """

    def __init__(
        self,
        callback: Callable[[], Any] | None,
        callback_group: CallbackGroup | None,
        timer_period_ns: int,
        clock: Clock,
        *,
        autostart: bool = True,
    ) -> None:
        self.callback = callback
        self.callback_group = callback_group
        self._clock = clock
        self._period = _checked_period(timer_period_ns)
        self._wake: Callable[[], None] = lambda: None  # set by the node
        self._cancelled = not autostart
        self._last_call_time = clock._now_ns()
        self._next_call_time = self._last_call_time + self._period

    @property
    def clock(self) -> Clock:
        """The clock that this timer goes by."""
        return self._clock

    @property
    def timer_period_ns(self) -> int:
        """The period in nanoseconds; a change takes effect after the next call."""
        return self._period

    @timer_period_ns.setter
    def timer_period_ns(self, value: int) -> None:
        self._period = _checked_period(int(value))

    def is_ready(self) -> bool:
        """Whether the callback is due."""
        self._require_open()
        return not self._cancelled and self._time_until_next() <= 0

    def is_canceled(self) -> bool:
        """Whether this timer is stopped."""
        self._require_open()
        return self._cancelled

    def cancel(self) -> None:
        """Stop until reset."""
        self._require_open()
        self._cancelled = True

    def reset(self) -> None:
        """Start again, a whole period from now."""
        self._require_open()
        self._cancelled = False
        self._next_call_time = self._clock._now_ns() + self._period
        self._wake()

    def destroy(self) -> None:
        """Stop permanently."""
        self._is_destroyed = self._cancelled = True

    def _time_until_next(self) -> int:
        now = self._clock._now_ns()
        if now < self._last_call_time:  # the clock has been set back
            self._last_call_time, self._next_call_time = now, now + self._period
        return self._next_call_time - now

    def _wait_time(self) -> int | None:
        """Time to wait for this timer; None when waiting will not make it ready."""
        if self._cancelled:
            return None
        remaining_time = max(self._time_until_next(), 0)
        return None if remaining_time and self._clock._follows_topic() else remaining_time

    def _has_work(self) -> bool:
        return not self._cancelled and self._time_until_next() <= 0

    def _take(self) -> Callable[[], Any] | None:
        if self._cancelled or (delay := -self._time_until_next()) < 0:
            return None
        self._last_call_time = self._next_call_time + delay
        period_count = 1 + delay // self._period if self._period else 0
        self._next_call_time += period_count * self._period
        if not self._period:
            self._next_call_time = self._last_call_time
        return self.callback


def _checked_period(period_ns: int) -> int:
    if period_ns < 0:
        raise ValueError("timer period must be non-negative")
    return period_ns
