# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""DDS discovery: the domain and configuration that the environment sets.

CYCLONEDDS_URI takes precedence over ROS_AUTOMATIC_DISCOVERY_RANGE. Where ROS 2 defaults to the
subnet, LOCALHOST is used here: a demo on a laptop should not reach other machines, and LOCALHOST
works in sandboxes without multicast.
"""

from __future__ import annotations

import os
import shlex

from vms_ph_dynamics import VmsPhError

RANGES = ("LOCALHOST", "SUBNET", "OFF", "SYSTEM_DEFAULT")
_MAX_DOMAIN = 232  # the largest domain with valid port numbers
# First and last unicast port, and number of ports per domain.
_FIRST_PORT, _LAST_PORT, _PORTS_PER_DOMAIN = 7410, 65535, 250
_MAX_PARTICIPANT = 119  # largest participant index whose ports are within the domain

_LOOPBACK = """<CycloneDDS><Domain Id="{domain}"><General><AllowMulticast>false</AllowMulticast>\
<Interfaces><NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces></General>\
<Discovery><ParticipantIndex>auto</ParticipantIndex>\
<MaxAutoParticipantIndex>{last}</MaxAutoParticipantIndex>{peers}{tag}</Discovery></Domain></CycloneDDS>"""
# Fast DDS 3 (vendor 1.15) describes types with flags that XTypes forbids. Cyclone DDS 11 refuses
# the description, and would match none of its topics; without one it compares the names of types.
_TYPES_OF_FAST_DDS = "<Compatibility><IgnoreTypeInformation>1.15</></>"


class DiscoveryError(VmsPhError, RuntimeError):
    """The environment sets an invalid domain or discovery range."""


def domain_id() -> int:
    """Return the DDS domain of ROS_DOMAIN_ID; 0 if it is unset."""
    text = os.environ.get("ROS_DOMAIN_ID", "").strip() or "0"
    if not text.isdecimal() or len(text) > 4 or int(text) > _MAX_DOMAIN:
        raise DiscoveryError(
            f"ROS_DOMAIN_ID={text!r} is not a domain: give a whole number from 0 to {_MAX_DOMAIN}."
        )
    return int(text)


def discovery_range() -> str:
    """Return the value of ROS_AUTOMATIC_DISCOVERY_RANGE; LOCALHOST if it is unset."""
    text = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").strip() or "LOCALHOST"
    if text.upper() not in RANGES:
        raise DiscoveryError(
            f"ROS_AUTOMATIC_DISCOVERY_RANGE={text!r} is not a range: "
            f"give one of {', '.join(RANGES)}."
        )
    return text.upper()


def configuration(domain: int) -> str | None:
    """Return the Cyclone DDS configuration, or None for Cyclone's default."""
    if os.environ.get("CYCLONEDDS_URI"):
        return None
    range_name = discovery_range()
    if range_name in ("SUBNET", "SYSTEM_DEFAULT"):
        return None
    # Without multicast, discovery uses the unicast ports of every participant index.
    last = min(_MAX_PARTICIPANT, (_LAST_PORT - _FIRST_PORT - _PORTS_PER_DOMAIN * domain) // 2)
    peers = '<Peers><Peer address="127.0.0.1"/></Peers>'
    # Only participants with the same tag discover each other: here, this process alone.
    tag = f"<Tag>off_{os.getpid()}</Tag>" if range_name == "OFF" else ""
    return _LOOPBACK.format(domain=domain or "any", last=last, peers="" if tag else peers, tag=tag)


def joining_configuration(domain: int) -> str | None:
    """Return the configuration with which this process joins; its last part takes precedence.

    None where CYCLONEDDS_URI has other than ASCII characters, which Cyclone alone can read.
    """
    range_or_user = configuration(domain) or os.environ.get("CYCLONEDDS_URI", "")
    return f"{_TYPES_OF_FAST_DDS},{range_or_user}" if range_or_user.isascii() else None


def export_line() -> str:
    """Return the shell line with which another Cyclone DDS program joins this domain."""
    domain = domain_id()
    uri = os.environ.get("CYCLONEDDS_URI") or configuration(domain)
    assignments = [f"ROS_DOMAIN_ID={domain}"]
    if not os.environ.get("CYCLONEDDS_URI"):
        assignments.append(f"ROS_AUTOMATIC_DISCOVERY_RANGE={discovery_range()}")
    if uri:
        assignments.append(f"CYCLONEDDS_URI={shlex.quote(uri)}")
    return f"export {' '.join(assignments)}"
