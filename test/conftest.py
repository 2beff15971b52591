"""What tests share: robots, golden data, random states."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import vms_ph_nodes  # noqa: F401  decides the runtime before any test imports rclpy or a message
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

GOLDEN = Path(__file__).parent / "golden"

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--campaign"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="a long campaign; run with --campaign"))
