# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Queries of a node about the ROS graph."""

from __future__ import annotations

from typing import Any

from rclpy._valid_names import full_name
from rclpy.duration import Duration
from rclpy.exceptions import RCLError
from rclpy.qos import _DEFAULTS, QoSProfile
from rclpy.topic_endpoint_info import TopicEndpointInfo, TopicEndpointTypeEnum

from vms_ph_embedded.wire import names
from vms_ph_embedded.wire.graph import Graph, NamesAndTypes, NodeEntry
from vms_ph_embedded.wire.qos import from_cyclone, user_data


class NodeNameNonExistentError(RCLError):
    """Raised when there is no node of a name."""


class NodeGraph:
    """Queries of a node about the ROS graph."""

    _ros_graph: Graph

    def get_name(self) -> str:
        """The name of this node."""
        raise NotImplementedError

    def get_namespace(self) -> str:
        """The namespace of this node."""
        raise NotImplementedError

    def get_node_names(self) -> list[str]:
        """The names of all nodes."""
        return [node.name for node in self._ros_graph.nodes()]

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        """The names and namespaces of all nodes."""
        return [(node.name, node.namespace) for node in self._ros_graph.nodes()]

    def get_topic_names_and_types(self) -> NamesAndTypes:
        """All topics with their types."""
        return self._ros_graph.topics()

    def get_service_names_and_types(self) -> NamesAndTypes:
        """All services with their types."""
        return self._ros_graph.services()

    def get_publisher_names_and_types_by_node(
        self, node_name: str, node_namespace: str
    ) -> NamesAndTypes:
        """The topics that a node publishes, with types."""
        node = self._ros_find_node(node_name, node_namespace)
        return self._ros_graph.topics(set(node.writers))

    def get_subscriber_names_and_types_by_node(
        self, node_name: str, node_namespace: str
    ) -> NamesAndTypes:
        """The topics that a node subscribes to, with types."""
        node = self._ros_find_node(node_name, node_namespace)
        return self._ros_graph.topics(set(node.readers))

    def get_service_names_and_types_by_node(
        self, node_name: str, node_namespace: str
    ) -> NamesAndTypes:
        """The services that a node offers, with types."""
        node = self._ros_find_node(node_name, node_namespace)
        return self._ros_graph.services(set(node.readers), requests=True)

    def get_client_names_and_types_by_node(
        self, node_name: str, node_namespace: str
    ) -> NamesAndTypes:
        """The services for which a node has clients."""
        node = self._ros_find_node(node_name, node_namespace)
        return self._ros_graph.services(set(node.writers), requests=True)

    def count_publishers(self, topic_name: str) -> int:
        """Number of publishers of a topic; the name is not remapped."""
        dds_topic = self._ros_dds_topic(topic_name)
        return sum(endpoint.topic_name == dds_topic for endpoint in self._ros_graph.publications())

    def count_subscribers(self, topic_name: str) -> int:
        """Number of subscriptions of a topic; the name is not remapped."""
        dds_topic = self._ros_dds_topic(topic_name)
        return sum(endpoint.topic_name == dds_topic for endpoint in self._ros_graph.subscriptions())

    def get_publishers_info_by_topic(self, topic_name: str) -> list[TopicEndpointInfo]:
        """All publishers of a topic."""
        endpoints = self._ros_graph.publications()
        return self._ros_endpoint_infos(endpoints, topic_name, TopicEndpointTypeEnum.PUBLISHER)

    def get_subscriptions_info_by_topic(self, topic_name: str) -> list[TopicEndpointInfo]:
        """All subscriptions of a topic."""
        endpoints = self._ros_graph.subscriptions()
        return self._ros_endpoint_infos(endpoints, topic_name, TopicEndpointTypeEnum.SUBSCRIPTION)

    def _ros_dds_topic(self, topic_name: str) -> str:
        return names.topic(full_name(topic_name, self.get_name(), self.get_namespace()))

    def _ros_find_node(self, name: str, namespace: str) -> NodeEntry:
        for node in self._ros_graph.nodes():
            if (node.name, node.namespace) == (name, namespace):
                return node
        raise NodeNameNonExistentError(
            f"Cannot get the topics of node '{namespace.rstrip('/')}/{name}': it does not exist"
        )

    def _ros_endpoint_infos(
        self, endpoints: list[Any], topic_name: str, kind: TopicEndpointTypeEnum
    ) -> list[TopicEndpointInfo]:
        dds_topic = self._ros_dds_topic(topic_name)
        node_by_gid = {
            gid: node for node in self._ros_graph.nodes() for gid in (*node.readers, *node.writers)
        }
        unknown_node = NodeEntry("_NODE_NAME_UNKNOWN_", "_NODE_NAMESPACE_UNKNOWN_")
        infos = []
        for endpoint in endpoints:
            if endpoint.topic_name != dds_topic:
                continue
            node = node_by_gid.get(endpoint.key.bytes, unknown_node)
            infos.append(
                TopicEndpointInfo(
                    node_name=node.name,
                    node_namespace=node.namespace,
                    topic_type=names.ros_type(endpoint.type_name),
                    topic_type_hash=user_data(endpoint.qos).get("typehash", "INVALID"),
                    endpoint_type=kind,
                    endpoint_gid=list(endpoint.key.bytes),
                    qos_profile=_qos_profile(endpoint.qos),
                )
            )
        return infos


def _qos_profile(qos: Any) -> QoSProfile:
    policies = from_cyclone(qos)
    for name, value in policies.items():
        policy_type = type(_DEFAULTS[name])
        if isinstance(value, str):
            policies[name] = policy_type[value]
        elif policy_type is Duration:
            policies[name] = Duration(nanoseconds=value)
    return QoSProfile(**policies)
