# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a node may have a name."""

from rclpy.exceptions import InvalidNodeNameException

from vms_ph_embedded import ros_names


def validate_node_name(node_name: str) -> bool:
    """True, or InvalidNodeNameException."""
    fault = ros_names.fault_in_node_name(node_name)
    if fault is not None:
        raise InvalidNodeNameException(node_name, *fault)
    return True
