# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Keeping Ctrl-C out of calls that would swallow it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def deferred() -> Iterator[None]:
    """Defer an interrupt to the end of the block.

    Cyclone's Python binding describes an endpoint by calling back into Python, and replaces what is
    raised there, a KeyboardInterrupt included, by an error of its own.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pending_signals: list[Any] = []
    signal.signal(signal.SIGINT, lambda *event: pending_signals.append(event))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pending_signals:
            handler(*pending_signals[0])
