# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Points in time."""

from __future__ import annotations

from functools import total_ordering
from typing import Any

import builtin_interfaces.msg
from rclpy.clock_type import ClockType
from rclpy.constants import S_TO_NS
from rclpy.duration import Duration

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)


@total_ordering
class Time:
    """A point in time of a clock of some type; only times of the same type compare."""

    def __init__(
        self,
        *,
        seconds: float = 0,
        nanoseconds: int = 0,
        clock_type: ClockType = ClockType.SYSTEM_TIME,
    ) -> None:
        if not isinstance(clock_type, ClockType):
            raise TypeError("Clock type must be a ClockType enum")
        if seconds < 0:
            raise ValueError("Seconds value must not be negative")
        if nanoseconds < 0:
            raise ValueError("Nanoseconds value must not be negative")
        total_nanoseconds = int(seconds * S_TO_NS) + int(nanoseconds)
        if total_nanoseconds >= 2**63:
            raise OverflowError("Total nanoseconds value is too large to store in C time point.")
        self._nanoseconds = total_nanoseconds
        self._clock_type = clock_type

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since the epoch of the clock."""
        return self._nanoseconds

    @property
    def clock_type(self) -> ClockType:
        """The type of the clock."""
        return self._clock_type

    def seconds_nanoseconds(self) -> tuple[int, int]:
        """Whole seconds since the epoch, and the nanoseconds that remain."""
        return divmod(self.nanoseconds, S_TO_NS)

    def __repr__(self) -> str:
        return f"Time(nanoseconds={self.nanoseconds}, clock_type={self.clock_type.name})"

    def __add__(self, other: Duration) -> Time:
        if not isinstance(other, Duration):
            return NotImplemented
        try:
            return self._with_nanoseconds(self.nanoseconds + other.nanoseconds)
        except OverflowError as error:
            raise OverflowError("Addition leads to overflow in C storage.") from error

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Time):
            if self.clock_type != other.clock_type:
                raise TypeError("Can't subtract times with different clock types")
            return Duration(nanoseconds=self.nanoseconds - other.nanoseconds)
        if isinstance(other, Duration):
            try:
                return self._with_nanoseconds(self.nanoseconds - other.nanoseconds)
            except ValueError as error:
                raise ValueError("Subtraction leads to negative time.") from error
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Time):
            return self.nanoseconds == self._same_clock(other).nanoseconds
        return NotImplemented

    def __lt__(self, other: object) -> bool:
        if isinstance(other, Time):
            return self.nanoseconds < self._same_clock(other).nanoseconds
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as in rclpy

    def to_msg(self) -> Any:
        """This time as builtin_interfaces.msg.Time."""
        seconds, nanoseconds = self.seconds_nanoseconds()
        return builtin_interfaces.msg.Time(sec=seconds, nanosec=nanoseconds)

    @classmethod
    def from_msg(cls, msg: Any, clock_type: ClockType = ClockType.ROS_TIME) -> Time:
        """The time that a message holds."""
        if not isinstance(msg, builtin_interfaces.msg.Time):
            raise TypeError("Must pass a builtin_interfaces.msg.Time object")
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec, clock_type=clock_type)

    def _with_nanoseconds(self, nanoseconds: int) -> Time:
        return Time(nanoseconds=nanoseconds, clock_type=self.clock_type)

    def _same_clock(self, other: Time) -> Time:
        if self.clock_type != other.clock_type:
            raise TypeError("Can't compare times with different clock types")
        return other
