# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Runs a launch description: starts, watches, respawns and stops its processes.

A separate thread starts every process and reads every pipe, so that a busy caller never blocks a
child with much output. Other threads send requests through a pipe that wakes this thread, and
receive snapshots.
"""

import contextlib
import math
import os
import selectors
import signal
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType

from vms_ph_embedded.launch.description import LaunchDescription, Log, ProcessDescription, YamlFile
from vms_ph_embedded.launch.errors import NOT_USABLE
from vms_ph_embedded.launch.output import Outputs, Screen, default_log_folder, print_line
from vms_ph_embedded.launch.process import ManagedProcess, ProcessStatus, State
from vms_ph_embedded.launch.supervision import Supervision
from vms_ph_embedded.launch.supervisor import TOKEN

# Period of polling for what has no event: ends of processes where the kernel has no pidfd,
# and of groups that have outlived the process that led them.
_POLL = 0.05
_GROUP_POLL = 0.25

_SAME_KEYPRESS = 0.5


class Launcher:
    """The processes of one launch.

    The caller either hands over control with ``run``, or calls ``start`` and then looks at
    ``processes``, ``poll`` and ``wait`` until it is over or ``stop`` is called. In a ``with``
    statement the processes run while its body does.

    A process that ``stop`` ends gets SIGINT, as from Ctrl-C; SIGTERM when it still runs after its
    ``sigterm_timeout`` (5 s), SIGKILL after another ``sigkill_timeout`` (5 s). The signals go to
    everything in its session's first group, what it has started itself included. They go out in
    the reverse order of the starts, without waiting in between.

    Args:
        description: From ``load``.
        screen: Takes the lines for the user; default: prints them.
        log_folder: For log files; default: below ROS_LOG_DIR or ~/.ros/log, as ROS 2 does.
        on_exit: Called with each process that has ended, from the launcher's thread; it may call
            ``stop`` with wait=False.
    """

    def __init__(
        self,
        description: LaunchDescription,
        *,
        screen: Screen = print_line,
        log_folder: Path | None = None,
        on_exit: Callable[[ProcessStatus], None] | None = None,
    ) -> None:
        self.description = description
        self.log_folder = default_log_folder() if log_folder is None else log_folder
        self._on_exit = on_exit
        self._outputs = Outputs(screen, self.log_folder, self._screen_lost)
        self._selector = selectors.DefaultSelector()
        self._processes = [
            ManagedProcess(step, self._outputs, self._selector) for step in description.processes
        ]
        self._respawns: dict[ManagedProcess, float] = {}
        self._commands: dict[ManagedProcess, list[str]] = {}
        self._pidfds: dict[ManagedProcess, int] = {}
        # Nodes find the launcher's process in it, and end when that ends.
        self._token = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._files: list[Path] = []
        self._supervision = Supervision(self._token, self._selector, self._outputs, self._alive)
        self._thread: threading.Thread | None = None
        self._started = threading.Event()
        self._over = threading.Event()
        self._failure: BaseException | None = None
        self._stops_wanted = 0
        self._stops_done = 0
        self._reason = ""
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, self._drain_wakes)

    # Methods for the caller, from any thread.

    @property
    def processes(self) -> tuple[ProcessStatus, ...]:
        """A snapshot of every process, in the order of the launch file."""
        return tuple(process.status for process in self._processes)

    def start(self) -> None:
        """Start every process; returns when each has been started, or has failed to.

        Where SIGINT is ignored, as a shell does for background jobs, the processes inherit that and
        end by SIGTERM only; ``run`` sees to it, a caller of ``start`` sets a handler first.
        """
        if self._thread is not None:
            raise RuntimeError("a Launcher runs once; make another one")
        self._thread = threading.Thread(target=self._run, name="launcher", daemon=True)
        self._thread.start()
        self._started.wait()

    def poll(self) -> int | None:
        """None while something runs; then the exit code of the launch.

        0 when every process ended with exit code 0, or on its Ctrl-C and within its time; 1
        otherwise. Of a respawned process the last end counts.
        """
        if not self._over.is_set():
            return None
        if self._failure is not None:
            raise self._failure
        return 0 if all(process.status.clean for process in self._processes) else 1

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the end of every process.

        Args:
            timeout: In seconds; None: for as long as it takes.

        Returns:
            The exit code of the launch, as in ``poll``; None when it is not over yet.
        """
        self._over.wait(timeout)
        return self.poll()

    def stop(self, reason: str = "asked to stop", *, wait: bool = True) -> int | None:
        """Stop every process. Each further call sends the next harder signal at once.

        Args:
            reason: For the log.
            wait: Whether to return only when all have ended.

        Returns:
            The exit code of the launch; None when it is not over yet.
        """
        self._reason = self._reason or reason
        self._stops_wanted += 1
        with contextlib.suppress(OSError):  # the launch is over, or the pipe is full of wake-ups
            self._wake_writer.send(b"s")
        from_callback = threading.current_thread() is self._thread
        return self.wait() if wait and self._thread and not from_callback else self.poll()

    def run(self) -> int:
        """Start, stay until everything has ended, and answer Ctrl-C; for the main thread.

        SIGINT, SIGTERM and SIGHUP stop the launch; another one of them, at least half a second
        later, sends the next harder signal. (Where a terminal and a wrapper both pass a Ctrl-C on,
        it comes twice at once.) The handlers are put back at the end.
        """
        with self._signals():
            self.start()
            try:
                while (code := self.wait(timeout=3600)) is None:
                    pass
            except BaseException:
                self.stop("the launcher failed")
                raise
        return code

    def __enter__(self) -> "Launcher":
        self.start()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.poll() is None:
            self.stop()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        last = -math.inf

        def stop(number: int, _frame: FrameType | None) -> None:
            nonlocal last
            before, last = last, time.monotonic()
            if last - before >= _SAME_KEYPRESS:
                self.stop(f"received {signal.Signals(number).name}", wait=False)

        # Also where SIGINT is ignored (a shell does that to background jobs): the children would
        # inherit that, and Ctrl-C would never reach them.
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            numbers.append(signal.SIGHUP)
        handlers = {number: signal.signal(number, stop) for number in numbers}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    # Methods of the launcher's thread.

    def _run(self) -> None:
        try:
            self._start_all()
            self._started.set()
            while not self._finished():
                self._step()
        except BaseException as error:  # an internal error must not leave processes running
            self._failure = error
            for process in self._processes:
                process.send(signal.SIGKILL)
        finally:
            self._close()
            self._started.set()
            self._over.set()

    def _start_all(self) -> None:
        self._supervision.start()
        self._outputs.note("INFO", "launch", f"log files are below {self.log_folder}")
        for warning in self.description.warnings:
            self._outputs.note("WARNING", "launch", warning)
        pending = iter(self._processes)
        for step in self.description.steps:
            if isinstance(step, Log):
                self._outputs.note("INFO", "launch.user", step.message)
            else:
                self._start(next(pending))

    def _alive(self) -> Iterator[str]:
        """Yield what a supervisor must know of what runs."""
        for group in {group for process in self._processes for group in process.groups}:
            yield f"+{group}"
        for file in self._files:
            yield f"file {file}"

    def _start(self, process: ManagedProcess) -> None:
        description = process.status.description
        # Unbuffered, so that the output of Python programs is shown at once.
        environment = {"PYTHONUNBUFFERED": "1", **description.environment}
        environment[TOKEN] = self._token
        try:
            if process not in self._commands:
                self._commands[process] = self._command(description)
        except OSError as error:
            process.fail(f"its parameters cannot be written to a file: {error}")
            self._ended(process)
            return
        if not process.start(self._commands[process], environment):
            self._ended(process)
            return
        self._supervision.notify(f"+{process.status.pid}")
        with contextlib.suppress(OSError, AttributeError):
            descriptor = os.pidfd_open(process.status.pid or 0)
            self._pidfds[process] = descriptor
            self._selector.register(descriptor, selectors.EVENT_READ, lambda: None)

    def _command(self, description: ProcessDescription) -> list[str]:
        words = []
        for word in description.command:
            if isinstance(word, YamlFile):
                descriptor, name = tempfile.mkstemp(prefix="launch_params_", suffix=".yaml")
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(word.text)
                self._files.append(Path(name))
                self._supervision.notify(f"file {name}")
                word = name
            words.append(word)
        return words

    def _finished(self) -> bool:
        if any(process.is_alive for process in self._processes) or self._respawns:
            return False
        if not any(process.groups for process in self._processes):
            return True
        if not self._stops_done:
            self._begin_stop("every process has ended, what they started has not")
        return False

    def _step(self) -> None:
        for key, _ in self._selector.select(self._timeout()):
            key.data()
        for process in self._processes:
            if process.has_ended():
                self._reap(process)
            for group in process.forget_empty_groups():
                self._supervision.notify(f"-{group}")
        now = time.monotonic()
        for process, due in list(self._respawns.items()):
            if due <= now:
                del self._respawns[process]
                self._start(process)
        while self._stops_done < self._stops_wanted:
            if self._stops_done == 0:
                self._begin_stop(self._reason)
            else:
                self._stops_done += 1
                for process in self._processes:
                    process.hurry(now)
        for process in self._processes:
            process.escalate(now)
        self._outputs.flush()

    def _timeout(self) -> float | None:
        now = time.monotonic()
        due = list(self._respawns.values())
        for process in self._processes:
            if process.next_signal is not None and process.groups:
                due.append(process.next_signal)
            if process.is_alive and process not in self._pidfds:
                due.append(now + _POLL)
            if not process.is_alive and process.groups:
                due.append(now + (_POLL if self._stops_done else _GROUP_POLL))
        return max(0.0, min(due) - now) if due else None

    def _begin_stop(self, reason: str) -> None:
        self._stops_done += 1
        self._stops_wanted = max(self._stops_wanted, self._stops_done)
        self._outputs.note("INFO", "launch", f"stopping: {reason}")
        for process in self._respawns:
            process.give_up()
        self._respawns.clear()
        now = time.monotonic()
        for process in reversed(self._processes):
            if process.groups:
                process.interrupt(now)

    def _reap(self, process: ManagedProcess) -> None:
        descriptor = self._pidfds.pop(process, None)
        if descriptor is not None:
            self._selector.unregister(descriptor)
            os.close(descriptor)
        process.reap()
        self._ended(process)

    def _ended(self, process: ManagedProcess) -> None:
        if self._on_exit is not None:
            try:
                self._on_exit(process.status)
            except Exception as error:
                self._outputs.note("ERROR", "launch", f"on_exit failed: {error!r}")
        description, status = process.status.description, process.status
        if self._stops_wanted:
            return
        if description.shutdown_on_exit:
            self._reason = f"process[{status.name}] was required and has ended"
            self._stops_wanted += 1
        elif description.respawn and status.state is not State.FAILED:
            most = description.respawn_max_retries
            if status.exit_code == NOT_USABLE:
                process.note("ERROR", "is not restarted: it cannot run as it is configured")
            elif most < 0 or status.starts <= most:
                process.mark_respawning()
                self._respawns[process] = time.monotonic() + description.respawn_delay
            else:
                process.note("ERROR", f"was restarted {status.starts - 1} times and is given up")
        elif not status.clean:
            process.note("ERROR", "is not restarted")

    def _drain_wakes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake_reader.recv(4096):
                pass

    def _screen_lost(self) -> None:
        self.stop("nobody reads the output any more", wait=False)

    def _close(self) -> None:
        for process in self._processes:
            process.close()
        for descriptor in self._pidfds.values():
            os.close(descriptor)
        for file in self._files:
            file.unlink(missing_ok=True)
        self._supervision.end()
        self._selector.close()
        self._wake_reader.close()
        self._wake_writer.close()
        self._outputs.close()
