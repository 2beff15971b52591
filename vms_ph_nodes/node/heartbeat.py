# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A thread for the heartbeat of a node, and errors that no code expected, in any thread.

Such an error is contained, counted, logged and published.
"""

import threading
import time
import traceback
from pathlib import Path

from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node

# Shortest time between two lines in the log, s, and longest text of an error.
_LOG_PERIOD, _MAX_LETTERS = 1.0, 300


class UnexpectedErrors:
    """The errors of this process, which heartbeats publish.

    Attributes:
        count: how many there were.
        last: a sentence about the last one.
        ended: names of threads that have ended by one.
    """

    def __init__(self) -> None:
        self.count, self.last = 0, ""
        self.ended: list[str] = []
        self._last_log_time = -_LOG_PERIOD

    def note(self, error: BaseException, location: str) -> None:
        """Count an error and log it, at most once a second."""
        self.count += 1
        frames = traceback.extract_tb(error.__traceback__)[-1:]
        line = "".join(f" ({Path(frame.filename).name}, line {frame.lineno})" for frame in frames)
        self.last = f"{location}: {type(error).__name__}: {error!s:.{_MAX_LETTERS}}{line}"
        if time.monotonic() - self._last_log_time >= _LOG_PERIOD:
            self._last_log_time = time.monotonic()
            get_logger("vms_ph").error(f"unexpected error in {self.last}")

    def watch_threads(self) -> None:
        """Note every thread of this process that ends by an error."""
        threading.excepthook = self._on_thread_error

    def _on_thread_error(self, thread_error: threading.ExceptHookArgs) -> None:
        name = thread_error.thread.name if thread_error.thread else "of another library"
        if thread_error.exc_value is not None:
            self.ended.append(name)
            self.note(thread_error.exc_value, f"the thread {name}, which has ended")


UNEXPECTED = UnexpectedErrors()


BEAT_PERIOD = 0.25  # period of the heartbeat, s

# Pause after an error, so that one that repeats does not take the processor, s.
_ERROR_PAUSE = 0.01


class HeartbeatThread:
    """Serves a hidden node beside a node, so that both are on time while the other one computes.

    A simulator that is late has no time for its heartbeats, nor for those of others; neither is
    lost for all that. The thread ends with the process, or with its context.

    Attributes:
        node: the hidden node (its name begins with ``_``), for publishers, subscriptions, timers.
    """

    def __init__(self, owner: Node) -> None:
        context = owner.context
        self.node = Node(
            f"_{owner.get_name()}_heartbeat",
            context=context,
            namespace=owner.get_namespace(),
            use_global_arguments=False,  # which may give the name of the other node
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self._stop = threading.Event()
        self._thread = self._new_thread()

    def start(self) -> None:
        """Begin to call callbacks."""
        self._thread.start()

    def end(self) -> None:
        """Call no callback any more; the node remains until :meth:`destroy`."""
        self._stop.set()
        if self._thread.ident is not None:  # it has begun
            self._thread.join()

    def destroy(self) -> None:
        """Destroy the hidden node."""
        self._executor.shutdown()
        self.node.destroy_node()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._executor.spin_once(timeout_sec=BEAT_PERIOD)
            except (ExternalShutdownException, InvalidHandle):
                return  # the context may be shut down at any time by the main thread
            except Exception as error:
                if not self.node.context.ok():
                    return
                UNEXPECTED.note(error, "the heartbeat")
                self._stop.wait(_ERROR_PAUSE)

    def revive(self) -> None:
        """Restart the thread if it has ended unexpectedly."""
        if self._stop.is_set() or self._thread.is_alive() or not self.node.context.ok():
            return
        UNEXPECTED.note(RuntimeError("it has ended, and begins again"), "the heartbeat")
        self._thread = self._new_thread()
        self._thread.start()

    def _new_thread(self) -> threading.Thread:
        return threading.Thread(target=self._run, name="heartbeat", daemon=True)
