# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""One process of a launch: start, output, signals and exit status."""

import contextlib
import os
import signal
import subprocess
import threading
from typing import IO

from vms_ph_embedded.launch.description import ProcessDescription
from vms_ph_embedded.launch.output import Outputs

# A line that does not end is cut here, so that a process cannot fill the launcher's memory.
_MAX_LINE = 64 * 1024

# Exit codes that count as a clean end after Ctrl-C.
_CLEAN_AFTER_SIGINT = {0, -signal.SIGINT, 128 + signal.SIGINT}
_SIGNALS_AFTER_SIGINT = 2

# Seconds for the rest of a dead process's output: a living grandchild may keep the pipe open.
_READ_TIMEOUT = 0.5


class Process:
    """A process as its launcher sees it.

    Attributes:
        name: As in its output: "simulator-1".
        description: What it is started from.
        pid: Of the last start; None before the first.
        exit_code: Of the last end; negative: the signal that ended it. None before the first end.
        starts: How often it was started, or failed to start.
        clean: Whether its end was a good one: exit code 0, or on a Ctrl-C within its time.
        failed: Whether it could not be started.
    """

    def __init__(self, description: ProcessDescription, outputs: Outputs) -> None:
        self.name = description.name
        self.description = description
        self.pid: int | None = None
        self.exit_code: int | None = None
        self.starts = 0
        self.clean = True
        self.failed = False
        # Process groups it has led, as long as somebody is in them; more than one only when it was
        # restarted while something it had started went on.
        self._groups: set[int] = set()
        self._command = ""
        self._outputs = outputs
        self._popen: subprocess.Popen[bytes] | None = None
        self._readers: list[threading.Thread] = []
        self._is_stopping = False
        self._signals_due: list[tuple[float, signal.Signals]] = []

    def start(self, command: list[str], environment: dict[str, str]) -> bool:
        """Start it in a session of its own.

        The terminal's Ctrl-C then reaches the launcher alone, which hands it on once; and what the
        process itself starts can be signalled together with it.

        Returns:
            Whether it runs.
        """
        self._command = " ".join(command)
        self.starts += 1
        try:
            self._popen = popen = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self.fail(f"cannot be started: {error} (command: {self._command})")
            return False
        self.pid = popen.pid
        self._groups.add(popen.pid)
        for stream, pipe in (("stdout", popen.stdout), ("stderr", popen.stderr)):
            reader = threading.Thread(target=self._read, args=(stream, pipe), daemon=True)
            reader.start()
            self._readers.append(reader)
        self.log("INFO", f"process started with pid [{popen.pid}]")
        return True

    def fail(self, message: str) -> None:
        """Mark the process as failed to start."""
        self.log("ERROR", message)
        self.failed, self.clean = True, False

    @property
    def is_alive(self) -> bool:
        """Whether it runs, or its end has not been recorded."""
        return self._popen is not None

    @property
    def has_ended(self) -> bool:
        """Whether it was started and has ended, which has not been recorded."""
        return self._popen is not None and self._popen.poll() is not None

    @property
    def has_members(self) -> bool:
        """Whether it runs, or something that it has started."""
        own_group = {self._popen.pid} if self._popen is not None else set()
        # A group's number is not given to anybody else while the group has a member.
        self._groups = {group for group in self._groups if group in own_group or _has_member(group)}
        return bool(self._groups)

    def record_end(self) -> None:
        """Record its end; its output is read to the end first."""
        assert self._popen is not None
        self.join_readers()
        self.exit_code = exit_code = self._popen.wait()
        self._popen = None
        if self._is_stopping:
            ended_in_time = len(self._signals_due) == _SIGNALS_AFTER_SIGINT
            self.clean = ended_in_time and exit_code in _CLEAN_AFTER_SIGINT
        else:
            self.clean = exit_code == 0
        if exit_code == 0:
            self.log("INFO", f"process has finished cleanly [pid {self.pid}]")
        elif self.clean:
            self.log("INFO", f"process has ended on Ctrl-C [pid {self.pid}, exit code {exit_code}]")
        else:
            facts = f"[pid {self.pid}, exit code {exit_code}, cmd '{self._command}']"
            self.log("ERROR", f"process has died {facts}.")

    def join_readers(self) -> None:
        """Wait, but not for long, until all output is read."""
        for reader in self._readers:
            reader.join(_READ_TIMEOUT)
        self._readers = [reader for reader in self._readers if reader.is_alive()]

    def interrupt(self, now: float) -> None:
        """Begin to stop it: SIGINT now, SIGTERM and SIGKILL later if it does not end."""
        self._is_stopping = self.is_alive
        term_time = now + self.description.sigterm_timeout
        kill_time = term_time + self.description.sigkill_timeout
        self._signals_due = [(term_time, signal.SIGTERM), (kill_time, signal.SIGKILL)]
        self._log_and_send(signal.SIGINT)

    def escalate_at_once(self, now: float) -> None:
        """Send the next harder signal at once."""
        if self._signals_due:
            time_shift = self._signals_due[0][0] - now
            self._signals_due = [(time - time_shift, number) for time, number in self._signals_due]
            self._log_and_send(self._signals_due.pop(0)[1])

    def escalate(self, now: float) -> None:
        """Send the signals whose time has come."""
        while self._signals_due and self._signals_due[0][0] <= now:
            _, number = self._signals_due.pop(0)
            if self.is_alive:
                self.log("ERROR", f"process has not ended in time, escalating to '{number.name}'")
            self._log_and_send(number)

    def log(self, level: str, message: str) -> None:
        """Log a line about the process."""
        self._outputs.log(level, self.name, message)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to it and to what it has started."""
        for process_group in self._groups:
            with contextlib.suppress(OSError):
                os.killpg(process_group, number)

    def _log_and_send(self, number: signal.Signals) -> None:
        if self.is_alive:
            self.log("INFO", f"sending signal '{number.name}' to process[{self.name}]")
        if self.has_members:
            self.send(number)

    def _read(self, stream: str, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(_MAX_LINE):
                text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
                self._outputs.write_line(self.name, stream, self.description.output, text)


def _has_member(group: int) -> bool:
    """Whether a process group has a member that is not dead.

    The dead count for the kernel until their parent has taken note, which may never come: in a
    container, the process with number 1 is often one that does not care for orphans.
    """
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    if not os.path.isdir("/proc/self"):
        return True
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            # Behind the name, which may hold anything: state, parent, group.
            state, _, process_group = file.read().rpartition(b")")[2].split()[:3]
            if int(process_group) == group and state not in (b"Z", b"X"):
                return True
    return False
