# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds of clocks."""

from enum import IntEnum


class ClockType(IntEnum):
    """The kind of time of a clock."""

    UNINITIALIZED = 0
    ROS_TIME = 1
    SYSTEM_TIME = 2
    STEADY_TIME = 3
