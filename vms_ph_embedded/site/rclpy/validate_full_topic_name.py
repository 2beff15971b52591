# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a topic or service may have an absolute name."""

from rclpy.exceptions import InvalidServiceNameException, InvalidTopicNameException

from vms_ph_embedded import ros_names


def validate_full_topic_name(name: str, *, is_service: bool = False) -> bool:
    """True, or InvalidTopicNameException, or InvalidServiceNameException."""
    fault = ros_names.fault_in_full_topic_name(name)
    if fault is not None:
        error = InvalidServiceNameException if is_service else InvalidTopicNameException
        raise error(name, *fault)
    return True
