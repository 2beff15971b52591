# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Messages as bytes."""

from __future__ import annotations

from typing import Any

from rclpy.type_support import check_for_type_support

from vms_ph_embedded.interfaces.messages import deserialize, serialize


def serialize_message(message: Any) -> bytes:
    """The CDR bytes of a message."""
    check_for_type_support(type(message))
    return serialize(message)


def deserialize_message(serialized_message: bytes, message_type: Any) -> Any:
    """The message of a type that CDR bytes hold."""
    check_for_type_support(message_type)
    return deserialize(serialized_message, message_type)
