# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The launcher's side of its supervisor, which ends the processes of a launcher that was killed."""

import contextlib
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from vms_ph_embedded.launch import supervisor as supervisor
from vms_ph_embedded.launch.output import Outputs

# Largest number of restarts of the supervisor.
_SUPERVISORS = 5


class Supervision:
    """Starts supervisor.py, starts it again where it was killed, and tells it what runs."""

    def __init__(
        self,
        token: str,
        selector: selectors.BaseSelector,
        outputs: Outputs,
        alive: Callable[[], Iterable[str]],
    ) -> None:
        """Prepare.

        Args:
            token: by which the processes of the launch are known.
            selector: of the launcher, which notices the end of the supervisor.
            outputs: for notes to the user.
            alive: returns the messages that a new supervisor needs.
        """
        self._token, self._selector, self._outputs, self._alive = token, selector, outputs, alive
        self._process: subprocess.Popen[bytes] | None = None
        self._descriptor = -1
        self._left = _SUPERVISORS

    def start(self) -> None:
        """Start it; if no process can be started, the launch continues without it."""
        command = [sys.executable, "-I", "-S", str(Path(supervisor.__file__)), self._token]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self._outputs.note("WARNING", "launch", f"no supervisor: {error}")
            return
        with contextlib.suppress(OSError, AttributeError):
            self._descriptor = os.pidfd_open(self._process.pid)
            self._selector.register(self._descriptor, selectors.EVENT_READ, self._renew)

    def notify(self, message: str) -> None:
        """Tell it of a process group, as ``+42``, or of a file to remove, as ``file /tmp/a``."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                os.write(self._process.stdin.fileno(), os.fsencode(message) + b"\n")

    def end(self) -> None:
        """Let it end: nothing runs any more."""
        self.notify("done")
        self._forget()

    def _renew(self) -> None:
        """Replace a supervisor that was killed."""
        self._forget()
        if self._left == 0:
            self._outputs.note("WARNING", "launch", "the supervisor is given up")
            return
        self._left -= 1
        self._outputs.note("WARNING", "launch", "the supervisor has ended and is started again")
        self.start()
        for message in self._alive():
            self.notify(message)

    def _forget(self) -> None:
        if self._descriptor >= 0:
            self._selector.unregister(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                process.communicate(timeout=5)
