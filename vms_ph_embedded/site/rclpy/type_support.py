# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a class is one of a message or of a service."""

from __future__ import annotations

from typing import Any

from vms_ph_embedded import subset
from vms_ph_embedded.interfaces.messages import MessageMeta, ServiceMeta

__getattr__ = subset.make_module_getattr(__name__)


def check_for_type_support(msg_or_srv_type: Any) -> None:
    """Raise AttributeError unless this is a class of messages or services."""
    if not isinstance(msg_or_srv_type, (MessageMeta, ServiceMeta)):
        raise AttributeError(
            f"{msg_or_srv_type!r} is no ROS 2 type. This might be a ROS 1 message type but it "
            "should be a ROS 2 message type."
        )


def check_is_valid_msg_type(msg_type: Any) -> None:
    """Raise unless this is a class of messages."""
    check_for_type_support(msg_type)
    if not isinstance(msg_type, MessageMeta):
        raise RuntimeError(
            f"The message type provided is not valid ({msg_type}),"
            " this might be a service or action"
        )


def check_is_valid_srv_type(srv_type: Any) -> None:
    """Raise unless this is a class of services."""
    check_for_type_support(srv_type)
    if not isinstance(srv_type, ServiceMeta):
        raise RuntimeError(
            f"The service type provided is not valid ({srv_type}),"
            " this might be a message or action"
        )
