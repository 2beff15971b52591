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

__getattr__ = subset.make_module_getattr(__name__)


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
_handled_signals = SignalHandlerOptions.NO
_watcher: _Watcher | None = None
_previous_handlers: dict[int, Any] = {}  # what handled a signal before us


class _Watcher:
    """Sees signals while the main thread waits in DDS, where Python cannot act on them.

    Python writes the number of each signal it handles to a descriptor; a thread that reads them
    ends the contexts, which wakes all waiting.
    """

    def __init__(self) -> None:
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._previous_wakeup_fd = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="rclpy signals", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while number := os.read(self._read_end, 1):
            if self._previous_wakeup_fd >= 0:
                os.write(self._previous_wakeup_fd, number)
            if _handled_signals & _OPTIONS.get(number[0], SignalHandlerOptions.NO):
                for context in list(_context._joined_contexts):
                    context._stop()

    def close(self) -> None:
        signal.set_wakeup_fd(self._previous_wakeup_fd)
        os.close(self._write_end)  # ends the thread
        self._thread.join()
        os.close(self._read_end)


def install_signal_handlers(options: SignalHandlerOptions = SignalHandlerOptions.ALL) -> None:
    """Set whether SIGINT, SIGTERM, both or none shut the contexts down."""
    global _handled_signals, _watcher
    if threading.current_thread() is not threading.main_thread():
        return  # Python handles signals in its main thread only
    new_signals = SignalHandlerOptions(options) & ~_handled_signals
    if new_signals and _watcher is None:
        _watcher = _Watcher()
    for number, option in _OPTIONS.items():
        # Python's own handler of SIGINT stays, it raises KeyboardInterrupt. In its place may be the
        # default action, which ends the process, or none, as in the background of a shell script.
        if new_signals & option and not callable(signal.getsignal(number)):
            _previous_handlers[number] = signal.signal(number, _pass_to_watcher)
    _handled_signals = SignalHandlerOptions(_handled_signals | new_signals)


def uninstall_signal_handlers() -> None:
    """Give the signals back."""
    global _handled_signals, _watcher
    if threading.current_thread() is not threading.main_thread():
        return
    for number, handler in _previous_handlers.items():
        if signal.getsignal(number) is _pass_to_watcher:
            signal.signal(number, handler)
    _previous_handlers.clear()
    if _watcher is not None:
        _watcher.close()
    _handled_signals, _watcher = SignalHandlerOptions.NO, None


def _pass_to_watcher(number: int, frame: Any) -> None:
    """Handle a signal in Python's sense, so that its number reaches the watcher."""
