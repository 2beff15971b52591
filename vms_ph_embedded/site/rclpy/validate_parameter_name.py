# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a parameter may have a name."""

from rclpy.exceptions import InvalidParameterException


def validate_parameter_name(name: str) -> bool:
    """True, or InvalidParameterException."""
    if not name:
        raise InvalidParameterException(name)
    return True
