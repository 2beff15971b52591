# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Output of the processes: to the screen, the launch log, logs of their own.

Lines are whole: what a process writes is cut at its newlines and each line is written at once, so
lines of two processes never mix. A line that does not end is cut after 64 KiB, so that a process
cannot fill the launcher's memory.
"""

import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import IO

Screen = Callable[[str], None]
"""Takes one line, without its newline."""

_LONGEST_LINE = 64 * 1024

# What each setting of `output` means: where stdout goes, where stderr goes.
_ROUTES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "screen": (frozenset({"screen"}), frozenset({"screen"})),
    "log": (frozenset({"log"}), frozenset({"log", "screen"})),
    "both": (frozenset({"log", "screen"}), frozenset({"log", "screen"})),
    "own_log": (frozenset({"own"}), frozenset({"own"})),
    "full": (frozenset({"screen", "log", "own"}), frozenset({"screen", "log", "own"})),
}


def default_log_folder() -> Path:
    """The folder for the logs of one run, by the rules of ROS 2: ROS_LOG_DIR, ROS_HOME, ~/.ros."""
    base = os.environ.get("ROS_LOG_DIR")
    if not base:
        base = os.path.join(os.environ.get("ROS_HOME") or os.path.join("~", ".ros"), "log")
    stamp = datetime.now().strftime("%Y-%m-%d-%H-%M-%S-%f")
    return Path(base).expanduser() / f"{stamp}-{socket.gethostname()}-{os.getpid()}"


def print_line(line: str) -> None:
    """The default screen: standard output, a line at a time."""
    # Characters that the terminal's encoding lacks are replaced; the launch must not end for them.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(line.encode(encoding, "replace").decode(encoding, "replace") + "\n")
    sys.stdout.flush()


class Outputs:
    """The screen and the log files of one run.

    Args:
        screen: Takes the lines for the user.
        folder: For the log files; made when the first line is written. None: no log files.
        on_screen_lost: Called once when the screen can take no more, as after ``| head``.
    """

    def __init__(
        self, screen: Screen, folder: Path | None, on_screen_lost: Callable[[], None]
    ) -> None:
        self._screen: Screen | None = screen
        self._folder = folder
        self._on_screen_lost = on_screen_lost
        self._files: dict[str, IO[str]] = {}

    def note(self, level: str, source: str, message: str) -> None:
        """A line of the launcher itself, on the screen and in the launch log."""
        line = f"[{level}] [{source}]: {message}"
        self._to_screen(line)
        self._to_file("launch.log", f"{time.time():.7f} {line}")

    def line(self, process: str, stream: str, route: str, text: str) -> None:
        """A line of a process.

        Args:
            process: Its name.
            stream: "stdout" or "stderr".
            route: The setting of its ``output``.
            text: Without the newline.
        """
        targets = _ROUTES[route][stream == "stderr"]
        line = f"[{process}] {text}"
        if "screen" in targets:
            self._to_screen(line)
        if "log" in targets:
            self._to_file("launch.log", f"{time.time():.7f} {line}")
        if "own" in targets:
            self._to_file(f"{process}-{stream}.log", text)
            self._to_file(f"{process}.log", text)

    def flush(self) -> None:
        """Bring the log files up to date on disk."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.flush()

    def close(self) -> None:
        """Close the log files."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.close()
        self._files.clear()

    def _to_screen(self, line: str) -> None:
        if self._screen is None:
            return
        try:
            self._screen(line)
        except Exception as error:  # a closed pipe as after "| head", or the caller's own fault
            self._screen = None
            self.note("ERROR", "launch", f"the screen takes no more lines: {error!r}")
            self._on_screen_lost()

    def _to_file(self, name: str, line: str) -> None:
        if self._folder is None:
            return
        try:
            if name not in self._files:
                self._folder.mkdir(parents=True, exist_ok=True)
                path = self._folder / name
                self._files[name] = path.open("a", encoding="utf-8", errors="replace")
            self._files[name].write(line + "\n")
        except OSError as error:
            # The launch continues without log files; one warning is printed.
            folder, self._folder = self._folder, None
            self.note("WARNING", "launch", f"no log files below {folder}: {error}")


class LineSplitter:
    """Cuts the bytes of one stream into lines.

    Args:
        take: Callback for each line, decoded, without its newline.
    """

    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Process further bytes of the stream."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(line.removesuffix(b"\r").decode("utf-8", "replace"))
        while len(self._rest) >= _LONGEST_LINE:
            head, self._rest = self._rest[:_LONGEST_LINE], self._rest[_LONGEST_LINE:]
            self._take(head.decode("utf-8", "replace"))

    def finish(self) -> None:
        """Process the end of the stream; the last line may lack a newline."""
        if self._rest:
            self._take(self._rest.decode("utf-8", "replace"))
            self._rest = b""
