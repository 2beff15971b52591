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
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from importlib.metadata import requires
from pathlib import Path
from typing import TextIO

from vms_ph_dynamics import VmsPhError

from . import environment, native_build

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
_LOCK = _FOLDER / ".native.lock"


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
            native_build.require_compiler()
            time.sleep(delay)
            with LOG.open("w", buffering=1) as log:
                _install_packages(log)
                folder = native_build.build(targets=TARGETS, listener=log.write)
            native_build.install(folder)
        except Exception as error:  # nobody waits for this process
            reason = _in_one_line(str(error) or type(error).__name__)
            with LOG.open("a") as log:
                log.write(f"{error}\n")
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
    FAILURE.unlink(missing_ok=True)
    if sources:
        STAMP.write_text(sources)


def status_text() -> str:
    """Return the state of the core in this environment in one sentence."""
    prefix = str(_FOLDER)
    folder = Path(sysconfig.get_path("platlib", vars={"base": prefix, "platbase": prefix}))
    is_installed = any(folder.glob("vms_ph_native.*"))
    if _is_running():
        meanwhile = "the earlier one is used" if is_installed else "Python is used"
        return (
            f"the C++ core is being built in the background{_progress()} (log: {LOG}); "
            f"meanwhile {meanwhile}"
        )
    failed = ""
    if FAILURE.is_file():
        failed = f"; the last build failed ({FAILURE.read_text().strip()}; log: {LOG})"
    if is_installed:
        return f"the C++ core is installed in {folder}{failed}"
    return f"the C++ core is not installed, and Python is used; ./vms native builds it{failed}"


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


def _install_packages(log: TextIO) -> None:
    """Install what the build needs and is missing, of the versions that fit what is installed."""
    with contextlib.suppress(VmsPhError):
        native_build.require_packages()
        return
    needed = [
        text.partition(";")[0].strip()
        for text in requires("vms-ph") or []
        if re.search(r"""extra\s*==\s*['"]native['"]""", text)
    ]
    command = [sys.executable, environment.__file__, str(_FOLDER), "--disable-pip-version-check"]
    done = subprocess.run([*command, *needed], stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise VmsPhError(f"pip could not install {', '.join(needed)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--stop"]:
        stop()
    else:
        begin(sys.argv[1])
