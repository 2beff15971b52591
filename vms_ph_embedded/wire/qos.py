# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""ROS quality-of-service profiles as Cyclone DDS knows them, and back."""

from __future__ import annotations

from typing import Any

from cyclonedds.core import Policy, Qos
from cyclonedds.util import duration

from vms_ph_embedded import subset

# A reliable writer whose peer does not acknowledge waits this long before it gives up on a sample.
# ROS waits without limit; Cyclone's Python binding waits with the interpreter's lock held.
_MAX_BLOCKING = duration(milliseconds=100)
_INFINITE = duration(infinite=True)
_UNLIMITED = -1
_UNSET = (0, 2**63 - 1)  # how ROS writes "no duration given" and "for ever"


def to_cyclone(profile: Any, user_data: str) -> Qos:
    """The policies of a writer or reader for an rclpy QoSProfile."""
    for policy in (profile.history, profile.reliability, profile.durability, profile.liveliness):
        if policy.name == "BEST_AVAILABLE":
            subset.refuse(f"{type(policy).__name__}.BEST_AVAILABLE")
        if policy.name == "UNKNOWN":
            raise RuntimeError(f"a QoS profile with an unknown policy cannot be used: {profile}")
    if profile.history.name == "KEEP_ALL":
        history = Policy.History.KeepAll
    else:
        history = Policy.History.KeepLast(max(profile.depth, 1))
    policies = [
        history,
        Policy.Reliability.BestEffort
        if profile.reliability.name == "BEST_EFFORT"
        else Policy.Reliability.Reliable(_MAX_BLOCKING),
        # Without this a peer that knows only the classic encoding never matches.
        Policy.DataRepresentation(use_cdrv0_representation=True),
        Policy.WriterDataLifecycle(autodispose=False),
        Policy.Userdata(user_data.encode()),
    ]
    if profile.durability.name == "TRANSIENT_LOCAL":
        policies += [
            Policy.Durability.TransientLocal,
            # What a late reader gets is governed by this policy, not by the history.
            Policy.DurabilityService(0, history, _UNLIMITED, _UNLIMITED, _UNLIMITED),
        ]
    if profile.lifespan.nanoseconds not in _UNSET:
        policies.append(Policy.Lifespan(profile.lifespan.nanoseconds))
    if profile.deadline.nanoseconds not in _UNSET:
        policies.append(Policy.Deadline(profile.deadline.nanoseconds))
    lease_duration = profile.liveliness_lease_duration.nanoseconds
    lease_duration = _INFINITE if lease_duration in _UNSET else lease_duration
    if profile.liveliness.name == "MANUAL_BY_TOPIC":
        policies.append(Policy.Liveliness.ManualByTopic(lease_duration))
    elif lease_duration != _INFINITE:
        policies.append(Policy.Liveliness.Automatic(lease_duration))
    return Qos(*policies)


def from_cyclone(qos: Qos) -> dict[str, Any]:
    """The policies of a discovered endpoint, as names and nanoseconds."""
    # Only what is not the DDS default travels in discovery, so absent means default.
    by_scope = {policy.__scope__: policy for policy in qos}
    history = by_scope.get("History", Policy.History.KeepLast(1))
    reliability = by_scope.get("Reliability", Policy.Reliability.BestEffort)
    durability = by_scope.get("Durability", Policy.Durability.Volatile)
    liveliness = by_scope.get("Liveliness", Policy.Liveliness.Automatic(_INFINITE))
    lifespan, deadline = by_scope.get("Lifespan"), by_scope.get("Deadline")
    is_manual = isinstance(liveliness, Policy.Liveliness.ManualByTopic)
    return {
        "history": "KEEP_ALL" if history is Policy.History.KeepAll else "KEEP_LAST",
        "depth": getattr(history, "depth", 0),
        "reliability": (
            "BEST_EFFORT" if reliability is Policy.Reliability.BestEffort else "RELIABLE"
        ),
        "durability": (
            "VOLATILE" if durability is Policy.Durability.Volatile else "TRANSIENT_LOCAL"
        ),
        "lifespan": lifespan.lifespan if lifespan else _INFINITE,
        "deadline": deadline.deadline if deadline else _INFINITE,
        "liveliness": "MANUAL_BY_TOPIC" if is_manual else "AUTOMATIC",
        "liveliness_lease_duration": liveliness.lease_duration,
    }


def user_data(qos: Qos) -> dict[str, str]:
    """The ``key=value;`` pairs that ROS writes into the user data of an entity."""
    for policy in qos:
        if isinstance(policy, Policy.Userdata):
            pairs = policy.data.decode(errors="replace").split(";")
            return dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    return {}
