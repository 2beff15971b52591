# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Runs a launch description: starts, watches, respawns and stops its processes."""

import contextlib
import math
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from vms_ph_embedded.launch.description import LaunchDescription, ProcessDescription, YamlFile
from vms_ph_embedded.launch.errors import EXIT_CONFIG_ERROR
from vms_ph_embedded.launch.output import Outputs, Screen, default_log_folder, print_line
from vms_ph_embedded.launch.process import Process

LAUNCHER_VARIABLE = "VMS_PH_LAUNCH"
"""The variable by which nodes know their launcher's process, whose end they do not outlive."""

_POLL_PERIOD = 0.05  # s, of looking at the processes
_MIN_SIGNAL_INTERVAL = 0.5  # s, of two signals that are not one key press


class Launcher:
    """The processes of one launch.

    The caller either hands over control with ``run``, or calls ``start`` and then looks at
    ``processes``, ``poll`` and ``wait`` until it is over or ``stop`` is called.

    A process that ``stop`` ends gets SIGINT, as from Ctrl-C; SIGTERM when it still runs after its
    ``sigterm_timeout`` (5 s), SIGKILL after another ``sigkill_timeout`` (5 s). The signals go to
    everything in its session's first group, what it has started itself included. They go out in
    the reverse order of the starts, without waiting in between.

    Args:
        description: From ``load``.
        screen: Takes the lines for the user; default: prints them.
        log_folder: For the log file; default: below ROS_LOG_DIR or ~/.ros/log, as ROS 2 does.
    """

    def __init__(
        self,
        description: LaunchDescription,
        *,
        screen: Screen = print_line,
        log_folder: Path | None = None,
    ) -> None:
        self.description = description
        self.log_folder = default_log_folder() if log_folder is None else log_folder
        self._outputs = Outputs(screen, self.log_folder, self._on_screen_lost)
        self.processes = tuple(Process(step, self._outputs) for step in description.processes)
        """Every process, in the order of the launch file."""
        self._respawn_times: dict[Process, float] = {}
        self._commands: dict[Process, list[str]] = {}
        self._parameter_files: list[Path] = []
        self._thread: threading.Thread | None = None
        self._end_event = threading.Event()
        self._failure: BaseException | None = None
        self._requested_stop_count = 0
        self._sent_stop_count = 0
        self._stop_reason = ""

    # Methods for the caller, from any thread.

    def start(self) -> None:
        """Start every process; returns when each has been started, or has failed to.

        Where SIGINT is ignored, as a shell does for background jobs, the processes inherit that and
        end by SIGTERM only; ``run`` sees to it, a caller of ``start`` sets a handler first.
        """
        if self._thread is not None:
            raise RuntimeError("a Launcher runs once; make another one")
        self._thread = threading.Thread(target=self._watch, name="launcher", daemon=True)
        try:
            self._start_all()
        except BaseException:
            self._request_stop("the launcher failed")
            raise
        finally:
            self._thread.start()

    def poll(self) -> int | None:
        """None while something runs; then the exit code of the launch.

        0 when every process ended with exit code 0, or on its Ctrl-C and within its time; 1
        otherwise. Of a respawned process the last end counts.
        """
        if not self._end_event.is_set():
            return None
        if self._failure is not None:
            raise self._failure
        return 0 if all(process.clean for process in self.processes) else 1

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the end of every process.

        Args:
            timeout: In seconds; None: for as long as it takes.

        Returns:
            The exit code of the launch, as in ``poll``; None when it is not over yet.
        """
        self._end_event.wait(timeout)
        return self.poll()

    def stop(self, reason: str = "asked to stop", *, wait: bool = True) -> int | None:
        """Stop every process. Each further call sends the next harder signal at once.

        Args:
            reason: For the log.
            wait: Whether to return only when all have ended.

        Returns:
            The exit code of the launch; None when it is not over yet.
        """
        self._request_stop(reason)
        return self.wait() if wait and self._thread else self.poll()

    def run(self) -> int:
        """Start, stay until everything has ended, and answer Ctrl-C; for the main thread.

        SIGINT, SIGTERM and SIGHUP stop the launch; another one of them, at least half a second
        later, sends the next harder signal. (Where a terminal and a wrapper both pass a Ctrl-C on,
        it comes twice at once.) The handlers are put back at the end.
        """
        with self._signal_handlers():
            self.start()
            while (exit_code := self.wait(timeout=3600)) is None:
                pass
        return exit_code

    @contextlib.contextmanager
    def _signal_handlers(self) -> Iterator[None]:
        last_signal_time = -math.inf

        def on_signal(number: int, _frame: FrameType | None) -> None:
            nonlocal last_signal_time
            previous_time, last_signal_time = last_signal_time, time.monotonic()
            if last_signal_time - previous_time >= _MIN_SIGNAL_INTERVAL:
                self._request_stop(f"received {signal.Signals(number).name}")

        # Also where SIGINT is ignored (a shell does that to background jobs): the children would
        # inherit that, and Ctrl-C would never reach them.
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            numbers.append(signal.SIGHUP)
        handlers = {number: signal.signal(number, on_signal) for number in numbers}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _request_stop(self, reason: str) -> None:
        self._stop_reason = self._stop_reason or reason
        self._requested_stop_count += 1

    def _on_screen_lost(self) -> None:
        self._request_stop("nobody reads the output any more")

    def _start_all(self) -> None:
        self._outputs.log("INFO", "launch", f"log files are below {self.log_folder}")
        for warning in self.description.warnings:
            self._outputs.log("WARNING", "launch", warning)
        processes = iter(self.processes)
        for step in self.description.steps:
            if isinstance(step, ProcessDescription):
                self._start(next(processes))
            else:
                self._outputs.log("INFO", "launch.user", step.message)

    def _start(self, process: Process) -> None:
        # Unbuffered, so that the output of Python programs is shown at once.
        environment = {"PYTHONUNBUFFERED": "1", **process.description.environment}
        environment[LAUNCHER_VARIABLE] = str(os.getpid())
        try:
            if process not in self._commands:
                self._commands[process] = self._command_words(process.description)
        except OSError as error:
            process.fail(f"its parameters cannot be written to a file: {error}")
        else:
            process.start(self._commands[process], environment)
        if process.failed:
            self._on_end(process)

    def _command_words(self, description: ProcessDescription) -> list[str]:
        words = []
        for word in description.command:
            if isinstance(word, YamlFile):
                descriptor, name = tempfile.mkstemp(prefix="launch_params_", suffix=".yaml")
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(word.text)
                self._parameter_files.append(Path(name))
                word = name
            words.append(word)
        return words

    # Methods of the launcher's thread.

    def _watch(self) -> None:
        try:
            while not self._is_finished():
                time.sleep(_POLL_PERIOD)
                self._poll_processes()
        except BaseException as error:  # an internal error must not leave processes running
            self._failure = error
            for process in self.processes:
                process.send(signal.SIGKILL)
        finally:
            for process in self.processes:
                process.join_readers()
            for file in self._parameter_files:
                with contextlib.suppress(OSError):
                    file.unlink()
            self._outputs.close()
            self._end_event.set()

    def _is_finished(self) -> bool:
        if any(process.is_alive for process in self.processes) or self._respawn_times:
            return False
        if not any(process.has_members for process in self.processes):
            return True
        if not self._sent_stop_count:
            self._stop_reason = "every process has ended, what they started has not"
            self._requested_stop_count += 1
        return False

    def _poll_processes(self) -> None:
        for process in self.processes:
            if process.has_ended:
                process.record_end()
                self._on_end(process)
        now = time.monotonic()
        for process, due_time in list(self._respawn_times.items()):
            if due_time <= now:
                del self._respawn_times[process]
                self._start(process)
        while self._sent_stop_count < self._requested_stop_count:
            if self._sent_stop_count == 0:
                self._begin_stop(now)
            else:
                for process in self.processes:
                    process.escalate_at_once(now)
            self._sent_stop_count += 1
        for process in self.processes:
            process.escalate(now)

    def _begin_stop(self, now: float) -> None:
        self._outputs.log("INFO", "launch", f"stopping: {self._stop_reason}")
        self._respawn_times.clear()
        for process in reversed(self.processes):
            if process.has_members:
                process.interrupt(now)

    def _on_end(self, process: Process) -> None:
        description = process.description
        if self._requested_stop_count:
            return
        if description.shutdown_on_exit:
            self._request_stop(f"process[{process.name}] was required and has ended")
        elif description.respawn and not process.failed:
            max_retries = description.respawn_max_retries
            if process.exit_code == EXIT_CONFIG_ERROR:
                process.log("ERROR", "is not restarted: it cannot run as it is configured")
            elif max_retries < 0 or process.starts <= max_retries:
                self._respawn_times[process] = time.monotonic() + description.respawn_delay
            else:
                process.log("ERROR", f"was restarted {process.starts - 1} times and is given up")
        elif not process.clean:
            process.log("ERROR", "is not restarted")
