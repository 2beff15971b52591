# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Fixtures that run nodes as processes in a separate DDS domain."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from vms_ph_dynamics import VmsPhError

from .fork_server import ADDRESS, COMMAND, Copy, Popen, can_copy, fork_server
from .observer import Observer, joined

# VMS_PH_PYTHON is the Python of another environment in which vms_ph is installed: programs then run
# in that one, for instance with the runtime extras only, and the tests in this one.
PYTHON = os.environ.get("VMS_PH_PYTHON", sys.executable)


# Python packages that rosdep cannot install; see docs/interoperability.md.
OPTIONAL = {
    "casadi",
    "lz4",
    "mcap",
    "msgspec",
    "mujoco",
    "plotly",
    "pyarrow",
    "rosbags",
    "trimesh",
    "viser",
    "websockets",
    "zstandard",
}


class _Module(pytest.Module):
    """A file of tests, skipped by name where it imports an optional package that is missing."""

    def _getobj(self) -> object:
        try:
            return super()._getobj()
        except Exception as error:
            missing = _missing(error)
            if missing:
                pytest.skip(f"requires {missing}", allow_module_level=True)
            raise


def _missing(error: BaseException | None) -> str:
    """Return the optional packages whose absence an error reports, or nothing."""
    while error is not None:
        if isinstance(error, (ImportError, VmsPhError)):
            words = set(re.findall(r"\w+", str(error)))
            if names := [n for n in sorted(OPTIONAL & words) if find_spec(n) is None]:
                return " and ".join(names)
        error = error.__cause__ or error.__context__
    return ""


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    return _Module.from_parent(parent, path=module_path)


class Program:
    """A process whose output is kept and awaited; ``folder`` is where it runs.

    It is a copy of one that has imported this project, unless it is to be ``fresh``.
    """

    def __init__(
        self, words: list[str], environment: dict[str, str], folder: Path, fresh: bool = False
    ) -> None:
        self.folder = folder
        command = [PYTHON, *COMMAND, *words]
        if fresh or "AMENT_PREFIX_PATH" in environment or not can_copy(command, environment):
            self.process = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        else:
            environment = {**environment, ADDRESS: fork_server().address}
            self.process = Copy(command, environment, folder, stderr=subprocess.STDOUT, text=True)
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def output(self) -> str:
        with self._changed:
            return "".join(self._lines)

    def await_output(self, pattern: str, seconds: float = 30.0) -> "re.Match[str]":
        """Wait for a line that matches."""
        end = time.monotonic() + seconds
        with self._changed:
            while not (match := re.search(pattern, "".join(self._lines))):
                left = end - time.monotonic()
                if left <= 0 or (not self._reader.is_alive() and not self._changed.wait(0.2)):
                    raise AssertionError(f"no {pattern!r} in:\n{''.join(self._lines)}")
                self._changed.wait(min(left, 0.5))
        return match

    def await_count(self, text: str, count: int, seconds: float = 90.0) -> None:
        """Wait until a text was printed a number of times."""
        end = time.monotonic() + seconds
        while (seen := self.output.count(text)) < count:
            assert time.monotonic() < end, f"{text!r} came {seen} times, not {count}"
            time.sleep(0.2)

    def interrupt(self, seconds: float = 20.0) -> int:
        """Press Ctrl-C and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.wait(seconds)

    def wait(self, seconds: float) -> int:
        code = self.process.wait(seconds)
        self._reader.join(5.0)
        return code

    def terminate(self) -> None:
        if self.process.poll() is None:
            with suppress(ProcessLookupError):  # it may end just now
                os.killpg(self.process.pid, signal.SIGTERM)

    def close(self) -> None:
        if self.process.poll() is None:
            self.terminate()
            try:
                self.process.wait(15.0)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(5.0)
        self._reader.join(5.0)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()


def environment(domain: int) -> dict[str, str]:
    """Return the environment of a user, with this DDS domain and no other ROS variables."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("ROS_", "CYCLONEDDS", "RMW"))}
    if sys.executable != PYTHON:
        ours.pop("PYTHONPATH", None)
    if "AMENT_PREFIX_PATH" in ours:
        # A colcon build leaves out the wing with the commands that talk to running nodes.
        link = Path(tempfile.mkdtemp(), "vms_ph_embedded")
        link.symlink_to(Path(__file__).parents[2] / "vms_ph_embedded")
        ours["PYTHONPATH"] = os.pathsep.join((ours.get("PYTHONPATH", ""), str(link.parent)))
    return {**ours, "ROS_DOMAIN_ID": str(domain), "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}


_domains = iter(range(100 + os.getpid() % 60, 232))


@pytest.fixture(scope="module")
def domain() -> int:
    return next(_domains)


Start = Callable[..., Program]


def echo_of(start: Start, topic: str, seconds: float = 60.0) -> Program:
    """Echo a topic of nodes that have just been started, which may take long on a busy machine.

    The command gives up after some seconds without the topic, as a user wants it to; it is started
    again then.
    """
    latest = time.monotonic() + seconds
    while True:
        program = start("topic", "echo", topic)
        while not program.output and time.monotonic() < latest:
            time.sleep(0.1)
        if "there is no topic" not in program.output or time.monotonic() > latest:
            return program


def end(programs: list[Program]) -> None:
    """End programs, all at the same time."""
    for program in reversed(programs):
        program.terminate()
    for program in reversed(programs):
        program.close()


@pytest.fixture(scope="module")
def start(domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start a vms-ph command; it is stopped by the end of the module."""
    folder = tmp_path_factory.mktemp("home")
    programs: list[Program] = []

    def begin(*words: str, fresh: bool = False, **more: str) -> Program:
        log = {"ROS_LOG_DIR": str(folder / "log")}
        program = Program(list(words), {**environment(domain), **log, **more}, folder, fresh)
        programs.append(program)
        return program

    yield begin
    end(programs)


@pytest.fixture
def copied_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in launch files that are read in this process run as copies, as those of nodes."""
    if "AMENT_PREFIX_PATH" not in os.environ and sys.platform == "linux":
        monkeypatch.setattr(subprocess, "Popen", Popen)
        monkeypatch.setenv(ADDRESS, fork_server().address)


@pytest.fixture(scope="module")
def observer(domain: int) -> Iterator[Observer]:
    """A node of this process in the domain of the module."""
    with joined(domain):
        made = Observer()
        yield made
        made.close()
