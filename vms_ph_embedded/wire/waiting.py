# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Waiting for DDS: conditions and entities that wake a thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cyclonedds.core import DDSException, Entity
from cyclonedds.core import WaitSet as _CycloneWaitSet
from cyclonedds.domain import DomainParticipant

from vms_ph_embedded.wire.participant import delete

FOREVER = 2**63 - 1


class WaitSet:
    """A wait set whose members may be deleted while they are in it."""

    def __init__(self, participant: DomainParticipant) -> None:
        self._participant = participant
        self._wait_set = _CycloneWaitSet(participant)
        self._members: dict[int, Any] = {}

    def watch(self, members: Iterable[Entity]) -> None:
        """Wait for these, and for nothing else."""
        members_by_id = {id(member): member for member in members}
        if self._members.keys() - members_by_id.keys():
            # A member that was deleted can no longer be taken out, so start afresh.
            delete(self._wait_set)
            self._wait_set = _CycloneWaitSet(self._participant)
            self._members = {}
        for key in members_by_id.keys() - self._members.keys():
            try:
                self._wait_set.attach(members_by_id[key])
            except DDSException:
                del members_by_id[key]  # deleted in the meantime by another thread
        self._members = members_by_id

    def exclude(self, member: Entity) -> None:
        """Do not wait for a member until it is watched again."""
        if self._members.pop(id(member), None) is not None:
            self._wait_set.detach(member)

    def wait(self, timeout_ns: int) -> bool:
        """Wait until a member triggers; False when the time is over first."""
        try:
            return self._wait_set.wait(timeout_ns) > 0
        except DDSException:
            # The participant went away while we waited, which the caller will see for itself.
            return True

    def close(self) -> None:
        """Stop permanently."""
        delete(self._wait_set)
