# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Executors: they wait for work, and call the callbacks of the nodes given to them."""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cyclonedds.core import DDSException
from rclpy.context import Context, get_default_context
from rclpy.exceptions import NotInitializedException
from rclpy.task import Future, Task
from rclpy.timer import Timer

from vms_ph_embedded import subset
from vms_ph_embedded.wire.waiting import FOREVER, WaitSet

if TYPE_CHECKING:
    from rclpy.node import Node

__getattr__ = subset.make_module_getattr(__name__)


class TimeoutException(Exception):
    """Signal that a timeout occurred."""


class ExternalShutdownException(Exception):
    """Signal that the context has been shut down from elsewhere."""


class _Work:
    """A callback to call, and the coroutine it may turn out to be."""

    def __init__(self, callback: Callable[[], Any], entity: Any = None) -> None:
        self.callback = callback
        self.entity = entity
        self.task: Task | None = None


class Executor(subset.RclpySubset):
    """Base of the executors."""

    def __init__(self, *, context: Context | None = None) -> None:
        self._context = context or get_default_context()
        if not self._context.ok():
            if self._context._is_joined():  # a signal came before there was anything to spin
                raise ExternalShutdownException
            raise NotInitializedException("cannot create executor")
        self._waker = self._context._make_guard_condition()
        self._wait_set = WaitSet(self._context._participant.entity)  # type: ignore[union-attr]
        self._graph = self._context._graph
        self._nodes: set[Node] = set()
        self._lock = threading.RLock()
        self._is_shutdown = False
        self._entities_changed = True  # nodes or entities have come or gone
        self._entity_blocked = False  # an entity waits for its callback group
        self._entities: list[Any] = []
        self._timers: list[Timer] = []
        self._candidates: Iterator[Any] = iter(())
        self._woke_without_work = False  # something ended the last wait that was no work
        self._queue: deque[_Work] = deque()

    @property
    def context(self) -> Context:
        """The context of this executor."""
        return self._context

    def create_task(self, callback: Any, *args: Any, **kwargs: Any) -> Task:
        """Have a function or coroutine run while this executor spins; its result is the task's."""
        task = Task(callback, args, kwargs, executor=self)
        work = _Work(task)
        work.task = task
        task._wake_executor = lambda: self._enqueue(work)
        self._enqueue(work)
        return task

    def add_node(self, node: Node) -> bool:
        """Serve a node too; False when it is served already."""
        with self._lock:
            if node in self._nodes:
                return False
            self._nodes.add(node)
        node.executor = self
        self.wake()
        return True

    def remove_node(self, node: Node) -> None:
        """Serve a node no more."""
        with self._lock:
            self._nodes.discard(node)
        self.wake()

    def get_nodes(self) -> list[Node]:
        """The nodes served."""
        with self._lock:
            return list(self._nodes)

    def wake(self) -> None:
        """Look again at what the nodes have."""
        self._entities_changed = True
        self._interrupt()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Stop; there is no callback to wait for, as one runs at a time."""
        with self._lock:
            if self._is_shutdown:
                return True
            self._is_shutdown = True
            self._nodes.clear()
        self._interrupt()
        return True

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.shutdown()

    def spin(self) -> None:
        """Call callbacks until shutdown."""
        while self._context.ok() and not self._is_shutdown:
            self.spin_once()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Wait for a callback and call it."""
        self._spin_once(_deadline(timeout_sec), lambda: False)

    def spin_until_future_complete(self, future: Future, timeout_sec: float | None = None) -> None:
        """Call callbacks until a future is done."""
        deadline = _deadline(timeout_sec)
        future._when_done(self._interrupt)
        while self._context.ok() and not future.done() and not self._is_shutdown:
            self._spin_once(deadline, future.done)
            if deadline is not None and time.monotonic_ns() >= deadline:
                return

    def _spin_once(self, deadline: int | None, is_done: Callable[[], bool]) -> None:
        work = self._next_work(deadline, is_done)
        if work is not None:
            self._run(work)

    def _interrupt(self) -> None:
        with suppress(DDSException):  # the participant may be leaving right now
            if self._context.ok():
                self._waker.set(True)

    def _enqueue(self, work: _Work) -> None:
        self._queue.append(work)
        self._interrupt()

    # Finding work

    def _next_work(self, deadline: int | None, is_done: Callable[[], bool]) -> _Work | None:
        """The next callback to call; None at the deadline or when there is no need any more."""
        while not self._is_shutdown and not is_done():
            for entity in self._candidates:
                if (work := self._work_of(entity)) is not None:
                    self._woke_without_work = False
                    return work
            if self._queue:
                # Between two tasks all entities have their turn: a task may come back at once.
                if self._entities_changed:
                    self._collect_entities()
                self._candidates = iter(self._entities)
                return self._queue.popleft()
            if self._woke_without_work:
                self._woke_without_work = False
                for node in self.get_nodes():
                    node._ros_warn_of_mismatches()
            if self._entities_changed:
                self._collect_entities()
                candidates: list[Any] | None = self._entities
            else:
                candidates = self._wait(deadline)
            if not self._context.ok():
                raise ExternalShutdownException
            if candidates is None:
                return None
            self._candidates = iter(candidates)
        return None

    def _work_of(self, entity: Any) -> _Work | None:
        if entity._is_destroyed or not entity._has_work():
            return None
        group = entity.callback_group
        if not group.beginning_execution(entity):
            # Its data would end every wait at once, so wait without it until its turn comes.
            self._entity_blocked = True
            if hasattr(entity, "_reader"):
                self._wait_set.exclude(entity._reader.condition)
            if group.can_execute(entity):  # freed in between
                self._interrupt()
            return None
        try:
            callback = entity._take()
        except BaseException:
            group.ending_execution(entity)
            raise
        if callback is None:
            group.ending_execution(entity)
            return None
        return _Work(callback, entity)

    def _collect_entities(self) -> None:
        self._entities_changed = False
        nodes = self.get_nodes()
        self._timers = [timer for node in nodes for timer in node.timers]
        self._entities = [
            *self._timers,
            *(entity for node in nodes for entity in node._ros_waiting_entities()),
        ]
        conditions = [e._reader.condition for e in self._entities if hasattr(e, "_reader")]
        endpoints = [endpoint for node in nodes for endpoint in node._ros_watched_endpoints()]
        self._wait_set.watch([self._waker, self._graph.condition, *conditions, *endpoints])  # type: ignore[union-attr]

    def _wait(self, deadline: int | None) -> list[Any] | None:
        """Wait; gives those that may have work then, None when the deadline came first."""
        timeout = FOREVER if deadline is None else max(deadline - time.monotonic_ns(), 0)
        timer_is_next = False
        for timer in self._timers:
            if not timer.callback_group.can_execute(timer):  # type: ignore[union-attr]
                self._entity_blocked = True
                if not timer.callback_group.can_execute(timer):  # type: ignore[union-attr]
                    continue
            remaining_time = timer._wait_time()
            if remaining_time is not None and remaining_time < timeout:
                timeout, timer_is_next = remaining_time, True
        if not self._wait_set.wait(timeout):
            return self._timers if timer_is_next else None
        try:
            if self._context.ok() and self._waker.take() and self._entity_blocked:
                self._entity_blocked, self._entities_changed = False, True
            self._graph.update_if_changed()  # type: ignore[union-attr]
        except DDSException:
            if self._context.ok():  # not because of a shutdown in another thread
                raise
        self._woke_without_work = True
        return self._entities

    # Calling callbacks

    def _run(self, work: _Work) -> None:
        """Call a callback; a coroutine runs until it waits, and comes back when it is woken."""
        is_finished = False
        try:
            if work.task is None:
                result = work.callback()
                if not inspect.iscoroutine(result):
                    is_finished = True
                    return
                work.task = Task(result, executor=self)
                work.task._wake_executor = lambda: self._enqueue(work)
            work.task()
            is_finished = work.task.done()
        except BaseException:
            is_finished = True
            raise
        finally:
            if is_finished and work.entity is not None:
                work.entity.callback_group.ending_execution(work.entity)
                if self._entity_blocked:
                    self._interrupt()
        if is_finished and (error := work.task.exception()) is not None:
            raise error


class SingleThreadedExecutor(Executor):
    """Calls callbacks in the thread that spins."""


def _deadline(timeout_sec: float | None) -> int | None:
    if timeout_sec is None or timeout_sec < 0:
        return None
    return time.monotonic_ns() + int(timeout_sec * 1e9)
