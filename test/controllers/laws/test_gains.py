# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Gains are numbers of any type."""

import dataclasses

import numpy as np
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    DecoupledVMSController,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_io import robots


@pytest.mark.parametrize("law", [TaskSpaceIDAPBC, DecoupledVMSController, CartesianImpedance])
def test_whole_numbers_are_gains_too(law: type) -> None:
    model = robots.load("omnidirectional_panda" if law is DecoupledVMSController else "panda")
    state = RobotState(model.neutral_configuration(), np.zeros(model.nv))
    commands = []
    for kind in (float, int, np.float32, np.int64):
        defaults = law.Gains()
        whole = {
            item.name: kind(max(1, round(item.default)))
            for item in dataclasses.fields(defaults)
            if isinstance(item.default, float) and item.default and item.metadata["high"] >= 1.0
        }
        made = law(model, gains=law.Gains(**whole))
        made.reset(state)
        commands.append(made.update(state, Reference(), 1e-3).torque)
    for other in commands[1:]:
        np.testing.assert_array_equal(other, commands[0])
