# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ core of a checkout: built in the background by ./vms, once, and said once if it fails."""

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_io.build import native_build

ROOT = Path(__file__).parent.parent


def test_all_processors_compile_as_far_as_the_memory_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native_build, "_COMPILER_MEMORY", 1)
    assert native_build.parallel_jobs() == len(os.sched_getaffinity(0))
    monkeypatch.setattr(native_build, "_COMPILER_MEMORY", 10**18)
    assert native_build.parallel_jobs() == 1


def test_a_compiler_whose_build_was_killed_keeps_the_next_one_waiting(tmp_path: Path) -> None:
    # The program cmake of this test works for a while, as a compiler does.
    (tmp_path / "cmake.py").write_text(
        "import pathlib, time\npathlib.Path('begun').touch()\ntime.sleep(60)\n"
    )
    program = (
        "from pathlib import Path; from vms_ph_io.build import native_build as b\n"
        "b.require_packages = b.require_compiler = lambda: None\n"
        "b._pinocchio_prefix = lambda: ''\n"
        "b.build(Path('native'))"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    with subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environment) as build:
        end = time.monotonic() + 30.0
        while not (tmp_path / "begun").exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        (compiler,) = psutil.Process(build.pid).children()
        build.kill()
    with (tmp_path / "native.lock").open() as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        compiler.kill()
        fcntl.flock(lock, fcntl.LOCK_EX)


def test_without_a_compiler_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(
        VmsPhError, match="no C\\+\\+ compiler; on Debian and Ubuntu: apt install g"
    ):
        native_build.require_compiler()


def test_a_build_that_fails_on_a_full_disk_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VmsPhError, match="failed") as other:
        native_build.cmake("--build", "/no/such/folder")
    assert "full" not in str(other.value)
    monkeypatch.setattr(native_build.shutil, "disk_usage", lambda _: SimpleNamespace(free=10**6))
    with pytest.raises(VmsPhError, match=r"the disk of .* is full: free some space and run again"):
        native_build.cmake("--build", "/no/such/folder")


def test_an_installation_of_what_the_build_needs_is_completed_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, killed = list[int](), [True, False]

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(len(command))
        if killed[len(calls) - 1]:
            raise KeyboardInterrupt  # what a kill leaves, seen from the next start
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(native_build.sys, "prefix", str(tmp_path))
    monkeypatch.setattr(native_build, "requires", lambda name: ["cmake; extra == 'native'"])
    monkeypatch.setattr(native_build, "_pinocchio_prefix", lambda: tmp_path)
    described = {"pybind11", "ninja"}
    monkeypatch.setattr(
        native_build, "distributions", lambda name: [name] if name in described else []
    )
    monkeypatch.setattr(native_build.subprocess, "run", run)
    with pytest.raises(VmsPhError, match="the C\\+\\+ core requires cmake"):
        native_build.require_packages()
    with pytest.raises(KeyboardInterrupt):
        native_build.install_packages()
    described.add("cmake")  # its files are there, others may not be
    native_build.install_packages()
    native_build.install_packages()
    assert len(calls) == 2


def test_the_state_of_the_core_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_build.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(native_build.sys, "prefix", str(tmp_path))
    assert native_build.status_text().endswith("./vms native builds it")
    (tmp_path / "native.log").touch()
    assert f"log of the build in the background: {tmp_path}" in native_build.status_text()


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment whose programs say what they are called with."""
    wanted = subprocess.run(
        f"cat '{ROOT}/pyproject.toml' '{ROOT}/setup.py' | cksum",
        shell=True, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in ("runtime", "sweep"):
        (tmp_path / f".installed-{name}").write_text(wanted)
    (tmp_path / "bin").mkdir()
    for name in ("python", "vms-ph", "sleep"):
        program = tmp_path / "bin" / name
        fails = f"[ \"$1\" != native ] || [ ! -f '{tmp_path}/no-compiler' ]"
        killed = f"[ \"$1\" != native ] || [ ! -f '{tmp_path}/killed' ] || kill -9 $PPID"
        calls = f"echo {name} \"$@\" >>'{tmp_path}/calls'"
        program.write_text(f"#!/bin/sh\n{calls}\n{killed}\n{fails}\n")
        program.chmod(0o755)
    return tmp_path


def vms(environment: Path, *words: str, expected: int = 1, **more: str) -> tuple[list[str], str]:
    """Run ./vms; return the calls of programs, at least as many as expected, and what it said."""
    calls = environment / "calls"
    calls.write_text("")
    done = subprocess.run(
        [str(ROOT / "vms"), *words],
        env={
            **os.environ,
            "VMS_NATIVE": "on",
            "PATH": f"{environment}/bin:{os.environ['PATH']}",
            **more,
            "VMS_VENV": str(environment),
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    end = time.monotonic() + 30.0
    # A call in the background may come after the end.
    while len(calls.read_text().splitlines()) < expected and time.monotonic() < end:
        time.sleep(0.02)
    return sorted(calls.read_text().splitlines()), done.stderr


def wait_for_the_builder(environment: Path) -> None:
    """Wait until the background process has ended, well or killed."""
    builder = Path("/proc", (environment / ".native-builder").read_text().strip(), "cmdline")
    end = time.monotonic() + 30.0
    with contextlib.suppress(OSError):  # it is gone; what is not reaped has an empty line
        while builder.read_bytes() and time.monotonic() < end:
            time.sleep(0.02)


def test_the_first_start_begins_the_build_and_later_ones_do_not(environment: Path) -> None:
    calls, said = vms(environment, "check", "panda", expected=3)
    assert calls == ["sleep 20", "vms-ph check panda", "vms-ph native"]
    assert said.startswith("Building the C++ core in the background")
    assert vms(environment, "check", "panda") == (["vms-ph check panda"], "")
    # Other sources, or another Pinocchio, are built again.
    wait_for_the_builder(environment)
    (environment / ".native-sources").write_text("1 2\n")
    assert "vms-ph native" in vms(environment, "check", "panda", expected=3)[0]


def test_a_failed_build_is_said_at_the_next_start_and_not_again(environment: Path) -> None:
    (environment / "no-compiler").touch()
    vms(environment, "env", expected=3)
    wait_for_the_builder(environment)
    calls, said = vms(environment, "env")
    assert calls == ["vms-ph env"]
    assert f"the C++ core could not be built (the log is {environment}/native.log)" in said
    assert "./vms native tries again" in said
    assert vms(environment, "env") == (["vms-ph env"], "")


def test_a_build_that_was_killed_is_begun_again_at_the_next_start(environment: Path) -> None:
    (environment / "killed").touch()
    vms(environment, "env", expected=3)
    wait_for_the_builder(environment)
    (environment / "killed").unlink()
    calls, said = vms(environment, "env", expected=3)
    assert "vms-ph native" in calls
    assert "Building the C++ core in the background" in said
    wait_for_the_builder(environment)
    assert vms(environment, "env") == (["vms-ph env"], "")


def test_the_build_can_be_switched_off_and_native_builds_in_the_foreground(
    environment: Path,
) -> None:
    assert vms(environment, "check", VMS_NATIVE="off") == (["vms-ph check"], "")
    # The points of a sweep are all computed with the same core.
    assert vms(environment, "sweep", "x.yaml") == (["vms-ph sweep x.yaml"], "")
    assert vms(environment, "native") == (["vms-ph native"], "")
    assert vms(environment, "env") == (["vms-ph env"], "")


def test_the_tests_begin_no_build(environment: Path) -> None:
    for name in ("ruff", "mypy", "lint-imports"):
        os.symlink(environment / "bin" / "vms-ph", environment / "bin" / name)
    os.rename(environment / ".installed-runtime", environment / ".installed-test")
    calls, said = vms(environment, "test", "-k", "nothing")
    assert any(call.startswith("python -m pytest") for call in calls)
    assert "vms-ph native" not in calls
    assert "background" not in said
