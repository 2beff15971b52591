# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ core of a checkout: built in the background by ./vms, once, and said once if it fails."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# The environment that the module finds itself in is replaced by a folder of the test.
MODULE = """
import sys
sys.prefix = {folder!r}
from vms_ph_io.build import native_background
"""


def in_module(folder: Path, code: str, **more: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", MODULE.format(folder=str(folder)) + code],
        env={**os.environ, "PYTHONPATH": str(ROOT), **more},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.strip()


def test_a_failed_build_is_recorded_and_not_tried_again(tmp_path: Path) -> None:
    said = in_module(
        tmp_path,
        "native_background.begin('1 2', delay=0.0); print(native_background.status_text())",
        CXX="no-such-compiler",
    )
    reason = "no C++ compiler; on Debian and Ubuntu: apt install g++"
    assert (tmp_path / ".native-failure").read_text() == f"{reason}\n"
    assert "./vms native builds it" in said
    assert f"the last build failed ({reason}" in said
    (tmp_path / ".native-failure").unlink()
    in_module(tmp_path, "native_background.begin('1 2', delay=0.0)", CXX="no-such-compiler")
    assert not (tmp_path / ".native-failure").exists()
    # Other sources are tried.
    in_module(tmp_path, "native_background.begin('3 4', delay=0.0)", CXX="no-such-compiler")
    assert (tmp_path / ".native-failure").exists()


def test_a_build_runs_once_at_a_time_behind_everything_and_can_be_stopped(tmp_path: Path) -> None:
    code = MODULE.format(folder=str(tmp_path)) + "native_background.begin('1', delay=60.0)"
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as build:
        try:
            lock = tmp_path / ".native.lock"
            end = time.monotonic() + 30.0
            while not (lock.exists() and lock.read_text() == f"{build.pid}\n"):
                assert time.monotonic() < end
                time.sleep(0.02)
            assert os.getpgid(build.pid) == build.pid
            assert os.getpriority(os.PRIO_PROCESS, build.pid) == 19
            # Another one ends at once, and leaves the record of this one.
            said = in_module(
                tmp_path,
                "native_background.begin('1', delay=60.0); print(native_background.status_text())",
            )
            assert "is being built in the background" in said
            assert build.poll() is None
            in_module(tmp_path, "native_background.stop()")
            assert build.wait(timeout=10) < 0
        finally:
            build.kill()
    assert not (tmp_path / ".native-sources").exists()
    assert "not installed" in in_module(tmp_path, "print(native_background.status_text())")


def test_nothing_is_stopped_where_no_build_runs(tmp_path: Path) -> None:
    (tmp_path / ".native.lock").write_text(f"{os.getpid()}\n")
    in_module(tmp_path, "native_background.stop()")


def test_all_processors_compile_as_far_as_the_memory_allows(tmp_path: Path) -> None:
    code = "native_background._MEMORY = {}; print(native_background.compilers())"
    assert in_module(tmp_path, code.format(1)) == str(len(os.sched_getaffinity(0)))
    assert in_module(tmp_path, code.format(10**18)) == "1"


def test_the_first_error_of_a_compiler_is_named(tmp_path: Path) -> None:
    code = "print(native_background._in_one_line('cmake failed:\\n[1/2] x\\nx.cpp:1: error: no'))"
    assert in_module(tmp_path, code) == "cmake failed: x.cpp:1: error: no"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment whose programs say what they are called with."""
    wanted = subprocess.run(
        f"cat '{ROOT}/pyproject.toml' '{ROOT}/setup.py' | cksum",
        shell=True, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in ("runtime", "native", "sweep"):
        (tmp_path / f".installed-{name}").write_text(wanted)
    (tmp_path / "bin").mkdir()
    for name in ("python", "vms-ph"):
        program = tmp_path / "bin" / name
        program.write_text(
            f"#!/bin/sh\necho {name} \"$@\" $VMS_PH_NATIVE_SOURCES >>'{tmp_path}/calls'\n"
        )
        program.chmod(0o755)
    return tmp_path


def vms(environment: Path, *words: str, expected: int = 1, **more: str) -> tuple[list[str], str]:
    """Run ./vms; return the calls of programs, at least as many as expected, and what it said."""
    calls = environment / "calls"
    calls.write_text("")
    done = subprocess.run(
        [str(ROOT / "vms"), *words],
        env={**os.environ, "VMS_NATIVE": "on", **more, "VMS_VENV": str(environment)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    end = time.monotonic() + 30.0
    # A call in the background may come after the end.
    while len(calls.read_text().splitlines()) < expected and time.monotonic() < end:
        time.sleep(0.02)
    return sorted(calls.read_text().splitlines()), done.stderr


def test_the_first_start_begins_the_build_and_later_ones_do_not(environment: Path) -> None:
    calls, said = vms(environment, "check", "panda", expected=2)
    build = calls[0].split()
    assert build[:3] == ["python", "-m", "vms_ph_io.build.native_background"]
    assert calls[1] == "vms-ph check panda"
    assert said.startswith("Building the C++ core in the background")
    # The build has not ended: it is begun again, and not announced again.
    calls, said = vms(environment, "check", "panda", expected=2)
    assert (calls[0].split(), said) == (build, "")
    (environment / ".native-sources").write_text(f"{' '.join(build[3:])}\n")
    assert vms(environment, "check", "panda") == (["vms-ph check panda"], "")


def test_a_failed_build_is_said_at_the_next_start_and_not_again(environment: Path) -> None:
    calls, _ = vms(environment, "env", expected=2)
    (environment / ".native-sources").write_text(" ".join(calls[0].split()[3:]))
    (environment / ".native-failure").write_text("no C++ compiler\n")
    _, said = vms(environment, "env")
    assert "the C++ core could not be built: no C++ compiler" in said
    assert "./vms native tries again" in said
    assert vms(environment, "env") == (["vms-ph env"], "")


def test_the_build_can_be_switched_off_and_native_builds_in_the_foreground(
    environment: Path,
) -> None:
    assert vms(environment, "check", VMS_NATIVE="off") == (["vms-ph check"], "")
    # The points of a sweep are all computed with the same core.
    assert vms(environment, "sweep", "x.yaml") == (["vms-ph sweep x.yaml"], "")
    begun, _ = vms(environment, "env", expected=2)
    (call,) = vms(environment, "native")[0]
    assert call == " ".join(["vms-ph native", *begun[0].split()[3:]])


def test_the_tests_stop_a_build_and_begin_none(environment: Path) -> None:
    for name in ("ruff", "mypy", "lint-imports"):
        os.symlink(environment / "bin" / "vms-ph", environment / "bin" / name)
    (environment / ".native.lock").touch()
    os.rename(environment / ".installed-runtime", environment / ".installed-test")
    calls, said = vms(environment, "test", "-k", "nothing")
    of_the_build = [call for call in calls if "native_background" in call]
    assert of_the_build == ["python -m vms_ph_io.build.native_background --stop"]
    assert any(call.startswith("python -m pytest") for call in calls)
    assert "background" not in said
