# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ core of this checkout, where it is built."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots
from vms_ph_io.build import native_build


@cache
def core_in(folder: Path) -> ModuleType:
    """Import the core that is built in a folder, once: its classes can be declared only once.

    Raises:
        ImportError: there is none.
    """
    hidden = sys.modules.pop("vms_ph_native", None)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("vms_ph_native")
    finally:
        sys.path.remove(str(folder))
        sys.modules["vms_ph_native"] = hidden  # type: ignore[assignment]


def built_core() -> ModuleType | None:
    """The core of this checkout; None where it is not built, or from other sources."""
    folder = native_build.FOLDER
    built = [path.stat().st_mtime for path in folder.glob("vms_ph_native.*.so")]
    kinds = ("include", "src", "bindings")
    sources = [path for kind in kinds for path in (native_build.SOURCE / kind).rglob("*.?pp")]
    if not built or min(built) < max(path.stat().st_mtime for path in sources):
        return None
    return core_in(folder)


@contextmanager
def core_installed() -> Iterator[None]:
    """Let what is built meanwhile use the C++ core of this checkout, where there is one."""
    sys.modules["vms_ph_native"] = built_core()  # type: ignore[assignment]
    yield
    sys.modules["vms_ph_native"] = None  # type: ignore[assignment]


@pytest.fixture(scope="module", autouse=True)
def compiled() -> Iterator[None]:
    """What users run: studies, tasks and pages in C++ where the core is built, else in Python."""
    with core_installed():
        yield


@pytest.fixture
def core() -> Iterator[None]:
    """The C++ core for one test of what a closed loop does; its laws are compared in native/."""
    with core_installed():
        yield


@pytest.fixture(scope="module")
def panda(compiled: None) -> VMSModel:
    """The Panda, not that of the tests in Python, which keeps its terms."""
    return robots.load("panda")
