# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the C++ core of the checkout with the compiler and the Pinocchio of this environment."""

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import distributions, requires
from pathlib import Path

from vms_ph_dynamics import VmsPhError

from . import environment

# Largest memory of one compiler with the headers of Pinocchio, and space on a disk below which a
# failure is explained by it, bytes; where compilers put their temporary files.
_COMPILER_MEMORY, _MIN_SPACE = 1_500_000_000, 20_000_000
_TMP_FOLDER = os.environ.get("TMPDIR") or "/tmp"

CHECKOUT = Path(__file__).resolve().parent.parent.parent
SOURCE = CHECKOUT / "native"
FOLDER = CHECKOUT / "build" / "native"

TARGETS = ("vms_ph_native_module",)
"""The library and the Python module."""

Listener = Callable[[str], object]


def build(
    folder: Path = FOLDER,
    *,
    bindings: bool = True,
    tests: bool = False,
    sanitize: str = "OFF",
    build_type: str = "Release",
    targets: Sequence[str] = ("all",),
    listener: Listener | None = None,
) -> Path:
    """Configure and compile native/ incrementally; one process builds in a folder at a time.

    Args:
        folder: build folder.
        bindings: build the Python module.
        tests: build the C++ tests and benchmarks.
        sanitize: ON for the address and undefined-behaviour sanitizers, thread for that of
            threads.
        build_type: build type of CMake.
        targets: CMake targets to build.
        listener: receives every line that CMake and the compiler print.

    Returns:
        The folder.

    Raises:
        VmsPhError: no compiler, no Pinocchio headers, or code that does not compile.
    """
    if not (SOURCE / "CMakeLists.txt").is_file():
        raise VmsPhError("the C++ sources are missing: only a checkout has them, not a wheel")
    require_packages()
    require_compiler()
    import pybind11

    switches = {
        "CMAKE_BUILD_TYPE": build_type,
        "CMAKE_PREFIX_PATH": _pinocchio_prefix(),
        "pybind11_DIR": pybind11.get_cmake_dir(),
        "Python_EXECUTABLE": sys.executable,
        "VMS_PH_BINDINGS": "ON" if bindings else "OFF",
        "VMS_PH_TESTS": "ON" if tests else "OFF",
        "VMS_PH_PYTHON_HOST": "ON" if tests else "OFF",
        "VMS_PH_URDF": "ON" if tests else "OFF",  # Python reads descriptions by itself
        "VMS_PH_SANITIZE": sanitize,
    }
    configure = ["-G", "Ninja", "-Wno-dev", "-S", SOURCE, "-B", folder]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:  # waits until no other process builds here
        fcntl.flock(lock, fcntl.LOCK_EX)
        options = (f"-D{name}={value}" for name, value in switches.items())
        # Compilers hold the lock too: they go on when this process is killed.
        fds = (lock.fileno(),)
        cmake(*configure, *options, listener=listener, fds=fds)
        cmake("--build", folder, "--target", *targets, listener=listener, fds=fds)
    return folder


def parallel_jobs() -> int:
    """Return how many files to compile at once: on all processors, as far as the memory allows."""
    affinity = getattr(os, "sched_getaffinity", None)
    jobs = len(affinity(0)) if affinity else os.cpu_count() or 1
    with suppress(OSError):
        memory = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.M)
        if memory is not None:
            jobs = min(jobs, int(memory[1]) * 1024 // _COMPILER_MEMORY)
    return max(1, jobs)


def install(folder: Path) -> Path:
    """Install the built module among the packages of this Python; return the folder.

    A process that has the earlier one loaded keeps it until its end.
    """
    site_packages = Path(sysconfig.get_path("platlib"))
    with tempfile.TemporaryDirectory(dir=site_packages, prefix=".vms_ph_native-") as staging_folder:
        cmake("--install", folder, "--prefix", staging_folder, "--component", "python")
        # Replaced, not written over: a loaded library must not change.
        for file in Path(staging_folder).iterdir():
            file.replace(site_packages / file.name)
    return site_packages


def cmake(*arguments: object, listener: Listener | None = None, fds: Sequence[int] = ()) -> None:
    """Run the CMake of this environment.

    Args:
        arguments: of the command.
        listener: receives every line that it prints.
        fds: descriptors that it keeps open.

    Raises:
        VmsPhError: CMake failed; the message contains the end of its output.
    """
    search_path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    lines = []
    with subprocess.Popen(
        [sys.executable, "-m", "cmake", *map(str, arguments)],
        env={"CMAKE_BUILD_PARALLEL_LEVEL": str(parallel_jobs()), **os.environ, "PATH": search_path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=fds,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if listener is not None:
                listener(line)
    if process.returncode:
        output = "".join(lines[-40:]).rstrip("\n")
        paths = filter(Path.is_dir, (FOLDER, FOLDER.parent, Path(sys.prefix), Path(_TMP_FOLDER)))
        disk = next((path for path in paths if shutil.disk_usage(path).free < _MIN_SPACE), None)
        if disk is not None:
            output = f"{output}\nthe disk of {disk} is full: free some space and run again"
        raise VmsPhError(f"cmake {' '.join(map(str, arguments[:2]))} failed:\n{output}")


def require_packages() -> None:
    """Check that the packages are there that the build needs.

    Raises:
        VmsPhError: some are missing.
    """
    # One whose installation was killed can be imported, but has no description.
    packages = [name for name in ("pybind11", "cmake", "ninja") if not [*distributions(name=name)]]
    if packages:
        text = f"building the C++ core requires {', '.join(packages)}; "
        text += "python -m pip install 'vms-ph[native]' installs all but the compiler"
        raise VmsPhError(text)
    _pinocchio_prefix()


def install_packages() -> None:
    """Install what the build needs and is missing, of the versions that fit what is installed.

    An installation that was killed is completed.

    Raises:
        VmsPhError: pip could not install them.
    """
    marker = Path(sys.prefix) / ".native-packages"
    with suppress(VmsPhError):
        require_packages()
        if not marker.exists():
            return
    marker.touch()
    requirements = [
        text.partition(";")[0].strip()
        for text in requires("vms-ph") or []
        if re.search(r"""extra\s*==\s*['"]native['"]""", text)
    ]
    command = [sys.executable, environment.__file__, sys.prefix, "--disable-pip-version-check"]
    if subprocess.run([*command, "--quiet", *requirements], check=False).returncode:
        raise VmsPhError(f"pip could not install {', '.join(requirements)}")
    marker.unlink(missing_ok=True)


def status_text() -> str:
    """Return in one sentence whether the core is in this environment."""
    folder = sysconfig.get_path("platlib")
    if importlib.util.find_spec("vms_ph_native") is not None:
        return f"the C++ core is installed in {folder}"
    log = Path(sys.prefix) / "native.log"
    log_note = f" (log of the build in the background: {log})" if log.is_file() else ""
    return f"the C++ core is not in {folder}: Python is used; ./vms native builds it{log_note}"


def require_compiler() -> None:
    """Check that there is a compiler.

    Raises:
        VmsPhError: there is none.
    """
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        raise VmsPhError("no C++ compiler; on Debian and Ubuntu: apt install g++")


def _pinocchio_prefix() -> Path:
    """Return the prefix of Pinocchio's wheel with its headers."""
    prefix = Path(sysconfig.get_path("platlib")) / "cmeel.prefix"
    if not (prefix / "include" / "urdfdom_headers").is_dir():
        text = "Pinocchio's C++ headers are not in this environment; "
        text += "python -m pip install 'vms-ph[native]' installs them"
        raise VmsPhError(text)
    return prefix
