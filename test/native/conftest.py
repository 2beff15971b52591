# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ core, built from the checkout and imported."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from built_core import core_in

from vms_ph_controllers.laws.twinned_controller import core_model
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.robot import KinematicTree

from .builds import plain, sanitized, sanitized_host


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Where tests are chosen the first one compiles, on a busy machine for many minutes.
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(scope="session")
def native_folder() -> Path:
    return plain()


@pytest.fixture(scope="session")
def sanitized_host_folder(native_folder: Path) -> Path:
    return sanitized_host()


@pytest.fixture(scope="session")
def sanitized_folder(native_folder: Path) -> Path:
    return sanitized()


@pytest.fixture(scope="package")
def native(native_folder: Path) -> Iterator[ModuleType]:
    """The module ``vms_ph_native`` of this checkout, not one that was installed before."""
    module = core_in(native_folder)
    hidden, sys.modules["vms_ph_native"] = sys.modules["vms_ph_native"], module
    sys.path.insert(0, str(native_folder))
    try:
        yield module
    finally:
        sys.path.remove(str(native_folder))
        sys.modules["vms_ph_native"] = hidden


def parity_of(native: ModuleType) -> ModuleType:
    """Return what the tests compare and no program uses: terms, energies, observers, guards."""
    sys.modules["vms_ph_native"] = native
    return importlib.import_module("vms_ph_native_parity")


@pytest.fixture(scope="package")
def parity(native: ModuleType) -> ModuleType:
    """See :func:`parity_of`."""
    return parity_of(native)


@pytest.fixture(scope="package", autouse=True)
def _terms_in_python() -> Iterator[None]:
    """The Python that C++ is compared with uses none of it, unless a test says so."""
    before, KinematicTree.native = KinematicTree.native, False
    yield
    KinematicTree.native = before


def native_model(native: ModuleType, model: VMSModel) -> object:
    """Return the same robot in C++."""
    return core_model(native, model)
