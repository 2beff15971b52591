# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Running a description: real processes, real signals."""

import os
import re
import sys
import threading
from pathlib import Path

import psutil
import pytest
from launch_support.programs import DEAF, POLITE, STUBBORN, executable

from vms_ph_embedded.launch import Launcher, Process, load


def only(launcher: Launcher) -> Process:
    (process,) = launcher.processes
    return process


def is_alive(pid: int) -> bool:
    """In a container an orphan may stay a zombie for want of a parent that takes note."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_process_that_ends_by_itself_ends_the_launch_with_code_zero(launch, screen) -> None:
    launcher = launch(executable("print('hello')", name="greeter"))
    assert launcher.wait(20) == 0
    process = only(launcher)
    assert (process.failed, process.exit_code, process.clean) == (False, 0, True)
    assert "[greeter-1] hello" in screen.lines
    assert f"[INFO] [greeter-1]: process has finished cleanly [pid {process.pid}]" in screen.lines


def test_a_process_that_fails_gives_the_launch_code_one(launch, screen) -> None:
    launcher = launch(executable("raise SystemExit(3)", name="bad"))
    assert launcher.wait(20) == 1
    assert only(launcher).exit_code == 3
    screen.wait_for("[ERROR] [bad-1]: process has died")


def test_a_program_that_does_not_exist_fails_alone(launch, screen) -> None:
    launcher = launch('<executable cmd="/no/such/program"/>' + executable("print('still here')"))
    assert launcher.wait(20) == 1
    assert launcher.processes[0].failed
    assert launcher.processes[1].clean
    screen.wait_for("/no/such/program")


def test_stop_interrupts_every_process_and_reports_their_codes(launch, screen) -> None:
    launcher = launch(executable(POLITE, name="a") + executable(POLITE, name="b"))
    screen.wait_for("ready", times=2)
    assert launcher.poll() is None
    assert launcher.wait(0) is None
    assert launcher.stop("the test is over") == 0
    assert [p.exit_code for p in launcher.processes] == [0, 0]
    assert "[INFO] [launch]: stopping: the test is over" in screen.lines
    sent = [line for line in screen.lines if "sending signal" in line]
    assert ["b-2" in sent[0], "a-1" in sent[1]] == [True, True]  # last started, first asked
    assert launcher.stop() == 0  # once more does no harm


def test_a_python_program_without_a_handler_counts_as_cleanly_interrupted(launch, screen) -> None:
    launcher = launch(executable("print('ready', flush=True); import time; time.sleep(99)"))
    screen.wait_for("ready")
    assert launcher.stop() == 0
    assert only(launcher).exit_code == -2


def test_a_process_that_ignores_an_interrupt_gets_sigterm_and_the_launch_code_one(
    launch, screen
) -> None:
    launcher = launch(executable(STUBBORN, sigterm_timeout="0.1"))
    screen.wait_for("ready")
    assert launcher.stop() == 1
    assert only(launcher).exit_code == -15
    screen.wait_for("escalating to 'SIGTERM'")


def test_a_process_that_ignores_sigterm_too_is_killed(launch, screen) -> None:
    launcher = launch(executable(DEAF, sigterm_timeout="0.1", sigkill_timeout="0.1"))
    screen.wait_for("ready")
    assert launcher.stop() == 1
    assert only(launcher).exit_code == -9
    screen.wait_for("escalating to 'SIGKILL'")


def test_asking_again_sends_the_next_harder_signal_at_once(launch, screen) -> None:
    launcher = launch(executable(DEAF, sigterm_timeout="600", sigkill_timeout="600"))
    screen.wait_for("ready")
    launcher.stop(wait=False)
    screen.wait_for("not yet")
    launcher.stop(wait=False)
    screen.wait_for("never")
    assert launcher.stop() == 1
    assert only(launcher).exit_code == -9


def test_a_process_is_respawned_as_often_as_allowed(launch, screen) -> None:
    launcher = launch(executable("raise SystemExit(4)", respawn="true", respawn_max_retries="2"))
    assert launcher.wait(20) == 1
    assert only(launcher).starts == 3
    assert len({line for line in screen.lines if "started with pid" in line}) == 3


def test_of_a_respawned_process_the_last_end_counts(launch, tmp_path: Path) -> None:
    program = """
import pathlib, sys, os
flag = pathlib.Path(sys.argv[1])
if flag.exists(): os.kill(os.getppid(), 0); sys.exit(0)
flag.touch(); sys.exit(1)"""
    launcher = launch(
        executable(program, tmp_path / "flag", respawn="true", respawn_max_retries="1")
    )
    assert launcher.wait(20) == 0
    assert only(launcher).starts == 2


def test_the_end_of_a_required_process_counts_although_it_would_be_respawned(launch) -> None:
    launcher = launch(executable("pass", respawn="true", on_exit="shutdown"))
    assert launcher.wait(20) == 0
    assert only(launcher).starts == 1


def test_a_process_that_waits_to_be_respawned_does_not_hold_up_the_end(launch, screen) -> None:
    launcher = launch(executable("pass", respawn="true", respawn_delay="600"))
    screen.wait_for("process has finished cleanly")
    assert launcher.stop() == 0
    assert only(launcher).starts == 1


def test_the_end_of_a_required_process_stops_the_others(launch, screen) -> None:
    launcher = launch(
        executable(POLITE, name="other") + executable("print('done')", on_exit="shutdown")
    )
    assert launcher.wait(20) == 0
    screen.wait_for("was required and has ended")


def test_what_a_process_has_started_ends_with_the_launch(launch, screen) -> None:
    # The shell ends at once and leaves a child that ignores SIGINT, as background jobs do.
    xml = '<executable cmd="sh -c \'sleep 600 &amp; echo child=\\$!\'" output="screen" '
    launcher = launch(xml + 'sigterm_timeout="0.1"/>')
    assert launcher.wait(20) == 0
    (line,) = [line for line in screen.lines if "child=" in line]
    assert not is_alive(int(line.partition("child=")[2]))


LINES = 3000
PRINTER = """
import sys
name, lines = sys.argv[1], int(sys.argv[2])
for i in range(lines):
    text = f"{name} {i} " + name * 200 + " end\\n"
    sys.stdout.write(text)
    sys.stderr.write(text)
"""


def test_lines_of_processes_that_print_much_are_neither_mixed_nor_lost(launch, screen) -> None:
    launcher = launch("".join(executable(PRINTER, name, LINES) for name in "xyz"))
    assert launcher.wait(60) == 0
    printed = [line for line in screen.lines if not line.startswith("[INFO]")]
    whole = re.compile(r"\[python[^ ]*-\d\] ([xyz]) (\d+) \1{200} end")
    assert all(whole.fullmatch(line) for line in printed)
    assert len(printed) == 3 * 2 * LINES


def test_a_process_that_prints_much_ends_although_nobody_looks(launch, screen) -> None:
    launch(executable("print('x' * 50_000_000)", output="log"))
    screen.wait_for("finished cleanly")  # no call of poll or wait in between


def test_a_line_without_end_is_cut_and_not_kept(launch, screen) -> None:
    launcher = launch(executable("print('x' * 1_000_000, end='')"))
    assert launcher.wait(20) == 0
    pieces = [line.partition("] ")[2] for line in screen.lines if line.endswith("xxx")]
    assert sum(map(len, pieces)) == 1_000_000
    assert max(map(len, pieces)) <= 64 * 1024


def test_bytes_that_are_no_text_are_shown_as_far_as_possible(launch, screen) -> None:
    program = r"import os; os.write(1, b'a\xff\x00b\r\nlast')"
    launcher = launch(executable(program))
    assert launcher.wait(20) == 0
    texts = [line.partition("] ")[2] for line in screen.lines]
    assert "a\ufffd\0b" in texts
    assert "last" in texts


PRINT_BOTH = "import sys; print('to out'); print('to err', file=sys.stderr)"


@pytest.mark.parametrize(
    ("output", "on_screen", "in_log"),
    [
        ("screen", {"out", "err"}, set()),
        ("log", {"err"}, {"out", "err"}),
        ("both", {"out", "err"}, {"out", "err"}),
    ],
)
def test_lines_go_where_the_output_attribute_sends_them(
    output: str, on_screen: set, in_log: set, launch, screen, tmp_path: Path
) -> None:
    assert launch(executable(PRINT_BOTH, name="p", output=output)).wait(20) == 0

    def kinds(text: str) -> set[str]:
        return set(re.findall(r"(?:^|\] )to (out|err)$", text, re.MULTILINE))

    log = tmp_path / "log"
    assert kinds("\n".join(screen.lines)) == on_screen
    assert kinds((log / "launch.log").read_text()) == in_log


def test_a_log_folder_that_cannot_be_made_costs_a_warning_and_nothing_else(
    launch, screen, tmp_path: Path
) -> None:
    (tmp_path / "occupied").touch()
    launcher = launch(executable(PRINT_BOTH, output="both"), log_folder=tmp_path / "occupied/log")
    assert launcher.wait(20) == 0
    assert sum("no log files" in line for line in screen.lines) == 1
    assert any("to out" in line for line in screen.lines)


def test_a_full_disk_costs_the_log_and_nothing_else(launch, screen, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log/launch.log").symlink_to("/dev/full")
    assert launch(executable(PRINT_BOTH, output="both")).wait(20) == 0
    assert sum("no log files" in line for line in screen.lines) == 1
    assert any("to out" in line for line in screen.lines)


def test_a_launch_stops_when_nobody_reads_its_output_any_more(launch, tmp_path: Path) -> None:
    def closed(line: str) -> None:
        raise BrokenPipeError

    launcher = launch(executable("import time; time.sleep(600)"), screen=closed)
    assert launcher.wait(20) is not None
    assert "nobody reads the output" in (tmp_path / "log/launch.log").read_text()


def test_parameters_that_cannot_be_written_fail_their_node_alone(
    write, screen, tmp_path: Path, monkeypatch
) -> None:
    node = '<node pkg="p" exec="e"><param name="a" value="1"/></node>'
    description = load(write(node + executable(POLITE)), resolve=lambda *_: ["true"])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    launcher = Launcher(description, screen=screen, log_folder=tmp_path / "log")
    launcher.start()
    screen.wait_for("ready")
    assert launcher.processes[0].failed
    assert launcher.stop() == 1
    assert launcher.processes[1].clean
    screen.wait_for("its parameters cannot be written to a file")


def test_parameter_files_are_there_while_the_node_runs_and_gone_afterwards(
    write, screen, tmp_path: Path
) -> None:
    file = write(
        '<node pkg="p" exec="e" output="screen"><param name="word" value="1" type="str"/></node>'
    )
    program = "import sys; print(sys.argv[-1]); print(open(sys.argv[-1]).read())"
    description = load(file, resolve=lambda *_: [sys.executable, "-S", "-c", program])
    launcher = Launcher(description, screen=screen, log_folder=tmp_path / "log")
    launcher.start()
    assert launcher.wait(20) == 0
    texts = [line.partition("] ")[2] for line in screen.lines]
    assert '    "word": "1"' in texts
    (path,) = [text for text in texts if text.startswith("/") and text.endswith(".yaml")]
    assert not Path(path).exists()


def test_the_messages_of_a_file_appear_in_its_order(launch, screen) -> None:
    launch('<log message="one"/>' + executable("pass", name="p") + '<log message="two"/>').wait(20)
    said = [line for line in screen.lines if "launch.user" in line or "started" in line]
    assert ["one" in said[0], "p-1" in said[1], "two" in said[2]] == [True] * 3


def test_a_launch_leaves_no_open_files_threads_or_processes_behind(launch) -> None:
    me = psutil.Process()
    before = me.num_fds(), threading.active_count(), len(me.children())
    for _ in range(3):
        assert launch("".join(executable("pass") for _ in range(4))).wait(30) == 0
    assert (me.num_fds(), threading.active_count(), len(me.children())) == before


def test_the_environment_reaches_the_process(launch, screen) -> None:
    program = "import os; print(os.environ['T_WORD'], os.environ['PATH'] != '')"
    launch(f'<set_env name="T_WORD" value="w"/>{executable(program)}').wait(20)
    assert any(line.endswith(" w True") for line in screen.lines)
    assert "T_WORD" not in os.environ
