"""The heartbeat of a node whose callbacks are late."""

import threading
import time
import weakref
from collections.abc import Callable

PERIOD = 0.25  # period of the heartbeat, s


class Heartbeat:
    """Repeats a status from a thread of its own while the callbacks of a node do not publish it.

    A node that computes for a second, or waits for a processor, has no time for its heartbeats; it
    is not lost for all that. The thread ends with its process, and with the node.
    """

    def __init__(self, repeat: Callable[[float], None]) -> None:
        """``repeat`` is a method that publishes; it gets the time since the last beat, s."""
        self._beat_at = float("inf")  # nothing to repeat before the first beat
        self._ended = threading.Event()
        arguments = (weakref.ref(self), self._ended, weakref.WeakMethod(repeat))
        self._thread = threading.Thread(target=_run, args=arguments, name="heartbeat", daemon=True)
        self._thread.start()

    def beat(self) -> None:
        """Note that the callbacks have published."""
        self._beat_at = time.monotonic()

    def silence(self) -> float:
        """Return the time since the last beat, s; negative before the first."""
        return time.monotonic() - self._beat_at

    def end(self) -> None:
        """End the thread; after this it does not publish."""
        self._ended.set()
        self._thread.join()


def _run(
    heartbeat: "weakref.ref[Heartbeat]",
    ended: threading.Event,
    repeat: "weakref.WeakMethod[Callable[[float], None]]",
) -> None:
    while not ended.wait(PERIOD):
        alive, publish = heartbeat(), repeat()
        if alive is None or publish is None:
            return
        # By the next beat of the thread a timer that is on time has beaten again.
        if alive.silence() > 2 * PERIOD:
            try:
                publish(alive.silence())
            except Exception:  # the node was destroyed without an end of its heartbeat
                return
        del alive, publish
