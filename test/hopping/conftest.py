# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Hoppers for the tests of contact."""

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_hopping import Leg
from vms_ph_hopping.laws.hopping import HoppingController
from vms_ph_io import robots


@pytest.fixture(scope="session")
def revolute() -> VMSModel:
    return robots.load("revolute_hopper")


@pytest.fixture(scope="session")
def prismatic() -> VMSModel:
    return robots.load("prismatic_hopper")


@pytest.fixture(params=["revolute_hopper", "prismatic_hopper"], scope="session")
def hopper(request: pytest.FixtureRequest) -> VMSModel:
    return robots.load(request.param)


def state(leg: Leg, *coordinates: float) -> tuple[np.ndarray, np.ndarray]:
    """A configuration at rest."""
    return leg.configuration(np.array(coordinates)), np.zeros(leg.model.nv)


def thesis(model: VMSModel, kind: str = "II", **gains: float) -> HoppingController:
    """The controller of experiment VI on any hopper, with some gains changed."""
    controller = HoppingController(model, kind=kind)
    leg = controller.leg
    rest = leg.at(*state(leg, 0.0, 0.3, -1.9938, 1.7802)) if "revolute" in model.name else None
    if rest is not None:
        gains = {"length": rest.length, "energy": rest.energy, **gains}
    controller.gains = controller.Gains(**gains)
    return controller
