# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A context: everything between init and shutdown."""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from inspect import ismethod
from typing import Any

from rclpy import _arguments
from rclpy.exceptions import RCLError
from rclpy.logging import set_logger_level

from vms_ph_embedded import discovery, subset
from vms_ph_embedded.wire.graph import Graph
from vms_ph_embedded.wire.participant import Participant

__getattr__ = subset.make_module_getattr(__name__)

_joined_contexts: weakref.WeakSet[Context] = weakref.WeakSet()


class Context(subset.RclpySubset):
    """Life between init and shutdown, with one DDS participant; not to be used twice."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._callbacks: list[Callable[[], Any]] = []
        self._arguments = _arguments.Arguments()
        self._participant: Participant | None = None
        self._graph: Graph | None = None
        self._ok = False
        self._guard_conditions: weakref.WeakSet[Any] = weakref.WeakSet()

    def init(
        self,
        args: Sequence[str] | None = None,
        *,
        initialize_logging: bool = True,
        domain_id: int | None = None,
    ) -> None:
        """Read the ROS arguments and join the DDS domain."""
        if domain_id is not None and domain_id < 0:
            raise RuntimeError(f"Domain id ({domain_id}) should not be lower than zero.")
        with self._lock:
            if self._participant is not None:
                raise RuntimeError("Context.init() must only be called once")
            self._arguments = _arguments.parse(sys.argv if args is None else args)
            for name, level in self._arguments.log_levels:
                set_logger_level(name, level)
            self._participant = Participant(
                discovery.domain_id() if domain_id is None else domain_id
            )
            self._graph = Graph(self._participant)
            self._ok = True
        _joined_contexts.add(self)

    def ok(self) -> bool:
        """Whether this context is initialised and not shut down."""
        return self._ok

    def on_shutdown(self, callback: Callable[[], None]) -> None:
        """Have a function called when this context is shut down; methods are held weakly."""
        if not callable(callback):
            raise TypeError("callback should be a callable, got {}", type(callback))
        with self._lock:
            if self._participant is not None and not self._ok:
                callback()
            elif ismethod(callback):
                self._callbacks.append(weakref.WeakMethod(callback, self._callbacks.remove))
            else:
                self._callbacks.append(lambda: callback)

    def shutdown(self) -> None:
        """End the life of this context and of all entities in it."""
        if self._participant is None:
            raise RuntimeError("Context must be initialized before it can be shutdown")
        if not self._is_joined():  # a signal may have stopped it already, which is no mistake
            raise RCLError("failed to shutdown: this context has been shut down already")
        self.try_shutdown()

    def try_shutdown(self) -> None:
        """Shut this context down if that has not happened yet."""
        self._stop()
        self.destroy()

    def destroy(self) -> None:
        """Leave the DDS domain."""
        with self._lock:
            if self in _joined_contexts:
                _joined_contexts.discard(self)
                self._participant.close()  # type: ignore[union-attr]

    def __enter__(self) -> Context:
        self.init()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.try_shutdown()

    def _is_joined(self) -> bool:
        """Whether this context still is in the DDS domain."""
        return self in _joined_contexts

    def _stop(self) -> None:
        """Become invalid and wake everything that waits, but stay in the DDS domain."""
        with self._lock:
            if not self._ok:
                return
            self._ok = False
            callbacks, self._callbacks = self._callbacks, []
        self._trigger_guard_conditions()
        for reference in callbacks:
            if (callback := reference()) is not None:
                callback()

    def _trigger_guard_conditions(self) -> None:
        for condition in list(self._guard_conditions):
            condition.set(True)

    def _make_guard_condition(self) -> Any:
        """A DDS guard condition that a shutdown or a signal triggers too."""
        assert self._participant is not None
        condition = self._participant.guard_condition()
        self._guard_conditions.add(condition)
        return condition


_default_context: Context | None = None
_default_lock = threading.RLock()


def get_default_context(*, shutting_down: bool = False) -> Context:
    """The context that functions use when they are given none."""
    global _default_context
    with _default_lock:
        context = _default_context or Context()
        _default_context = None if shutting_down else context
        return context


def _reset_default() -> None:
    """Reset the state for the next init."""
    get_default_context(shutting_down=True)


@atexit.register
def _leave_all() -> None:
    # So that the others learn at once that we have gone, rather than when a lease runs out.
    for context in list(_joined_contexts):
        context._stop()
        context.destroy()
