# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a topic or service may have an absolute name."""

from rclpy import _names
from rclpy.exceptions import InvalidServiceNameException, InvalidTopicNameException


def validate_full_topic_name(name: str, *, is_service: bool = False) -> bool:
    """True, or InvalidTopicNameException, or InvalidServiceNameException."""
    fault = _names.fault_in_full_topic_name(name)
    if fault is not None:
        error = InvalidServiceNameException if is_service else InvalidTopicNameException
        raise error(name, *fault)
    return True
