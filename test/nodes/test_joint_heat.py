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

"""The published temperatures of the joints."""

import re
from collections.abc import Callable

import pytest

from .conftest import Program

pytestmark = pytest.mark.wire


def test_falling_arms_warm_their_joints(start: Callable[..., Program]) -> None:
    running = start("launch", "joint_heat")
    echo = start("topic", "echo", "/vms_ph/temperature/left_s1", "--once")
    echo.await_output(r"temperature: ")
    temperature = re.search(r"temperature: ([0-9.]+)", echo.output)
    assert temperature is not None
    assert 25.0 <= float(temperature[1]) < 60.0
    assert running.interrupt() == 0
