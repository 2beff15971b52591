# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Output of the processes: to the screen and to the launch log, in whole lines."""

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import IO

from vms_ph_io.installation import ros_home

Screen = Callable[[str], None]
"""Takes one line, without its newline."""

# What each setting of `output` means: where stdout goes, where stderr goes.
ROUTES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "screen": (frozenset({"screen"}), frozenset({"screen"})),
    "log": (frozenset({"log"}), frozenset({"log", "screen"})),
    "both": (frozenset({"log", "screen"}), frozenset({"log", "screen"})),
}


def default_log_folder() -> Path:
    """The folder for the logs of one run, by the rules of ROS 2: ROS_LOG_DIR, ROS_HOME, ~/.ros."""
    log_root = os.environ.get("ROS_LOG_DIR") or ros_home() / "log"
    time_text = datetime.now().strftime("%Y-%m-%d-%H-%M-%S-%f")
    return Path(os.path.expanduser(log_root)) / f"{time_text}-{socket.gethostname()}-{os.getpid()}"


def print_line(line: str) -> None:
    """The default screen: standard output, a line at a time."""
    # Characters that the terminal's encoding lacks are replaced; the launch must not end for them.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(line.encode(encoding, "replace").decode(encoding, "replace") + "\n")
    sys.stdout.flush()


class Outputs:
    """The screen and the log file of one run; any thread may write.

    Args:
        screen: Takes the lines for the user.
        folder: For the log file; made when the first line is written.
        on_screen_lost: Called once when the screen can take no more, as after ``| head``.
    """

    def __init__(self, screen: Screen, folder: Path, on_screen_lost: Callable[[], None]) -> None:
        self._screen: Screen | None = screen
        self._folder: Path | None = folder
        self._on_screen_lost = on_screen_lost
        self._log_file: IO[str] | None = None
        self._lock = threading.RLock()

    def log(self, level: str, source: str, message: str) -> None:
        """A line of the launcher itself, on the screen and in the launch log."""
        self._write(f"[{level}] [{source}]: {message}", ROUTES["both"][0])

    def write_line(self, process_name: str, stream: str, route: str, text: str) -> None:
        """A line of a process.

        Args:
            process_name: Its name.
            stream: "stdout" or "stderr".
            route: The setting of its ``output``.
            text: Without the newline.
        """
        self._write(f"[{process_name}] {text}", ROUTES[route][stream == "stderr"])

    def close(self) -> None:
        """Write no more log file."""
        with self._lock:
            if self._log_file is not None:
                with contextlib.suppress(OSError):  # of what a full disk did not take
                    self._log_file.close()
            self._folder = self._log_file = None

    def _write(self, line: str, targets: frozenset[str]) -> None:
        with self._lock:
            if "screen" in targets:
                self._write_to_screen(line)
            if "log" in targets:
                self._write_to_log(f"{time.time():.7f} {line}")

    def _write_to_screen(self, line: str) -> None:
        if self._screen is None:
            return
        try:
            self._screen(line)
        except Exception as error:  # a closed pipe as after "| head", or the caller's own fault
            self._screen = None
            self.log("ERROR", "launch", f"the screen takes no more lines: {error!r}")
            self._on_screen_lost()

    def _write_to_log(self, line: str) -> None:
        if self._folder is None:
            return
        try:
            if self._log_file is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                path = self._folder / "launch.log"
                self._log_file = path.open("a", buffering=1, encoding="utf-8", errors="replace")
            self._log_file.write(line + "\n")
        except OSError as error:
            # The launch continues without a log file; one warning is printed.
            folder, self._folder = self._folder, None
            self.log("WARNING", "launch", f"no log files below {folder}: {error}")
