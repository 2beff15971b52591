# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Noticing peers that do not match for their quality of service."""

from __future__ import annotations

from cyclonedds.core import DDSStatus

from vms_ph_embedded.wire.participant import Reader, Writer

_POLICY_NAMES = {
    2: "DURABILITY",
    4: "DEADLINE",
    8: "LIVELINESS",
    11: "RELIABILITY",
    21: "LIFESPAN",
    23: "DATA_REPRESENTATION",
}


def watch(endpoint: Reader | Writer) -> None:
    """Make an endpoint trigger in a wait set for such a peer and for nothing else."""
    is_reader = isinstance(endpoint, Reader)
    endpoint.entity.status_mask = (
        DDSStatus.RequestedIncompatibleQos if is_reader else DDSStatus.OfferedIncompatibleQos
    )


def take_policy(endpoint: Reader | Writer) -> str | None:
    """The policy for which the last such peer did not match, if there was one since last time."""
    role = "requested" if isinstance(endpoint, Reader) else "offered"
    status = getattr(endpoint.entity, f"get_{role}_incompatible_qos_status")()
    if not status.total_count_change:
        return None
    return _POLICY_NAMES.get(status.last_policy_id, f"number {status.last_policy_id}")
