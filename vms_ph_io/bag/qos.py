# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The QoS profile that a recorded publisher offered, and its format in bags."""

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import yaml

from ..settings.bounded_text import YamlError, parse_yaml

_NANOSECONDS = 10**9

# The duration that ROS 2 writes for "no limit", in nanoseconds.
INFINITE = 2**63 - 1
_DURATIONS = ("deadline", "lifespan", "liveliness_lease_duration")


@dataclass(frozen=True, slots=True)
class QosProfile:
    """One offered profile; names and values are those of ``ros2 topic info --verbose``.

    Args:
        history: "keep_last" or "keep_all".
        depth: Depth of the history.
        reliability: "reliable" or "best_effort".
        durability: "volatile" or "transient_local".
        deadline: Deadline in nanoseconds.
        lifespan: Lifespan in nanoseconds.
        liveliness: "automatic" or "manual_by_topic".
        liveliness_lease_duration: Lease duration in nanoseconds.
    """

    history: str = "keep_last"
    depth: int = 10
    reliability: str = "reliable"
    durability: str = "volatile"
    deadline: int = INFINITE
    lifespan: int = INFINITE
    liveliness: str = "automatic"
    liveliness_lease_duration: int = INFINITE

    def as_dict(self) -> dict[str, Any]:
        """Return the profile in the order and format of version 9 of rosbag2."""
        entries = asdict(self)
        for name in _DURATIONS:
            seconds, rest = divmod(entries[name], _NANOSECONDS)
            entries[name] = {"sec": seconds, "nsec": rest}
        return {**entries, "avoid_ros_namespace_conventions": False}


def dump_profiles(profiles: Sequence[QosProfile]) -> str:
    """Return profiles as the text that a bag stores with a topic."""
    return yaml.safe_dump([profile.as_dict() for profile in profiles], sort_keys=False).rstrip("\n")


# Older versions of rosbag2 write numbers, which are indices of these names.
_NUMBERED: dict[str, tuple[str, ...]] = {
    "history": ("system_default", "keep_last", "keep_all", "unknown"),
    "reliability": ("system_default", "reliable", "best_effort", "unknown", "best_available"),
    "durability": ("system_default", "transient_local", "volatile", "unknown", "best_available"),
    "liveliness": (
        "system_default", "automatic", "manual_by_node", "manual_by_topic", "unknown",
        "best_available",
    ),
}  # fmt: skip


def parse_profiles(content: str | Sequence[Any]) -> tuple[QosProfile, ...]:
    """Return the profiles in a bag of any version; invalid ones are skipped.

    Invalid profiles do not prevent reading a bag.
    """
    try:
        items = _parsed(content) if isinstance(content, str) else content
        return tuple(_profile(item) for item in items or ())
    except (YamlError, LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return ()


# Cached, as most topics of a bag have equal profiles and YAML parsing is slow.
_parsed = functools.lru_cache(maxsize=256)(parse_yaml)


def _profile(item: Any) -> QosProfile:
    def entry(name: str) -> Any:
        value = item[name]
        if name in _DURATIONS:
            return min(int(value["sec"]) * _NANOSECONDS + int(value["nsec"]), INFINITE)
        if name == "depth":
            return int(value)
        return _NUMBERED[name][value] if isinstance(value, int) else str(value)

    return QosProfile(*(entry(field.name) for field in fields(QosProfile)))
