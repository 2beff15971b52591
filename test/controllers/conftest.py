# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What tests of controllers share."""

import numpy as np
import pytest

from vms_ph_controllers import RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import VMSModel

from .support.closed_loops import Q0


@pytest.fixture
def law(panda: VMSModel) -> TaskSpaceIDAPBC:
    controller = TaskSpaceIDAPBC(panda)
    controller.reset(RobotState(Q0, np.zeros(7)))
    return controller
