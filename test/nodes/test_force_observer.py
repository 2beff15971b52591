# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The published wrench of a robot that is pushed, against the sensor of the simulator."""

from collections.abc import Callable

import pytest

from .conftest import Program, echo_of

pytestmark = pytest.mark.wire


def test_the_wrench_of_a_push_is_published_as_the_simulators_sensor_has_it(
    start: Callable[..., Program],
) -> None:
    start("launch", "panda", "markers:=false", "rate:=50.0")
    start("run", "force_observer", "--ros-args", "-p", "robot:=panda")
    echo = echo_of(start, "/vms_ph/estimated_wrench")
    echo.await_output(r"force:", 90.0)
    start(
        *("topic", "pub", "-r", "20", "/simulator/wrench_end_effector"),
        "geometry_msgs/msg/WrenchStamped",
        "{wrench: {force: {x: 3.0, y: -4.0, z: 6.0}}}",
    )
    # It settles within a few tenths of a second from the beginning of the push.
    x, y, z = r"(2\.9|3\.0)\d*", r"-(3\.9|4\.0)\d*", r"(5\.9|6\.0)\d*"
    echo.await_output(rf"force:\s+x: {x}\s+y: {y}\s+z: {z}", 90.0)
    contact = start("topic", "echo", "/vms_ph/contact", "--once")
    contact.await_output(r"contact: true", 60.0)
    payload = start("topic", "echo", "/vms_ph/payload", "--once")
    payload.await_output(r"mass_deviation: [0-9.]+", 60.0)
