# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Loggers with the severities, filters and output format of ROS 2."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from enum import IntEnum
from types import FrameType
from typing import Any

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)


class LoggingSeverity(IntEnum):
    """Severity of a log message."""

    UNSET = 0
    DEBUG = 10
    INFO = 20
    WARN = 30
    ERROR = 40
    FATAL = 50


_COLOURS = {
    LoggingSeverity.DEBUG: "\033[32m",
    LoggingSeverity.WARN: "\033[33m",
    LoggingSeverity.ERROR: "\033[31m",
    LoggingSeverity.FATAL: "\033[31m",
}
_levels: dict[str, LoggingSeverity] = {}  # "" is the root, above all loggers
_listeners: dict[str, Callable[..., None]] = {}  # logger name -> its node's publisher of /rosout
_output_lock = threading.Lock()

_FILTERS = {"throttle_duration_sec", "throttle_time_source_type", "skip_first", "once"}


class RcutilsLogger:
    """A logger with a name; dots make a hierarchy."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._call_sites: dict[tuple[str, int, int], _CallSite] = {}

    def get_child(self, name: str) -> RcutilsLogger:
        """A logger below this one."""
        if not name:
            raise ValueError("Child logger name must not be empty.")
        return RcutilsLogger(f"{self.name}.{name}" if self.name else name)

    def set_level(self, level: int) -> None:
        """Log nothing below this severity."""
        set_logger_level(self.name, level)

    def get_effective_level(self) -> LoggingSeverity:
        """The severity from which on this logger logs."""
        return get_logger_effective_level(self.name)

    def is_enabled_for(self, severity: int) -> bool:
        """Whether a message of this severity would be logged."""
        return LoggingSeverity(severity) >= self.get_effective_level()

    def log(self, message: object, severity: int, **kwargs: Any) -> bool:
        """Log a message; the filters are once, skip_first and throttle_duration_sec."""
        if not self.is_enabled_for(severity):
            return False
        caller = _caller(sys._getframe())
        name = kwargs.pop("name", self.name)
        if not self._passes(caller, LoggingSeverity(severity), kwargs):
            return False
        _emit(LoggingSeverity(severity), name, str(message), caller)
        return True

    def debug(self, message: object, **kwargs: Any) -> bool:
        """Log what only a developer wants to see."""
        return self.log(message, LoggingSeverity.DEBUG, **kwargs)

    def info(self, message: object, **kwargs: Any) -> bool:
        """Log what a user may want to know."""
        return self.log(message, LoggingSeverity.INFO, **kwargs)

    def warning(self, message: object, **kwargs: Any) -> bool:
        """Log what may become a problem."""
        return self.log(message, LoggingSeverity.WARN, **kwargs)

    def warn(self, message: object, **kwargs: Any) -> bool:
        """Another name of :meth:`warning`."""
        return self.warning(message, **kwargs)

    def error(self, message: object, **kwargs: Any) -> bool:
        """Log what went wrong."""
        return self.log(message, LoggingSeverity.ERROR, **kwargs)

    def fatal(self, message: object, **kwargs: Any) -> bool:
        """Log what ends the program."""
        return self.log(message, LoggingSeverity.FATAL, **kwargs)

    def _passes(
        self, caller: FrameType, severity: LoggingSeverity, filters: dict[str, Any]
    ) -> bool:
        call_site = (caller.f_code.co_filename, caller.f_lineno, caller.f_lasti)
        record = self._call_sites.get(call_site)
        if record is None:
            record = self._call_sites[call_site] = _CallSite(severity, _checked_filters(filters))
        elif severity != record.severity:
            raise ValueError("Logger severity cannot be changed between calls.")
        elif filters != record.filters:
            raise ValueError("Requested logging filters cannot be changed between calls.")
        return record.passes() if filters else True


class _CallSite:
    """The log record of one place in the source."""

    def __init__(self, severity: LoggingSeverity, filters: dict[str, Any]) -> None:
        self.severity = severity
        self.filters = filters
        self._last_log_time: int | None = None
        self._first_skipped = self._was_logged = False

    def passes(self) -> bool:
        """Whether the filters let a message pass now."""
        if interval := self.filters.get("throttle_duration_sec"):
            clock = self.filters.get("throttle_time_source_type")
            now = time.time_ns() if clock is None else clock.now().nanoseconds
            if self._last_log_time is not None and now < self._last_log_time + interval * 1e9:
                return False
            self._last_log_time = now
        if self.filters.get("skip_first") and not self._first_skipped:
            self._first_skipped = True
            return False
        if self.filters.get("once"):
            self._was_logged, logged = True, self._was_logged
            return not logged
        return True


def _checked_filters(filters: dict[str, Any]) -> dict[str, Any]:
    if unknown_filters := filters.keys() - _FILTERS:
        raise TypeError(
            f'parameter "{min(unknown_filters)}" is not one of the recognized logging options '
            f'"{sorted(_FILTERS)}"'
        )
    if "throttle_time_source_type" in filters and "throttle_duration_sec" not in filters:
        raise TypeError(
            'required parameter "throttle_duration_sec" not specified '
            'but is required for the the logging filter "throttle"'
        )
    return filters


_root = RcutilsLogger()


def get_logger(name: str) -> RcutilsLogger:
    """The logger of a name."""
    if not name:
        raise ValueError("Logger name must not be empty.")
    return _root.get_child(name)


def set_logger_level(name: str, level: int, detailed_error: bool = False) -> None:
    """Set the lowest severity of a logger and those below it; "" is the root."""
    _levels[name] = LoggingSeverity(level)


def get_logger_effective_level(name: str) -> LoggingSeverity:
    """The severity from which on a logger logs, set for it or above it."""
    while True:
        if level := _levels.get(name, LoggingSeverity.UNSET):
            return level
        if not name:
            return LoggingSeverity.INFO
        name = name.rpartition(".")[0]


def get_logging_severity_from_string(log_severity: str) -> LoggingSeverity:
    """The severity of a name, in capitals or not."""
    try:
        return LoggingSeverity[log_severity.upper()]
    except KeyError:
        raise RuntimeError(f"there is no log severity {log_severity!r}") from None


def _add_listener(name: str, listener: Callable[..., None]) -> None:
    """Show a function what a logger and those below it log."""
    _listeners[name] = listener


def _remove_listener(name: str) -> None:
    _listeners.pop(name, None)


def _caller(frame: FrameType) -> FrameType:
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _emit(severity: LoggingSeverity, name: str, message: str, caller: FrameType) -> None:
    now = time.time_ns()
    stamp = f"{now // 10**9}.{now % 10**9:09d}"
    line = f"[{severity.name}] [{stamp}] [{name}]: {message}"
    stream = sys.stderr
    if stream.isatty() and severity in _COLOURS:
        line = f"{_COLOURS[severity]}{line}\033[0m"
    with _output_lock:
        print(line, file=stream, flush=True)
    logger_name = name
    while logger_name:
        if logger_name in _listeners:
            _listeners[logger_name](now, severity, name, message, caller)
            return
        logger_name = logger_name.rpartition(".")[0]
