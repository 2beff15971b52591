# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Gains are numbers of any type."""

import dataclasses

import numpy as np
import pytest

from vms_ph_controllers import (
    DecoupledVMSController,
    EndEffectorImpedance,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_io import robots


@pytest.mark.parametrize("law", [TaskSpaceIDAPBC, DecoupledVMSController, EndEffectorImpedance])
def test_whole_numbers_are_gains_too(law: type) -> None:
    model = robots.load("omnidirectional_panda" if law is DecoupledVMSController else "panda")
    state = RobotState(model.neutral_configuration(), np.zeros(model.nv))
    commands = []
    for kind in (float, int, np.float32, np.int64):
        defaults = law.Gains()
        values = {item.name: getattr(defaults, item.name) for item in dataclasses.fields(defaults)}
        whole = {
            name: kind(max(1, round(value)))
            for name, value in values.items()
            if isinstance(value, float) and value
        }
        made = law(model, gains=law.Gains(**whole))
        made.reset(state)
        commands.append(made.update(state, Reference(), 1e-3).torque)
    for other in commands[1:]:
        np.testing.assert_array_equal(other, commands[0])
