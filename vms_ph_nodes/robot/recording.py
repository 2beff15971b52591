# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A recording that is started and ended by a command, as a process of its own."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from vms_ph_io.wings import WINGS


class Recording:
    """Records all topics into new bags in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._bag = folder

    def start(self) -> str:
        """Start a recording, unless one runs; return the command that does the same."""
        if self._process is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._bag = self._folder / time.strftime("%Y-%m-%d_%H-%M-%S")
            self._process = subprocess.Popen(self._words(), start_new_session=True)
        if not WINGS["embedded"].is_installed:
            return f"ros2 bag record -a -o {self._bag}"
        return f"vms-ph bag record -o {self._bag}"

    def end(self, seconds: float = 10.0) -> Path | None:
        """End the recording; return its bag, or None where none was made.

        Args:
            seconds: to wait for its end at most.
        """
        process, self._process = self._process, None
        if process is None:
            return None
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return self._bag if self._bag.exists() else None

    def _words(self) -> list[str]:
        if not WINGS["embedded"].is_installed:
            return ["ros2", "bag", "record", "-a", "-o", str(self._bag)]
        module = [sys.executable, "-m", "vms_ph_nodes.bag_recorder", "--ros-args"]
        return [*module, "-r", "__node:=page_recorder", "-p", f"bag:={self._bag}"]
