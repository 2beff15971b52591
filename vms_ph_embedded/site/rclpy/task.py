# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Results that arrive later, and the work that brings them about."""

from __future__ import annotations

import inspect
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Generator
from typing import Any

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)


class Future:
    """A result that may not be there yet."""

    def __init__(self, *, executor: Any = None) -> None:
        self._done = False
        self._cancelled = False
        self._result: Any = None
        self._exception: BaseException | None = None
        self._exception_fetched = False
        self._callbacks: list[Callable[[Any], Any]] = []
        self._wakers: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._executor: Callable[[], Any] = lambda: None
        self._set_executor(executor)

    def __del__(self) -> None:
        if self._exception is not None and not self._exception_fetched:
            print(
                f"The following exception was never retrieved: {self._exception}", file=sys.stderr
            )

    def __await__(self) -> Generator[Any, None, Any]:
        while not self._done and not self._cancelled:
            yield self
        return self.result()

    def cancel(self) -> None:
        """Give up on the result unless it is there."""
        with self._lock:
            if self._done:
                return
            self._cancelled = True
        self._run_callbacks()

    def cancelled(self) -> bool:
        """Whether the result has been given up on."""
        return self._cancelled

    def done(self) -> bool:
        """Whether there is a result or an exception."""
        return self._done

    def result(self) -> Any:
        """The result; raises the exception if there is one, None when nothing is there yet."""
        if self._exception is not None:
            self._exception_fetched = True
            raise self._exception
        return self._result

    def exception(self) -> BaseException | None:
        """The exception, if there is one."""
        self._exception_fetched = True
        return self._exception

    def set_result(self, result: Any) -> None:
        """Provide the result."""
        with self._lock:
            self._result = result
            self._done, self._cancelled = True, False
        self._run_callbacks()

    def set_exception(self, exception: BaseException) -> None:
        """Provide an exception instead of a result."""
        with self._lock:
            self._exception, self._exception_fetched = exception, False
            self._done, self._cancelled = True, False
        self._run_callbacks()

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        """Have a function called with this future when it is done, at once if it is."""
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
            executor = self._executor()
        if executor is not None:
            executor.create_task(callback, self)
        else:
            callback(self)

    def _when_done(self, wake: Callable[[], None]) -> None:
        """Have a coroutine that awaits this future resumed."""
        with self._lock:
            if not self._done and not self._cancelled:
                self._wakers.append(wake)
                return
        wake()

    def _run_callbacks(self) -> None:
        with self._lock:
            executor = self._executor()
            callbacks, self._callbacks = self._callbacks, []
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()
        for callback in callbacks:
            if executor is not None:
                executor.create_task(callback, self)
                continue
            try:
                callback(self)
            except Exception as error:
                warnings.warn(f"Unhandled exception in done callback: {error}", stacklevel=2)

    def _set_executor(self, executor: Any) -> None:
        with self._lock:
            self._executor = (lambda: None) if executor is None else weakref.ref(executor)


class Task(Future):
    """A function or coroutine that an executor runs; its result is what comes out of it."""

    def __init__(
        self, handler: Any, args: Any = (), kwargs: Any = None, executor: Any = None
    ) -> None:
        super().__init__(executor=executor)
        arguments = args or (), kwargs or {}
        if inspect.iscoroutinefunction(handler):
            handler = handler(*arguments[0], **arguments[1])
        self._handler, self._arguments = handler, arguments
        self._run_lock = threading.Lock()
        self._wake_executor: Callable[[], None] | None = None  # set by the executor that runs this

    def __call__(self) -> None:
        """Run, or resume a coroutine that waited."""
        if self._done or not self._run_lock.acquire(blocking=False):
            return
        try:
            if not self._done:
                if inspect.iscoroutine(self._handler):
                    self._resume()
                else:
                    self._run()
        finally:
            self._run_lock.release()

    def _run(self) -> None:
        args, kwargs = self._arguments
        try:
            result = self._handler(*args, **kwargs)
        except Exception as error:
            self.set_exception(error)
        else:
            self.set_result(result)
        self._handler = None

    def _resume(self) -> None:
        try:
            awaited = self._handler.send(None)
        except StopIteration as stop:
            self.set_result(stop.value)
            self._handler = None
        except Exception as error:
            self.set_exception(error)
            self._handler = None
        else:
            if self._wake_executor is None:
                return
            if isinstance(awaited, Future):
                awaited._when_done(self._wake_executor)
            else:
                self._wake_executor()
