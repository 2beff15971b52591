"""DDS discovery: the domain and configuration that the environment sets.

CYCLONEDDS_URI wins. Otherwise ROS_AUTOMATIC_DISCOVERY_RANGE decides, and where ROS 2 would take the
subnet, LOCALHOST is used here: a demo on a laptop should not reach other machines, and it works
in sandboxes without multicast.
"""

from __future__ import annotations

import os
import shlex

from vms_ph_dynamics.errors import VmsPhError

RANGES = ("LOCALHOST", "SUBNET", "OFF", "SYSTEM_DEFAULT")
_LAST_DOMAIN = 232  # the largest whose ports exist
_FIRST_PORT, _LAST_PORT, _PORTS = 7410, 65535, 250  # of unicast; so many belong to a domain
_PARTICIPANTS = 119  # whose ports fit into those of a domain

_LOOPBACK = """<CycloneDDS><Domain Id="{domain}"><General><AllowMulticast>false</AllowMulticast>\
<Interfaces><NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces></General>\
<Discovery><ParticipantIndex>auto</ParticipantIndex>\
<MaxAutoParticipantIndex>{last}</MaxAutoParticipantIndex>{peers}{tag}</Discovery></Domain></CycloneDDS>"""


class DiscoveryError(VmsPhError, RuntimeError):
    """The environment asks for a domain or a discovery range that does not exist."""


def domain_id() -> int:
    """The DDS domain that ROS_DOMAIN_ID names; 0 when it is unset."""
    text = os.environ.get("ROS_DOMAIN_ID", "").strip() or "0"
    if not text.isdecimal() or int(text) > _LAST_DOMAIN:
        raise DiscoveryError(
            f"ROS_DOMAIN_ID={text!r} is not a domain: give a whole number from 0 to {_LAST_DOMAIN}."
        )
    return int(text)


def discovery_range() -> str:
    """The value of ROS_AUTOMATIC_DISCOVERY_RANGE; LOCALHOST when it is unset."""
    text = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").strip() or "LOCALHOST"
    if text.upper() not in RANGES:
        raise DiscoveryError(
            f"ROS_AUTOMATIC_DISCOVERY_RANGE={text!r} is not a range: "
            f"give one of {', '.join(RANGES)}."
        )
    return text.upper()


def configuration(domain: int) -> str | None:
    """The Cyclone DDS configuration to use, or None to let Cyclone find its own."""
    if os.environ.get("CYCLONEDDS_URI"):
        return None
    within = discovery_range()
    if within in ("SUBNET", "SYSTEM_DEFAULT"):
        return None
    # Without multicast, participants are looked for at the ports of every index up to the last.
    last = min(_PARTICIPANTS, (_LAST_PORT - _FIRST_PORT - _PORTS * domain) // 2)
    peers = '<Peers><Peer address="127.0.0.1"/></Peers>'
    # With a tag only participants with the same one find each other: this process alone.
    tag = f"<Tag>off_{os.getpid()}</Tag>" if within == "OFF" else ""
    return _LOOPBACK.format(domain=domain or "any", last=last, peers="" if tag else peers, tag=tag)


def export_line() -> str:
    """The shell line by which another terminal, or any Cyclone DDS program, joins us."""
    domain = domain_id()
    uri = os.environ.get("CYCLONEDDS_URI") or configuration(domain)
    words = [f"ROS_DOMAIN_ID={domain}"]
    if not os.environ.get("CYCLONEDDS_URI"):
        words.append(f"ROS_AUTOMATIC_DISCOVERY_RANGE={discovery_range()}")
    if uri:
        words.append(f"CYCLONEDDS_URI={shlex.quote(uri)}")
    return f"export {' '.join(words)}"
