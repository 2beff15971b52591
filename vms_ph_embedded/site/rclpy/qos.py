# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Quality of service: how messages are kept and delivered."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from rclpy.duration import Duration

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)


class InvalidQoSProfileException(Exception):
    """Raised when the arguments of a QoSProfile do not go together."""

    def __init__(self, *args: object) -> None:
        super().__init__("Invalid QoSProfile", *args)


class HistoryPolicy(IntEnum):
    """Number of messages to keep."""

    SYSTEM_DEFAULT = 0
    KEEP_LAST = 1
    KEEP_ALL = 2
    UNKNOWN = 3


class ReliabilityPolicy(IntEnum):
    """Whether a lost message is sent again."""

    SYSTEM_DEFAULT = 0
    RELIABLE = 1
    BEST_EFFORT = 2
    UNKNOWN = 3
    BEST_AVAILABLE = 4


class DurabilityPolicy(IntEnum):
    """Whether a late subscription gets what was published before."""

    SYSTEM_DEFAULT = 0
    TRANSIENT_LOCAL = 1
    VOLATILE = 2
    UNKNOWN = 3
    BEST_AVAILABLE = 4


class LivelinessPolicy(IntEnum):
    """The liveliness policy of a publisher."""

    SYSTEM_DEFAULT = 0
    AUTOMATIC = 1
    MANUAL_BY_TOPIC = 3
    UNKNOWN = 4
    BEST_AVAILABLE = 5


QoSHistoryPolicy = HistoryPolicy
QoSReliabilityPolicy = ReliabilityPolicy
QoSDurabilityPolicy = DurabilityPolicy
QoSLivelinessPolicy = LivelinessPolicy

_UNSPECIFIED = Duration()
_DEFAULTS: dict[str, Any] = {
    "history": HistoryPolicy.KEEP_LAST,
    "depth": 10,
    "reliability": ReliabilityPolicy.RELIABLE,
    "durability": DurabilityPolicy.VOLATILE,
    "lifespan": _UNSPECIFIED,
    "deadline": _UNSPECIFIED,
    "liveliness": LivelinessPolicy.SYSTEM_DEFAULT,
    "liveliness_lease_duration": _UNSPECIFIED,
    "avoid_ros_namespace_conventions": False,
}


class QoSProfile:
    """The policies of a publisher, subscription, service or client."""

    history: HistoryPolicy
    depth: int
    reliability: ReliabilityPolicy
    durability: DurabilityPolicy
    lifespan: Duration
    deadline: Duration
    liveliness: LivelinessPolicy
    liveliness_lease_duration: Duration
    avoid_ros_namespace_conventions: bool

    __slots__ = tuple(f"_{name}" for name in _DEFAULTS)

    def __init__(self, **kwargs: Any) -> None:
        if unknown := kwargs.keys() - _DEFAULTS.keys():
            raise TypeError(f"{sorted(unknown)} are no policies: give some of {[*_DEFAULTS]}")
        if "history" not in kwargs:
            if "depth" not in kwargs:
                raise InvalidQoSProfileException("History and/or depth settings are required.")
        elif kwargs["history"] == HistoryPolicy.KEEP_LAST and "depth" not in kwargs:
            raise InvalidQoSProfileException("History set to KEEP_LAST without a depth setting.")
        for name, default in _DEFAULTS.items():
            setattr(self, name, kwargs.get(name, default))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QoSProfile):
            return False
        return all(getattr(self, slot) == getattr(other, slot) for slot in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        values = ", ".join(f"{slot[1:]}={getattr(self, slot)}" for slot in self.__slots__)
        return f"{type(self).__name__}({values})"


def _policy_property(name: str) -> property:
    slot, policy_type = f"_{name}", type(_DEFAULTS[name])
    is_enum = issubclass(policy_type, IntEnum)  # of which numbers are accepted too

    def get(self: QoSProfile) -> Any:
        return getattr(self, slot)

    def set_(self: QoSProfile, value: Any) -> None:
        if not isinstance(value, int if is_enum else policy_type):
            raise AssertionError(f"the policy {name} cannot be {value!r}")
        setattr(self, slot, policy_type(value) if is_enum else value)

    return property(get, set_, doc=f"The policy '{name}'.")


for _name in _DEFAULTS:
    setattr(QoSProfile, _name, _policy_property(_name))

qos_profile_default = QoSProfile(depth=10)
qos_profile_sensor_data = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
qos_profile_services_default = QoSProfile(depth=10)
qos_profile_parameters = QoSProfile(depth=1000)
qos_profile_parameter_events = QoSProfile(depth=1000)
