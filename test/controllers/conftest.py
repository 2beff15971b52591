# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What tests of controllers share."""

import numpy as np
import pytest
from built_core import core

from vms_ph_controllers import RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import VMSModel

from .support.closed_loops import Q0

__all__ = ["core", "law", "panda"]


@pytest.fixture
def panda(request: pytest.FixtureRequest, panda: VMSModel) -> VMSModel:
    """The Panda, in C++ where a test asks for the core."""
    if "core" not in request.fixturenames:
        return panda
    request.getfixturevalue("core")
    return panda.with_native(None)


@pytest.fixture
def law(panda: VMSModel) -> TaskSpaceIDAPBC:
    controller = TaskSpaceIDAPBC(panda)
    controller.reset(RobotState(Q0, np.zeros(7)))
    return controller
