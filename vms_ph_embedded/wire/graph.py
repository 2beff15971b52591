# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The ROS graph: endpoints from DDS discovery, and node names from the ROS discovery topic."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from cyclonedds.builtin import (
    BuiltinDataReader,
    BuiltinTopicDcpsPublication,
    BuiltinTopicDcpsSubscription,
)
from cyclonedds.core import InstanceState, Policy, Qos, ReadCondition, SampleState, ViewState

from vms_ph_embedded.interfaces.messages import DecodingError, deserialize, message_class, serialize
from vms_ph_embedded.wire import interrupts, names
from vms_ph_embedded.wire.participant import Participant, type_hash_data

_INFO_TYPE = "rmw_dds_common/msg/ParticipantEntitiesInfo"
_INFO_TOPIC = "ros_discovery_info"
_UNREAD = SampleState.NotRead | ViewState.Any | InstanceState.Alive
_DISPOSED = (
    SampleState.Any
    | ViewState.Any
    | InstanceState.NotAliveDisposed
    | InstanceState.NotAliveNoWriters
)
_MAX_SAMPLES = 128  # what Cyclone makes room for in one go

NamesAndTypes = list[tuple[str, list[str]]]


@dataclass
class NodeEntry:
    """A node and the identities of its endpoints."""

    name: str
    namespace: str
    readers: list[bytes] = field(default_factory=list)
    writers: list[bytes] = field(default_factory=list)


class Graph:
    """All nodes and endpoints known to a participant, its own included."""

    def __init__(self, participant: Participant) -> None:
        self._publications = _Endpoints(participant.entity, BuiltinTopicDcpsPublication)
        self._subscriptions = _Endpoints(participant.entity, BuiltinTopicDcpsSubscription)
        self._message_type = message_class(_INFO_TYPE)
        policies = (
            Policy.Reliability.Reliable(0),
            Policy.Durability.TransientLocal,
            Policy.DataRepresentation(use_cdrv0_representation=True),
            Policy.Userdata(type_hash_data(_INFO_TYPE).encode()),
        )
        self._writer = participant.writer(
            _INFO_TOPIC,
            _INFO_TYPE,
            Qos(
                *policies,
                Policy.History.KeepLast(1),
                Policy.DurabilityService(0, Policy.History.KeepLast(1), -1, -1, -1),
            ),
        )
        # The type has no key, so a history of one would hold one participant's message only.
        self._reader = participant.reader(
            _INFO_TOPIC, _INFO_TYPE, Qos(*policies, Policy.History.KeepAll)
        )
        self.condition = self._reader.condition
        self._gid = participant.gid
        self._local_nodes: list[NodeEntry] = []
        self._remote_nodes: dict[bytes, list[NodeEntry]] = {}
        self._lock = threading.Lock()

    # Sent to the other participants

    def add_node(self, node: NodeEntry) -> None:
        """Announce a node of this participant."""
        with self._lock:
            self._local_nodes.append(node)
        self.announce()

    def remove_node(self, node: NodeEntry) -> None:
        """Withdraw a node of this participant."""
        with self._lock:
            self._local_nodes.remove(node)
        self.announce()

    def announce(self) -> None:
        """Publish the nodes and endpoints of this participant."""
        gid_type = message_class("rmw_dds_common/msg/Gid")
        node_type = message_class("rmw_dds_common/msg/NodeEntitiesInfo")
        with self._lock:
            message = self._message_type(
                gid=gid_type(data=list(self._gid)),
                node_entities_info_seq=[
                    node_type(
                        node_namespace=node.namespace,
                        node_name=node.name,
                        reader_gid_seq=[gid_type(data=list(reader)) for reader in node.readers],
                        writer_gid_seq=[gid_type(data=list(writer)) for writer in node.writers],
                    )
                    for node in self._local_nodes
                ],
            )
            self._writer.write(serialize(message))

    # Received from the other participants

    def update(self) -> None:
        """Read the messages of other participants since the last call."""
        with self._lock:
            while (sample := self._reader.take()) is not None:
                try:
                    message = deserialize(sample[0], self._message_type)
                except DecodingError:
                    continue  # of a participant that is no ROS 2: its nodes stay unknown
                self._remote_nodes[message.gid.data.tobytes()] = [
                    NodeEntry(
                        info.node_name,
                        info.node_namespace,
                        [g.data.tobytes() for g in info.reader_gid_seq],
                        [g.data.tobytes() for g in info.writer_gid_seq],
                    )
                    for info in message.node_entities_info_seq
                ]
            # Every participant of a node has a writer, of this topic if of nothing else.
            alive_gids = {writer.participant_key.bytes for writer in self._publications.all()}
            self._subscriptions.all()  # so that what has gone does not pile up there
            for gid in self._remote_nodes.keys() - (alive_gids - {self._gid}):
                del self._remote_nodes[gid]

    def update_if_changed(self) -> None:
        """Read the messages of other participants, if there are any."""
        if self.condition.triggered:
            self.update()

    def nodes(self) -> list[NodeEntry]:
        """All nodes, this participant's first."""
        self.update()
        with self._lock:
            return [
                *self._local_nodes,
                *(node for nodes in self._remote_nodes.values() for node in nodes),
            ]

    def publications(self) -> list[Any]:
        """All writers that DDS knows of."""
        return self._publications.all()

    def subscriptions(self) -> list[Any]:
        """All readers that DDS knows of."""
        return self._subscriptions.all()

    def topics(self, gids: set[bytes] | None = None) -> NamesAndTypes:
        """The topics with their types; of some endpoints only when their identities are given."""
        types_by_name = defaultdict(set)
        for endpoint in (*self.publications(), *self.subscriptions()):
            name = names.ros_topic(endpoint.topic_name)
            if name is not None and (gids is None or endpoint.key.bytes in gids):
                types_by_name[name].add(names.ros_type(endpoint.type_name))
        return _sorted_types(types_by_name)

    def services(self, gids: set[bytes] | None = None, *, requests: bool = False) -> NamesAndTypes:
        """The services with their types; of some endpoints only when their identities are given.

        With `requests` only endpoints that carry requests count: the reader of a server, the
        writer of a client.
        """
        types_by_name = defaultdict(set)
        for endpoint in (*self.publications(), *self.subscriptions()):
            name = names.ros_service(endpoint.topic_name)
            if name is None or (gids is not None and endpoint.key.bytes not in gids):
                continue
            if not requests or endpoint.topic_name.startswith(f"{names.REQUEST_PREFIX}/"):
                types_by_name[name].add(names.ros_service_type(endpoint.type_name))
        return _sorted_types(types_by_name)


class _Endpoints:
    """The living writers, or readers, that DDS has discovered."""

    def __init__(self, participant: Any, builtin_topic: Any) -> None:
        self._reader = BuiltinDataReader(participant, builtin_topic)
        self._unread_condition = ReadCondition(self._reader, _UNREAD)
        self._disposed_condition = ReadCondition(self._reader, _DISPOSED)
        self._endpoints: dict[bytes, Any] = {}
        self._lock = threading.Lock()

    def all(self) -> list[Any]:
        # Each is read once: to read it is slow, and Cyclone's Python binding loses the memory of
        # the user data of every one that it reads.
        with self._lock:
            if self._unread_condition.triggered or self._disposed_condition.triggered:
                with interrupts.deferred():
                    self._update()
            return list(self._endpoints.values())

    def _update(self) -> None:
        while samples := self._reader.take(_MAX_SAMPLES, self._unread_condition):
            self._endpoints.update({endpoint.key.bytes: endpoint for endpoint in samples})
        while samples := self._reader.take(_MAX_SAMPLES, self._disposed_condition):
            for endpoint in samples:
                self._endpoints.pop(endpoint.key.bytes, None)


def _sorted_types(types_by_name: dict[str, set[str]]) -> NamesAndTypes:
    return [(name, sorted(types_by_name[name])) for name in sorted(types_by_name)]
