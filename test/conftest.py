# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What tests share: robots, golden data, random states."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# The matrices are small: further threads of numpy would only wait for each other, and for the other
# workers. It reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin
import pytest
from parallel import make_scheduler, place

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

if find_spec("vms_ph_nodes") is not None:
    # It decides the runtime before any test imports rclpy or a message.
    import vms_ph_nodes  # noqa: F401

GOLDEN = Path(__file__).parent / "golden"

# Background jobs of a script inherit an ignored SIGINT, those of nohup an ignored SIGHUP. The
# processes that tests start would too, and then these signals would not reach them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Whatever is installed: the schemes in Python are to be tested here, and in native/ those in C++.
sys.modules["vms_ph_native"] = None  # type: ignore[assignment]


@pytest.fixture(scope="session")
def panda() -> VMSModel:
    return robots.load("panda")


@pytest.fixture(scope="session")
def golden() -> Path:
    return GOLDEN


@pytest.fixture(scope="session")
def golden_model() -> Callable[[str], pin.Model]:
    """Read a model of the golden data, which Pinocchio 4 wrote in its own format."""

    def read(name: str) -> pin.Model:
        model = pin.Model()
        try:
            model.loadFromText(str(GOLDEN / f"{name}.pinmodel.txt"))
        except RuntimeError as error:
            if int(pin.__version__.split(".")[0]) < 4:
                pytest.skip(f"Pinocchio {pin.__version__} cannot read what 4 wrote: {error}")
            raise
        return model

    return read


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--campaign", action="store_true", help="run the long campaigns too")


def pytest_configure() -> None:
    # Only the first worker of pytest-xdist starts processes; what computes gives way to them.
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0":
        os.nice(15)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=place)
    if config.getoption("--campaign"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="a long campaign; run with --campaign"))


def pytest_sessionfinish() -> None:
    # There where tests of nodes have run.
    if module := sys.modules.get("nodes.fork_server"):
        module.close()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    # Modules and thousands of tests live to the end: no search for garbage looks at them again.
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process where few tests are chosen; starting more takes longer than it saves."""
    option = config.option
    files = any("::" in word or word.endswith(".py") for word in config.args)
    again = getattr(option, "lf", False)  # --last-failed
    few = files or again or option.keyword or option.collectonly or option.capture == "no"
    # The first worker mostly waits for the processes that it has started.
    return 0 if few else max(3, os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return make_scheduler(config, log)
