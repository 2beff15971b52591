# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a namespace may have a name."""

from rclpy import _names
from rclpy.exceptions import InvalidNamespaceException


def validate_namespace(namespace: str) -> bool:
    """True, or InvalidNamespaceException."""
    fault = _names.fault_in_namespace(namespace)
    if fault is not None:
        raise InvalidNamespaceException(namespace, *fault)
    return True
