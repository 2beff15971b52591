# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the C++ core of a checkout once, behind everything else, as ``./vms`` starts it.

    python -m vms_ph_io.build.native_background SOURCES
    python -m vms_ph_io.build.native_background --stop

SOURCES is a checksum of the sources. It is recorded with the outcome in the environment, so that
the same sources are not built again, nor after a failure. What runs meanwhile uses Python.
"""

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from vms_ph_dynamics.errors import VmsPhError

from . import native_build

# The start of a demo, during which nothing is compiled, s.
_DELAY = 20.0

# What a compiler takes at most with the headers of Pinocchio, and what runs beside it, bytes.
_MEMORY = 1_500_000_000

_FOLDER = Path(sys.prefix)
STAMP = _FOLDER / ".native-sources"
"""The checksum of the sources that were tried last; ``./vms`` compares it."""
FAILURE = _FOLDER / ".native-failure"
"""Why the last build failed, until ``./vms`` has said it."""
LOG = _FOLDER / "native.log"
TARGETS = ("vms_ph_native_module",)
"""What is built: the library and the Python module."""
_STATE = _FOLDER / ".native-state.json"
_LOCK = _FOLDER / ".native.lock"
PACKAGES_LOCK = _FOLDER / ".packages.lock"
"""Held while packages are installed, here and by ``./vms``."""

Phase = Literal["waiting", "packages", "compiling", "built", "failed"]


@dataclass(frozen=True)
class State:
    """What has become of the build.

    Attributes:
        phase: how far it is.
        detail: why it failed; empty otherwise.
    """

    phase: Phase
    detail: str = ""


def begin(sources: str, delay: float = _DELAY) -> None:
    """Build the core of these sources in this process, unless another one does.

    The outcome is recorded, never raised.
    """
    _lower_priority()
    with contextlib.ExitStack() as stack:
        try:
            lock = stack.enter_context(_LOCK.open("a+"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
        except OSError:
            return
        if STAMP.is_file() and STAMP.read_text() == sources:
            return
        FAILURE.unlink(missing_ok=True)
        try:
            _record(State("waiting"))
            native_build.require_compiler()
            time.sleep(delay)
            _record(State("packages"))
            _install_packages()
            _record(State("compiling"))
            with LOG.open("w", buffering=1) as log:
                folder = native_build.build(targets=TARGETS, listener=log.write)
            native_build.install(folder)
            _record(State("built"))
        except Exception as error:  # nobody waits for this process
            reason = _in_one_line(str(error) or type(error).__name__)
            with LOG.open("a") as log:
                log.write(f"{error}\n")
            _record(State("failed", reason))
            FAILURE.write_text(f"{reason}\n")
        STAMP.write_text(sources)


def stop() -> None:
    """End a build in the background; what is compiled already is kept for the next one.

    Its process holds a lock with its number, so that no other process is meant.
    """
    with contextlib.suppress(OSError, ValueError):
        if _is_running():
            process = int(_LOCK.read_text())
            os.killpg(process, signal.SIGTERM)
            for _ in range(50):
                if not _is_running():
                    break
                time.sleep(0.1)


def write_build_record(sources: str) -> None:
    """Record that the core of these sources is installed; by ``./vms native``."""
    _record(State("built"))
    FAILURE.unlink(missing_ok=True)
    if sources:
        STAMP.write_text(sources)


def status_text() -> str:
    """Return the state of the core in this environment in one sentence."""
    prefix = str(_FOLDER)
    folder = Path(sysconfig.get_path("platlib", vars={"base": prefix, "platbase": prefix}))
    is_installed = any(folder.glob("vms_ph_native.*"))
    state = _read()
    building = state is not None and state.phase in ("waiting", "packages", "compiling")
    if building and _is_running():
        now = {"waiting": "is about to be built", "packages": "needs packages, which are installed"}
        assert state is not None
        text = now.get(state.phase, f"is being compiled{_progress()}")
        meanwhile = "the earlier one is used" if is_installed else "Python is used"
        return f"the C++ core {text} in the background (log: {LOG}); meanwhile {meanwhile}"
    failed = state is not None and state.phase == "failed"
    why = f"({state.detail}; log: {LOG})" if state is not None and failed else ""
    if is_installed and failed:
        return (
            f"the C++ core is installed in {folder}, but the build of the present sources failed "
            f"{why}; ./vms native tries again"
        )
    if is_installed:
        return f"the C++ core is installed in {folder}"
    if failed:
        return f"the C++ core could not be built {why}; Python is used, ./vms native tries again"
    return "the C++ core is not installed, and Python is used; ./vms native builds it"


def _in_one_line(reason: str) -> str:
    """Return the first line of a reason, with the first error of a compiler in it."""
    first, *lines = reason.splitlines()
    error = next((line.strip() for line in lines if "error" in line.lower()), "")
    return f"{first} {error}".strip()


def _is_running() -> bool:
    try:
        with _LOCK.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _progress() -> str:
    """Return how many files are compiled, as Ninja says it in the log."""
    try:
        steps = re.findall(r"^\[(\d+)/(\d+)\]", LOG.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return ""
    return f", {steps[-1][0]} of {steps[-1][1]} steps" if steps else ""


def _lower_priority() -> None:
    """Let everything else have the processor first, and leave the terminal."""
    with contextlib.suppress(OSError):
        os.setsid()
    with contextlib.suppress(OSError):
        os.nice(19)
    if hasattr(os, "SCHED_IDLE"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(compilers()))


def compilers() -> int:
    """Return how many files to compile at once: on all processors, as far as the memory allows."""
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    with contextlib.suppress(OSError, AttributeError):
        available = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.M)
        if available is not None:
            processors = min(processors, int(available[1]) * 1024 // _MEMORY)
    return max(1, processors)


def _install_packages() -> None:
    """Install what the build needs besides the compiler; nothing that is there is changed.

    Raises:
        VmsPhError: pip could not install it.
    """
    requirements = [
        text.partition(";")[0].strip()
        for text in requires("vms-ph") or []
        if re.search(r"""extra\s*==\s*['"]native['"]""", text)
    ]
    with contextlib.suppress(VmsPhError):
        native_build.require_packages()
        return
    with package_lock(), LOG.open("w") as log:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        freeze = subprocess.run([*pip, "freeze"], capture_output=True, text=True, check=True)
        # Lines of editable packages and of files are no constraints.
        fixed = _FOLDER / ".native-constraints"
        versions = [
            line for line in freeze.stdout.splitlines() if re.fullmatch(r"[\w.-]+==\S+", line)
        ]
        fixed.write_text("\n".join(versions))
        requirements = [_as_installed(name) for name in requirements]
        done = subprocess.run(
            [*pip, "install", "--constraint", str(fixed), *requirements],
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        raise VmsPhError(f"pip could not install {', '.join(requirements)}")


def _as_installed(requirement: str) -> str:
    """Return a requirement that keeps the installed version, if there is one."""
    name = re.split(r"[<>=!~ ]", requirement, maxsplit=1)[0]
    try:
        return f"{name}=={version(name.partition('[')[0])}"
    except PackageNotFoundError:
        return requirement


@contextmanager
def package_lock() -> Iterator[None]:
    """Wait until nobody else installs packages in this environment."""
    with PACKAGES_LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _record(state: State) -> None:
    beside = _STATE.with_suffix(".part")
    beside.write_text(json.dumps(asdict(state)))
    beside.replace(_STATE)


def _read() -> State | None:
    try:
        return State(**json.loads(_STATE.read_text()))
    except (OSError, TypeError, ValueError):
        return None


if __name__ == "__main__":
    if sys.argv[1:] == ["--stop"]:
        stop()
    else:
        begin(sys.argv[1])
