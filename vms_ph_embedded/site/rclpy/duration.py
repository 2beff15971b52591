# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Spans of time."""

from __future__ import annotations

from functools import total_ordering
from typing import Any

import builtin_interfaces.msg
from rclpy.constants import S_TO_NS

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)


@total_ordering
class Duration:
    """A span of time with nanosecond precision."""

    def __init__(self, *, seconds: float = 0, nanoseconds: int = 0) -> None:
        total_nanoseconds = int(seconds * S_TO_NS) + int(nanoseconds)
        if not -(2**63) <= total_nanoseconds < 2**63:
            raise OverflowError("Total nanoseconds value is too large to store in C duration.")
        self._nanoseconds = total_nanoseconds

    @property
    def nanoseconds(self) -> int:
        """The whole duration in nanoseconds."""
        return self._nanoseconds

    def __repr__(self) -> str:
        return f"Duration(nanoseconds={self.nanoseconds})"

    def __str__(self) -> str:
        return "Infinite" if self == Infinite else f"{self.nanoseconds} nanoseconds"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Duration):
            return self.nanoseconds == other.nanoseconds
        return NotImplemented

    def __lt__(self, other: object) -> bool:
        if isinstance(other, Duration):
            return self.nanoseconds < other.nanoseconds
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as in rclpy

    def to_msg(self) -> Any:
        """This duration as builtin_interfaces.msg.Duration."""
        seconds, nanoseconds = divmod(self.nanoseconds, S_TO_NS)
        return builtin_interfaces.msg.Duration(sec=seconds, nanosec=nanoseconds)

    @classmethod
    def from_msg(cls, msg: Any) -> Duration:
        """The duration that a message holds."""
        if not isinstance(msg, builtin_interfaces.msg.Duration):
            raise TypeError("Must pass a builtin_interfaces.msg.Duration object")
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec)


Infinite = Duration(nanoseconds=2**63 - 1)
