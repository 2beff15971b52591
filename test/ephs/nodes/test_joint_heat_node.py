# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The published temperatures of the joints."""

import re
from collections.abc import Callable

import pytest
from nodes.conftest import Program, echo_of

pytestmark = pytest.mark.wire


def test_falling_arms_warm_their_joints(start: Callable[..., Program]) -> None:
    running = start("launch", "joint_heat")
    echo = echo_of(start, "/vms_ph/temperature/left_s1")
    echo.await_output(r"temperature: ")
    temperature = re.search(r"temperature: ([0-9.]+)", echo.output)
    assert temperature is not None
    assert 25.0 <= float(temperature[1]) < 60.0
    assert running.interrupt() == 0
