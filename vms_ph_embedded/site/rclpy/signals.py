# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""SIGINT and SIGTERM end the contexts of a process."""

from __future__ import annotations

import os
import signal
import threading
from enum import IntEnum
from typing import Any

from rclpy import context as _context

from vms_ph_embedded import subset

__getattr__ = subset.missing_from(__name__)


class SignalHandlerOptions(IntEnum):
    """The signals to handle."""

    NO = 0
    SIGINT = 1
    SIGTERM = 2
    ALL = 3


_OPTIONS = {
    int(signal.SIGINT): SignalHandlerOptions.SIGINT,
    int(signal.SIGTERM): SignalHandlerOptions.SIGTERM,
}
_installed = SignalHandlerOptions.NO
_watcher: _Watcher | None = None
_previous: dict[int, Any] = {}  # what handled a signal before us


class _Watcher:
    """Sees signals while the main thread waits in DDS, where Python cannot act on them.

    Python writes the number of each signal it handles to a descriptor; a thread that reads them
    ends the contexts, which wakes all waiting.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._outer = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="rclpy signals", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while number := os.read(self._read, 1):
            if self._outer >= 0:
                os.write(self._outer, number)
            if _installed & _OPTIONS.get(number[0], SignalHandlerOptions.NO):
                for context in list(_context._initialised):
                    context._stop()

    def close(self) -> None:
        signal.set_wakeup_fd(self._outer)
        os.close(self._write)  # ends the thread
        self._thread.join()
        os.close(self._read)


def install_signal_handlers(options: SignalHandlerOptions = SignalHandlerOptions.ALL) -> None:
    """Set whether SIGINT, SIGTERM, both or none shut the contexts down."""
    global _installed, _watcher
    if threading.current_thread() is not threading.main_thread():
        return  # Python handles signals in its main thread only
    new = SignalHandlerOptions(options) & ~_installed
    if new and _watcher is None:
        _watcher = _Watcher()
    for number, option in _OPTIONS.items():
        # Python's own handler of SIGINT stays, it raises KeyboardInterrupt. In its place may be the
        # default action, which ends the process, or none, as in the background of a shell script.
        if new & option and not callable(signal.getsignal(number)):
            _previous[number] = signal.signal(number, _leave_it_to_the_watcher)
    _installed = SignalHandlerOptions(_installed | new)


def uninstall_signal_handlers() -> None:
    """Give the signals back."""
    global _installed, _watcher
    if threading.current_thread() is not threading.main_thread():
        return
    for number, previous in _previous.items():
        if signal.getsignal(number) is _leave_it_to_the_watcher:
            signal.signal(number, previous)
    _previous.clear()
    if _watcher is not None:
        _watcher.close()
    _installed, _watcher = SignalHandlerOptions.NO, None


def _leave_it_to_the_watcher(number: int, frame: Any) -> None:
    """Handle a signal in Python's sense, so that its number reaches the watcher."""
