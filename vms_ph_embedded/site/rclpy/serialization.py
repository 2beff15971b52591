# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
