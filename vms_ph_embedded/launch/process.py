# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""One process of a launch: start, output, signals and exit status."""

import contextlib
import enum
import os
import selectors
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace

from vms_ph_embedded.launch.description import ProcessDescription
from vms_ph_embedded.launch.output import LineSplitter, Outputs
from vms_ph_embedded.launch.supervisor import is_inhabited

_CHUNK = 64 * 1024

# Exit codes that count as a clean end after Ctrl-C.
_CLEAN_AFTER_SIGINT = {0, -signal.SIGINT, 128 + signal.SIGINT}
_SIGNALS_AFTER_SIGINT = 2

# Limit for the rest of a dead process's output: a living grandchild may keep writing.
_PIPE_CHUNKS = 17


class State(enum.Enum):
    """State of a process."""

    WAITING = "waiting"
    RUNNING = "running"
    STOPPING = "stopping"
    RESPAWNING = "respawning"
    EXITED = "exited"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """A snapshot of one process.

    Args:
        name: As in its output: "simulator-1".
        description: What it was started from.
        state: Where it is in its life; FAILED: it could not be started.
        pid: Of the last start; None before the first.
        exit_code: Of the last end; negative: the signal that ended it. None while it runs first.
        starts: How often it was started.
        clean: Whether its end was a good one: exit code 0, or on a Ctrl-C within its time.
    """

    name: str
    description: ProcessDescription
    state: State = State.WAITING
    pid: int | None = None
    exit_code: int | None = None
    starts: int = 0
    clean: bool = True


class ManagedProcess:
    """A process as its launcher sees it. Used from the launcher's thread only.

    Args:
        description: What to run.
        outputs: Where its lines go.
        selector: Watches its pipes.
    """

    def __init__(
        self,
        description: ProcessDescription,
        outputs: Outputs,
        selector: selectors.BaseSelector,
    ) -> None:
        self.status = ProcessStatus(description.name, description)
        self.groups: set[int] = set()
        """Process groups it has led, as long as somebody is in them; more than one only when it
        was respawned while something it had started went on."""
        self._description = description
        self._command = ""
        self._outputs = outputs
        self._selector = selector
        self._popen: subprocess.Popen[bytes] | None = None
        self._streams: list[_Stream] = []
        self._escalation: list[tuple[float, signal.Signals]] = []

    def start(self, command: list[str], environment: dict[str, str]) -> bool:
        """Start it in a session of its own.

        The terminal's Ctrl-C then reaches the launcher alone, which hands it on once; and what the
        process itself starts can be signalled together with it.

        Returns:
            Whether it runs.
        """
        self._command = " ".join(command)
        try:
            popen = subprocess.Popen(
                self._command if self._description.shell else command,
                shell=self._description.shell,
                cwd=self._description.working_directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self.fail(f"cannot be started: {error} (command: {self._command})")
            return False
        self._popen = popen
        self.groups.add(popen.pid)
        self._escalation = []
        self._streams = [stream for stream in self._streams if stream.is_open]
        for name, pipe in (("stdout", popen.stdout), ("stderr", popen.stderr)):
            assert pipe is not None
            descriptor = os.dup(pipe.fileno())
            pipe.close()
            self._streams.append(_Stream(self._selector, descriptor, self._line_of(name)))
        self._update(state=State.RUNNING, pid=popen.pid, starts=self.status.starts + 1)
        self.note("INFO", f"process started with pid [{popen.pid}]")
        return True

    def fail(self, message: str) -> None:
        """Mark the process as failed to start."""
        self.note("ERROR", message)
        self._update(state=State.FAILED, clean=False, starts=self.status.starts + 1)

    def has_ended(self) -> bool:
        """Return whether the process was started and has ended."""
        return self._popen is not None and self._popen.poll() is not None

    def reap(self) -> None:
        """Record its end; its output is read to the end first."""
        assert self._popen is not None
        for stream in self._streams:
            stream.drain()
        code = self._popen.wait()
        self._popen = None
        in_time = len(self._escalation) == _SIGNALS_AFTER_SIGINT
        if self.status.state is State.STOPPING:
            clean = in_time and code in _CLEAN_AFTER_SIGINT
        else:
            clean = code == 0
        self._update(state=State.EXITED, exit_code=code, clean=clean)
        pid = self.status.pid
        if code == 0:
            self.note("INFO", f"process has finished cleanly [pid {pid}]")
        elif clean:
            self.note("INFO", f"process has ended on Ctrl-C [pid {pid}, exit code {code}]")
        else:
            self.note(
                "ERROR", f"process has died [pid {pid}, exit code {code}, cmd '{self._command}']."
            )

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._popen is not None

    def forget_empty_groups(self) -> set[int]:
        """Remove, and return, the groups without processes."""
        led = self._popen.pid if self._popen is not None else None
        # A group's number is not given to anybody else while the group has a member.
        empty = {group for group in self.groups if group != led and not is_inhabited(group)}
        self.groups -= empty
        return empty

    def interrupt(self, now: float) -> None:
        """Begin to stop it: SIGINT now, SIGTERM and SIGKILL later if it does not end."""
        if self.is_alive:
            self._update(state=State.STOPPING)
        term = now + self._description.sigterm_timeout
        kill = term + self._description.sigkill_timeout
        self._escalation = [(term, signal.SIGTERM), (kill, signal.SIGKILL)]
        self._announce(signal.SIGINT)

    def hurry(self, now: float) -> None:
        """Send the next harder signal at once."""
        if self._escalation:
            due, number = self._escalation.pop(0)
            later = now - due
            self._escalation = [(when + later, signal_) for when, signal_ in self._escalation]
            self._announce(number)

    def escalate(self, now: float) -> None:
        """Send the signals whose time has come."""
        while self._escalation and self._escalation[0][0] <= now:
            _, number = self._escalation.pop(0)
            if self.is_alive:
                self.note("ERROR", f"process has not ended in time, escalating to '{number.name}'")
            self._announce(number)

    @property
    def next_signal(self) -> float | None:
        """Time at which ``escalate`` has something to do."""
        return self._escalation[0][0] if self._escalation else None

    def mark_respawning(self) -> None:
        """Mark the process as ended and to be restarted."""
        self._update(state=State.RESPAWNING)

    def give_up(self) -> None:
        """Cancel the restart of the process."""
        self._update(state=State.EXITED)

    def close(self) -> None:
        """Close its pipes."""
        for stream in self._streams:
            stream.close()
        self._streams.clear()

    def note(self, level: str, message: str) -> None:
        """Log a line about the process."""
        self._outputs.note(level, self.status.name, message)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to it and to what it has started."""
        for group in self.groups:
            with contextlib.suppress(OSError):
                os.killpg(group, number)

    def _announce(self, number: signal.Signals) -> None:
        if self.is_alive:
            self.note("INFO", f"sending signal '{number.name}' to process[{self.status.name}]")
        self.send(number)

    def _line_of(self, stream: str) -> Callable[[str], None]:
        return lambda text: self._outputs.line(
            self.status.name, stream, self._description.output, text
        )

    def _update(self, **changes: object) -> None:
        self.status = replace(self.status, **changes)  # type: ignore[arg-type]


class _Stream:
    """The reading end of one pipe; the selector's data is its ``read``."""

    def __init__(
        self, selector: selectors.BaseSelector, descriptor: int, take: Callable[[str], None]
    ) -> None:
        self._selector = selector
        self._descriptor: int | None = descriptor
        self._lines = LineSplitter(take)
        os.set_blocking(descriptor, False)
        selector.register(descriptor, selectors.EVENT_READ, self.read)

    def read(self) -> bool:
        """Read what is there, at most one chunk.

        Returns:
            Whether there may be more.
        """
        if self._descriptor is None:
            return False
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.close()
            return False
        self._lines.feed(data)
        return True

    def drain(self) -> None:
        """Read what a process that has ended left in the pipe."""
        for _ in range(_PIPE_CHUNKS):
            if not self.read():
                return

    @property
    def is_open(self) -> bool:
        """Whether more may come."""
        return self._descriptor is not None

    def close(self) -> None:
        """Pass on the rest, and close the pipe."""
        if self._descriptor is not None:
            self._lines.finish()
            self._selector.unregister(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
