# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A limit of the time that a function may take."""

import ctypes
import threading
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

# How long an interrupt that was sent is awaited, s.
_INTERRUPT_DELAY = 0.2


class TimeLimitError(BaseException):
    """A function took too long; no ``except Exception`` in it stops this error."""


def run_within(time_limit: float, function: Callable[[], Result]) -> Result:
    """Return what a function returns.

    The thread is interrupted between two instructions of Python: a call in another language ends
    first.

    Raises:
        TimeLimitError: it takes longer than the limit.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    lock, has_ended, is_late = threading.Lock(), False, False

    def interrupt() -> None:
        nonlocal is_late
        with lock:
            if not has_ended:
                is_late = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TimeLimitError))

    timer = threading.Timer(time_limit, interrupt)
    timer.daemon = True
    timer.start()
    try:
        outcome = function()
    except TimeLimitError:
        raise TimeLimitError(_message(time_limit)) from None
    finally:
        timer.cancel()
        with lock:
            has_ended = True
    if is_late:
        # The interrupt is under way, or the function has stopped it.
        deadline = time.monotonic() + _INTERRUPT_DELAY
        while time.monotonic() < deadline:
            time.sleep(0.001)
        raise TimeLimitError(_message(time_limit))
    return outcome


def _message(time_limit: float) -> str:
    return f"the evaluation takes longer than the limit of {time_limit:g} s"
