# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a namespace may have a name."""

from rclpy.exceptions import InvalidNamespaceException

from vms_ph_embedded import ros_names


def validate_namespace(namespace: str) -> bool:
    """True, or InvalidNamespaceException."""
    fault = ros_names.fault_in_namespace(namespace)
    if fault is not None:
        raise InvalidNamespaceException(namespace, *fault)
    return True
