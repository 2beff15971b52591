# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A thread for the heartbeat of a node, apart from its callbacks."""

import threading

from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from .unexpected import UNEXPECTED

PERIOD = 0.25  # period of the heartbeat, s

# Pause after an error, so that one that repeats does not take the processor, s.
_PAUSE = 0.01


class HeartbeatThread:
    """Serves a hidden node beside a node, so that both are on time while the other one computes.

    A simulator that is late has no time for its heartbeats, nor for those of others; neither is
    lost for all that. The thread ends with the process, or with its context.

    Attributes:
        node: the hidden node (its name begins with ``_``), for publishers, subscriptions, timers.
    """

    def __init__(self, beside: Node) -> None:
        context = beside.context
        self.node = Node(
            f"_{beside.get_name()}_heartbeat",
            context=context,
            namespace=beside.get_namespace(),
            use_global_arguments=False,  # which may give the name of the other node
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self._ended = threading.Event()
        self._thread = self._new()

    def start(self) -> None:
        """Begin to call callbacks."""
        self._thread.start()

    def end(self) -> None:
        """Call no callback any more; the node remains until :meth:`destroy`."""
        self._ended.set()
        if self._thread.ident is not None:  # it has begun
            self._thread.join()

    def destroy(self) -> None:
        """Destroy the hidden node."""
        self._executor.shutdown()
        self.node.destroy_node()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._executor.spin_once(timeout_sec=PERIOD)
            except (ExternalShutdownException, InvalidHandle):
                return  # the context may be shut down at any time by the main thread
            except Exception as error:
                if not self.node.context.ok():
                    return
                UNEXPECTED.note(error, "the heartbeat")
                self._ended.wait(_PAUSE)

    def revive(self) -> None:
        """Begin again where the thread has ended unasked."""
        if self._ended.is_set() or self._thread.is_alive() or not self.node.context.ok():
            return
        UNEXPECTED.note(RuntimeError("it has ended, and begins again"), "the heartbeat")
        self._thread = self._new()
        self._thread.start()

    def _new(self) -> threading.Thread:
        return threading.Thread(target=self._run, name="heartbeat", daemon=True)
