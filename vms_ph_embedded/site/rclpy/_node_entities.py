# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Entities of a node: publishers, subscriptions, services, clients, timers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup
from rclpy.client import Client
from rclpy.clock import Clock
from rclpy.constants import S_TO_NS
from rclpy.context import Context
from rclpy.logging import RcutilsLogger
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, qos_profile_services_default
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rclpy.type_support import check_is_valid_msg_type, check_is_valid_srv_type

from vms_ph_embedded import subset
from vms_ph_embedded.interfaces.messages import DecodingError
from vms_ph_embedded.wire import mismatch, names
from vms_ph_embedded.wire.graph import NodeEntry
from vms_ph_embedded.wire.participant import Participant, type_hash_data
from vms_ph_embedded.wire.qos import to_cyclone


class NodeEntities:
    """Makes and destroys the entities of a node, and announces them to the graph."""

    _clock: Clock
    _logger: RcutilsLogger

    def __init__(self, context: Context, entry: NodeEntry) -> None:
        assert context._participant is not None  # it is initialised
        assert context._graph is not None
        self._context = context
        self._ros_participant: Participant = context._participant
        self._ros_graph = context._graph
        self._ros_node_entry = entry
        self._ros_is_announced = False
        self._ros_executor: Callable[[], Any] = lambda: None
        self._ros_undecoded: Counter[str] = Counter()
        self._default_callback_group = MutuallyExclusiveCallbackGroup()
        self._publishers: list[Publisher] = []
        self._subscriptions: list[Subscription] = []
        self._clients: list[Client] = []
        self._services: list[Service] = []
        self._timers: list[Timer] = []

    def resolve_topic_name(self, topic: str, *, only_expand: bool = False) -> str:
        """The full name of a topic, remapped unless only expanded."""
        raise NotImplementedError

    def resolve_service_name(self, service: str, *, only_expand: bool = False) -> str:
        """The full name of a service, remapped unless only expanded."""
        raise NotImplementedError

    @property
    def default_callback_group(self) -> CallbackGroup:
        """The callback group of what is made without one."""
        return self._default_callback_group

    @property
    def publishers(self) -> Iterator[Publisher]:
        """The publishers of this node."""
        yield from self._publishers

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """The subscriptions of this node."""
        yield from self._subscriptions

    @property
    def timers(self) -> Iterator[Timer]:
        """The timers of this node."""
        yield from self._timers

    def create_publisher(
        self,
        msg_type: Any,
        topic: str,
        qos_profile: QoSProfile | int,
        *,
        callback_group: CallbackGroup | None = None,
        event_callbacks: Any = None,
        qos_overriding_options: Any = None,
    ) -> Publisher:
        """Make a publisher of a topic."""
        _refuse_events("create_publisher", event_callbacks, qos_overriding_options)
        profile = _qos_profile(qos_profile)
        check_is_valid_msg_type(msg_type)
        name = self.resolve_topic_name(topic)
        writer = self._ros_writer(names.topic(name), msg_type, profile)
        mismatch.watch(writer)
        publisher = Publisher(writer, msg_type, topic, name, profile)
        self._publishers.append(publisher)
        self._ros_announce(writers=[writer.gid])
        self._wake_executor()
        return publisher

    def create_subscription(
        self,
        msg_type: Any,
        topic: str,
        callback: Callable[..., Any],
        qos_profile: QoSProfile | int,
        *,
        callback_group: CallbackGroup | None = None,
        event_callbacks: Any = None,
        qos_overriding_options: Any = None,
        raw: bool = False,
    ) -> Subscription:
        """Have a function called with every message of a topic, or with its bytes when raw."""
        _refuse_events("create_subscription", event_callbacks, qos_overriding_options)
        profile = _qos_profile(qos_profile)
        check_is_valid_msg_type(msg_type)
        group = callback_group or self._default_callback_group
        subscription = Subscription(self, msg_type, topic, callback, group, profile, raw)
        self._ros_add(self._subscriptions, subscription)
        self._ros_announce(readers=[subscription._reader.gid])
        return subscription

    def create_service(
        self,
        srv_type: Any,
        srv_name: str,
        callback: Callable[[Any, Any], Any],
        *,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> Service:
        """Answer the requests to a service by a function of request and response."""
        check_is_valid_srv_type(srv_type)
        group = callback_group or self._default_callback_group
        service = Service(self, srv_type, srv_name, callback, group, qos_profile)
        self._ros_add(self._services, service)
        self._ros_announce([service._reader.gid], [service._writer.gid])
        return service

    def create_client(
        self,
        srv_type: Any,
        srv_name: str,
        *,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> Client:
        """Make a client of a service."""
        check_is_valid_srv_type(srv_type)
        group = callback_group or self._default_callback_group
        client = Client(self, srv_type, srv_name, group, qos_profile)
        self._ros_add(self._clients, client)
        self._ros_announce([client._reader.gid], [client._writer.gid])
        return client

    def create_timer(
        self,
        timer_period_sec: float,
        callback: Callable[[], Any] | None,
        callback_group: CallbackGroup | None = None,
        clock: Clock | None = None,
        autostart: bool = True,
    ) -> Timer:
        """Have a function called at a fixed period."""
        timer = Timer(
            callback,
            callback_group or self._default_callback_group,
            int(float(timer_period_sec) * S_TO_NS),
            clock or self._clock,
            autostart=autostart,
        )
        timer._wake = self._ros_interrupt_executor
        self._ros_add(self._timers, timer)
        return timer

    def destroy_publisher(self, publisher: Publisher) -> bool:
        """Destroy a publisher; False when it is not this node's."""
        return self._ros_destroy(self._publishers, publisher)

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """Destroy a subscription; False when it is not this node's."""
        return self._ros_destroy(self._subscriptions, subscription)

    def destroy_service(self, service: Service) -> bool:
        """Destroy a service server; False when it is not this node's."""
        return self._ros_destroy(self._services, service)

    def destroy_client(self, client: Client) -> bool:
        """Destroy a service client; False when it is not this node's."""
        return self._ros_destroy(self._clients, client)

    def destroy_timer(self, timer: Timer) -> bool:
        """Destroy a timer; False when it is not this node's."""
        return self._ros_destroy(self._timers, timer)

    def _ros_count_undecodable(self, name: str, error: DecodingError) -> None:
        """Count a message or request that was dropped; warn of the first one of a topic."""
        self._ros_undecoded[name] += 1
        if self._ros_undecoded[name] == 1:
            self._logger.warning(
                f"dropped what came on {name}: {error}; further ones are counted, not reported"
            )

    def _ros_enter_graph(self) -> None:
        # All endpoints so far at once: the others need not hear of every one by itself.
        self._ros_is_announced = True
        self._ros_graph.add_node(self._ros_node_entry)

    def _ros_leave_graph(self) -> None:
        if self._ros_is_announced:
            self._ros_is_announced = False
            if self._context._is_joined():
                self._ros_graph.remove_node(self._ros_node_entry)
        for entities in (
            *(self._publishers, self._subscriptions, self._services),
            *(self._clients, self._timers),
        ):
            for entity in list(entities):
                self._ros_destroy(entities, entity)

    def _ros_add(self, entities: list[Any], entity: Any) -> None:
        entity.callback_group.add_entity(entity)
        entities.append(entity)
        self._wake_executor()

    def _ros_destroy(self, entities: list[Any], entity: Any) -> bool:
        if entity not in entities:
            return False
        entities.remove(entity)
        for endpoint in (getattr(entity, "_reader", None), getattr(entity, "_writer", None)):
            for gids in (self._ros_node_entry.readers, self._ros_node_entry.writers):
                if endpoint is not None and endpoint.gid in gids:
                    gids.remove(endpoint.gid)
        entity.destroy()
        self._wake_executor()
        self._ros_announce()
        return True

    def _ros_announce(self, readers: Sequence[bytes] = (), writers: Sequence[bytes] = ()) -> None:
        self._ros_node_entry.readers += readers
        self._ros_node_entry.writers += writers
        if self._ros_is_announced and self._context._is_joined():
            self._ros_graph.announce()

    def _ros_waiting_entities(self) -> list[Any]:
        """The entities that an executor waits for, besides timers."""
        return [*self._subscriptions, *self._clients, *self._services]

    def _ros_watched_endpoints(self) -> list[Any]:
        """What triggers in DDS when a peer comes with which an entity cannot communicate."""
        return [
            *(entity._reader.entity for entity in (*self._subscriptions, *self._services)),
            *(publisher._writer.entity for publisher in self._publishers),
        ]

    def _ros_warn_of_mismatches(self) -> None:
        for entity in (*self._subscriptions, *self._publishers):
            is_publisher = isinstance(entity, Publisher)
            policy = mismatch.take_policy(entity._writer if is_publisher else entity._reader)
            if policy is not None:
                peer, offers, message_way = (
                    ("subscription", "requesting", "sent to")
                    if is_publisher
                    else ("publisher", "offering", "received from")
                )
                self._logger.warning(
                    f"New {peer} discovered on topic '{entity.topic_name}', {offers} incompatible "
                    f"QoS. No messages will be {message_way} it. Last incompatible policy: {policy}"
                )
        for service in self._services:
            if (conflict := service._conflict_of_new_clients()) is not None:
                self._logger.warning(conflict)

    def _wake_executor(self) -> None:
        if (executor := self._ros_executor()) is not None:
            executor.wake()

    def _ros_interrupt_executor(self) -> None:
        if (executor := self._ros_executor()) is not None:
            executor._interrupt()

    def _ros_reader(self, topic: str, msg_type: Any, profile: QoSProfile, own_id: str = "") -> Any:
        typename = msg_type.__msgtype__
        qos = to_cyclone(profile, own_id + type_hash_data(typename))
        return self._ros_participant.reader(topic, typename, qos)

    def _ros_writer(self, topic: str, msg_type: Any, profile: QoSProfile, own_id: str = "") -> Any:
        typename = msg_type.__msgtype__
        qos = to_cyclone(profile, own_id + type_hash_data(typename))
        return self._ros_participant.writer(topic, typename, qos)


def _qos_profile(qos_or_depth: QoSProfile | int) -> QoSProfile:
    if isinstance(qos_or_depth, QoSProfile):
        return qos_or_depth
    if not isinstance(qos_or_depth, int):
        raise TypeError(f"Expected QoSProfile or int, but received {type(qos_or_depth)!r}")
    if qos_or_depth < 0:
        raise ValueError("history depth must be greater than or equal to zero")
    return QoSProfile(depth=qos_or_depth)


def _refuse_events(method: str, event_callbacks: Any, qos_overriding_options: Any) -> None:
    if event_callbacks is not None:
        subset.refuse(f"{method}(event_callbacks=...)")
    if qos_overriding_options is not None:
        subset.refuse(f"{method}(qos_overriding_options=...)")
