# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Topics whose type is known by its name only."""

import re
from collections.abc import Sequence
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from vms_ph_dynamics import VmsPhError

_NAME_PATTERN = re.compile(r"[A-Za-z]\w*", re.ASCII)


def load_interface(name: str, kind: str) -> Any:
    """Return the class of a message or service by its name, package/Type or package/msg/Type.

    Args:
        name: name of the interface, for instance sensor_msgs/msg/JointState.
        kind: ``"msg"`` or ``"srv"``.

    Raises:
        VmsPhError: no such interface.
    """
    parts = name.split("/")
    if len(parts) == 2:
        parts.insert(1, kind)
    try:
        package, folder, type_name = parts
        # A name may come from the wire, and nothing but a package of messages is to be imported.
        if folder != kind or not all(_NAME_PATTERN.fullmatch(part) for part in parts):
            raise ValueError
        return getattr(__import__(f"{package}.{folder}", fromlist=[type_name]), type_name)
    except (ValueError, ImportError, AttributeError):
        example = "sensor_msgs/msg/JointState" if kind == "msg" else "std_srvs/srv/Trigger"
        raise VmsPhError(f"there is no interface '{name}'; give one like {example}") from None


def compatible_qos(offered_qos: Sequence[QoSProfile], depth: int) -> QoSProfile:
    """Return the profile of a subscription that asks only for what every publisher offers."""
    latched = bool(offered_qos) and all(
        q.durability == DurabilityPolicy.TRANSIENT_LOCAL for q in offered_qos
    )
    reliable = all(q.reliability == ReliabilityPolicy.RELIABLE for q in offered_qos)
    return qos_profile(depth, latched, reliable)


def qos_profile(depth: int, latched: bool, reliable: bool) -> QoSProfile:
    """Return a profile; a topic that is latched gives its last messages to who comes later."""
    return QoSProfile(
        depth=depth,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
    )
