# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vms_ph_embedded.launch import Launcher, load

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a launch file; the outermost tag may be left out."""

    def write_file(xml: str, name: str = "test.launch.xml") -> Path:
        file = tmp_path / name
        file.write_text(xml if "<launch" in xml else f"<launch>{xml}</launch>")
        return file

    return write_file


class Screen:
    """Collects what a launcher shows, and lets a test wait for a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._changed = threading.Condition()

    def __call__(self, line: str) -> None:
        with self._changed:
            self.lines.append(line)
            self._changed.notify_all()

    def wait_for(self, words: str, times: int = 1) -> None:
        def is_there() -> bool:
            return sum(words in line for line in self.lines) >= times

        with self._changed:
            assert self._changed.wait_for(is_there, timeout=20), (words, self.lines)


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def launch(write: Write, screen: Screen, tmp_path: Path) -> Iterator[Callable[..., Launcher]]:
    """Starts a launch file; whatever is left at the end of the test is stopped."""
    launchers: list[Launcher] = []

    def start(xml: str, **options: object) -> Launcher:
        options = {"screen": screen, "log_folder": tmp_path / "log", **options}
        launcher = Launcher(load(write(xml)), **options)  # type: ignore[arg-type]
        launchers.append(launcher)
        launcher.start()
        return launcher

    yield start
    for launcher in launchers:
        deadline = time.monotonic() + 20
        while launcher.poll() is None and time.monotonic() < deadline:
            launcher.stop(wait=False)
            launcher.wait(0.2)
        assert launcher.poll() is not None
