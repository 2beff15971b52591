# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The launcher in ``vms-ph launch``: what a terminal, a script and a kill -9 do to it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from launch_support.programs import COUNTS_INTERRUPTS, POLITE, STUBBORN, executable

Start = Callable[..., "Running"]


class Running:
    """A launcher in a session of its own, as in a terminal."""

    def __init__(self, file: Path, *arguments: str) -> None:
        program = "from vms_ph_nodes.cli import main; main()"
        command = [sys.executable, "-c", program, "launch", str(file), *arguments]
        environment = {**os.environ, "ROS_LOG_DIR": str(file.parent / "log")}
        self.popen = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=environment,
        )
        self.lines: list[str] = []

    def wait_for(self, words: str, times: int = 1) -> None:
        assert self.popen.stdout is not None
        while sum(words in line for line in self.lines) < times:
            line = self.popen.stdout.readline()
            assert line, f"{words!r} is not in {self.lines}"
            self.lines.append(line.rstrip("\n"))

    def end(self) -> int:
        rest, _ = self.popen.communicate(timeout=30)
        self.lines += rest.splitlines()
        return self.popen.returncode

    def started(self) -> list[psutil.Process]:
        return psutil.Process(self.popen.pid).children(recursive=True)


@pytest.fixture
def start(write) -> Iterator[Start]:
    running: list[Running] = []

    def start_launcher(xml: str, *arguments: str) -> Running:
        running.append(Running(write(xml), *arguments))
        return running[-1]

    yield start_launcher
    for launcher in running:
        if launcher.popen.poll() is None:
            launcher.popen.kill()
            launcher.popen.wait()
        if launcher.popen.stdout is not None:
            launcher.popen.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_launcher_ends_everything_cleanly(
    number: signal.Signals, start: Start
) -> None:
    launcher = start(executable(POLITE, name="a") + executable(POLITE, name="b"))
    launcher.wait_for("ready", times=2)
    processes = launcher.started()
    launcher.popen.send_signal(number)
    assert launcher.end() == 0
    assert sum("bye" in line for line in launcher.lines) == 2
    assert sum("process has finished cleanly" in line for line in launcher.lines) == 2
    assert not any(process.is_running() for process in processes)


def test_ctrl_c_in_a_terminal_reaches_every_process_exactly_once(start: Start) -> None:
    launcher = start(executable(COUNTS_INTERRUPTS, name="a"))
    launcher.wait_for("ready")
    # A terminal signals the whole group in the foreground, a careless wrapper once more.
    os.killpg(launcher.popen.pid, signal.SIGINT)
    os.killpg(launcher.popen.pid, signal.SIGINT)
    assert launcher.end() == 0
    assert "[a-1] interrupted 1" in launcher.lines


def test_a_second_ctrl_c_is_impatient(start: Start) -> None:
    launcher = start(executable(STUBBORN, sigterm_timeout="600"))
    launcher.wait_for("ready")
    launcher.popen.send_signal(signal.SIGINT)
    launcher.wait_for("not yet")
    time.sleep(0.6)  # what comes sooner counts as the same key press
    launcher.popen.send_signal(signal.SIGINT)
    assert launcher.end() == 1
    assert any("sending signal 'SIGTERM'" in line for line in launcher.lines)


def test_a_reader_that_goes_away_ends_the_launch(start: Start) -> None:
    chatter = "import time\nwhile True: print('x' * 1000, flush=True); time.sleep(0.001)"
    launcher = start(executable(chatter))
    launcher.wait_for("xxx")
    processes = launcher.started()
    assert launcher.popen.stdout is not None
    launcher.popen.stdout.close()  # as "| head" does
    launcher.popen.wait(timeout=30)
    assert not psutil.wait_procs(processes, timeout=15)[1]


def test_a_mistake_ends_with_one_sentence_and_code_one(start: Start) -> None:
    launcher = start("<bogus/>")
    assert launcher.end() == 1
    (line,) = launcher.lines
    assert "test.launch.xml:1:9: <bogus> is not supported" in line


def test_arguments_can_be_listed_without_starting_anything(
    start: Start,
) -> None:
    xml = '<arg name="rate" default="5"/><executable cmd="tool $(var rate)"/><log message="m"/>'
    listing = start(xml, "--show-args")
    assert listing.end() == 0
    assert "    'rate':" in listing.lines
    typo = start(xml, "rat:=7")
    assert typo.end() == 1
    (line,) = typo.lines
    assert "'rat' (did you mean 'rate'?)" in line
