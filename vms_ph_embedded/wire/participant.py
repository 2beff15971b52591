# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""One DDS participant for each ROS context, and the writers and readers that it hands out."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

from cyclonedds.core import (
    DDSException,
    DDSStatus,
    Entity,
    GuardCondition,
    InstanceState,
    Policy,
    Qos,
    ReadCondition,
    SampleState,
    ViewState,
)
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.pub import Publisher as WriterGroup
from cyclonedds.sub import DataReader
from cyclonedds.sub import Subscriber as ReaderGroup
from cyclonedds.topic import Topic

from vms_ph_embedded import discovery
from vms_ph_embedded.interfaces import idl, store
from vms_ph_embedded.wire import interrupts
from vms_ph_embedded.wire.loopback import sockets_on_loopback

UNREAD = SampleState.NotRead | ViewState.Any | InstanceState.Any

_domains: dict[int, tuple[Any, int]] = {}  # domain id -> (Domain, participants in it)
_domains_lock = threading.Lock()


class _Endpoint:
    """A writer or reader, with the identities of those on the other side."""

    def __init__(self, topic: Topic[Any], entity: Any, peer_data: Callable[[int], Any]) -> None:
        self._topic, self.entity, self._peer_data = topic, entity, peer_data
        self._peer_gids: dict[int, bytes] = {}  # each is read once: the binding leaks what it reads
        self.gid = entity.guid.bytes

    def peer_gid(self, handle: int) -> bytes:
        """The identity of a matched reader or writer; empty when it has gone."""
        if handle not in self._peer_gids:
            with interrupts.deferred():
                peer = self._peer_data(handle)
            self._peer_gids[handle] = b"" if peer is None else peer.key.bytes
        return self._peer_gids[handle]


class Writer(_Endpoint):
    """Writes CDR bytes to a topic."""

    def __init__(self, group: WriterGroup, topic: Topic[Any], qos: Qos) -> None:
        entity = DataWriter(group, topic, qos)
        entity.status_mask = DDSStatus.PublicationMatched
        super().__init__(topic, entity, entity.get_matched_subscription_data)
        self._sample_type = topic.data_type

    def write(self, data: bytes) -> bool:
        """Write a sample; False when a reliable reader kept it waiting for too long."""
        try:
            self.entity.write(self._sample_type(data))
        except DDSException as error:
            if error.code == DDSException.DDS_RETCODE_TIMEOUT:
                return False
            raise
        return True

    def matches(self) -> list[int]:
        """The handles of the readers that match."""
        return self.entity.get_matched_subscriptions()

    def close(self) -> None:
        """Leave the topic."""
        delete(self.entity)


class Reader(_Endpoint):
    """Takes CDR bytes from a topic."""

    def __init__(self, group: ReaderGroup, topic: Topic[Any], qos: Qos) -> None:
        entity = DataReader(group, topic, qos)
        entity.status_mask = DDSStatus.SubscriptionMatched
        super().__init__(topic, entity, entity.get_matched_publication_data)
        self.condition = ReadCondition(entity, UNREAD)

    def take(self) -> tuple[bytes, Any] | None:
        """The next sample as bytes, with Cyclone's sample information; None when there is none."""
        while samples := self.entity.take(1, self.condition):
            # A sample without data only says that a writer has gone.
            if samples[0].sample_info.valid_data:
                return samples[0].data, samples[0].sample_info
        return None

    def has_data(self) -> bool:
        """Whether there is something to take."""
        return self.condition.triggered

    def matches(self) -> list[int]:
        """The handles of the writers that match."""
        return self.entity.get_matched_publications()

    def close(self) -> None:
        """Leave the topic."""
        delete(self.condition)
        delete(self.entity)


class Participant:
    """A DDS participant with the settings ROS expects."""

    def __init__(self, domain_id: int) -> None:
        self.domain_id = domain_id
        try:
            _enter_domain(domain_id)
        except DDSException as error:
            raise _cannot_join(domain_id) from error
        try:
            self.entity = DomainParticipant(domain_id, qos=Qos(Policy.Userdata(b"enclave=/;")))
            self._writer_group = WriterGroup(self.entity)
            self._reader_group = ReaderGroup(self.entity)
        except DDSException as error:
            _leave_domain(domain_id)
            raise _cannot_join(domain_id) from error
        self._topics: WeakValueDictionary[tuple[str, str], Topic[Any]] = WeakValueDictionary()
        self.gid = self.entity.guid.bytes

    def writer(self, dds_topic: str, typename: str, qos: Qos) -> Writer:
        """A writer for an interface type on a DDS topic."""
        return Writer(self._writer_group, self._topic(dds_topic, typename), qos)

    def reader(self, dds_topic: str, typename: str, qos: Qos) -> Reader:
        """A reader for an interface type on a DDS topic."""
        return Reader(self._reader_group, self._topic(dds_topic, typename), qos)

    def guard_condition(self) -> GuardCondition:
        """A condition that any thread can trigger."""
        return GuardCondition(self.entity)

    def close(self) -> None:
        """Leave the domain; everything made here goes with it."""
        delete(self.entity)
        _leave_domain(self.domain_id)

    def _topic(self, dds_topic: str, typename: str) -> Topic[Any]:
        key = (dds_topic, typename)
        topic = self._topics.get(key)
        if topic is None:
            topic = self._topics[key] = Topic(self.entity, dds_topic, idl.dds_type(typename))
        return topic


def delete(entity: Entity) -> None:
    """Delete an entity with all its children now, even if its Python object is still referenced."""
    entity.__del__()


def type_hash_data(typename: str) -> str:
    """The user data by which an endpoint shows the hash of its type."""
    return f"typehash={store.type_hash(typename)};"


def _cannot_join(domain_id: int) -> discovery.DiscoveryError:
    uri = os.environ.get("CYCLONEDDS_URI")
    hint = f"check CYCLONEDDS_URI={uri!r}" if uri else "no participant is left in it, or no network"
    return discovery.DiscoveryError(
        f"DDS domain {domain_id} cannot be joined: {hint} (Cyclone DDS may have said why above)."
    )


def _enter_domain(domain_id: int) -> None:
    with _domains_lock:
        domain, user_count = _domains.get(domain_id, (None, 0))
        config = discovery.joining_configuration(domain_id)
        if not user_count and config is not None:
            is_local = discovery.configuration(domain_id) is not None
            # Otherwise the process may have joined without us; what is wrong fails below.
            with sockets_on_loopback() if is_local else suppress(DDSException):
                domain = Domain(domain_id, config)
        _domains[domain_id] = (domain, user_count + 1)


def _leave_domain(domain_id: int) -> None:
    with _domains_lock:
        domain, user_count = _domains.pop(domain_id)
        if user_count > 1:
            _domains[domain_id] = (domain, user_count - 1)
