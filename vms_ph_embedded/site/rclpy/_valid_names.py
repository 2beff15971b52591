# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Names that a node, its namespace, its topics and services may have."""

from __future__ import annotations

from rclpy.exceptions import (
    InvalidNamespaceException,
    InvalidNodeNameException,
    InvalidServiceNameException,
    InvalidTopicNameException,
)

from vms_ph_embedded import ros_names


def require_node_name(name: str, namespace: str) -> None:
    """Raise the exception of rclpy for a name or a namespace that no node may have."""
    if (fault := ros_names.fault_in_node_name(name)) is not None:
        raise InvalidNodeNameException(name, *fault)
    if (fault := ros_names.fault_in_namespace(namespace)) is not None:
        raise InvalidNamespaceException(namespace, *fault)


def full_name(name: str, node_name: str, namespace: str, *, is_service: bool = False) -> str:
    """The absolute name of a topic or service, which may be relative, private or a template.

    Raises:
        InvalidTopicNameException: the name is invalid; of a service, InvalidServiceNameException.
    """
    error = InvalidServiceNameException if is_service else InvalidTopicNameException
    if (fault := ros_names.fault_in_topic_name(name)) is not None:
        raise error(name, *fault)
    absolute_name = ros_names.expand(name, node_name, namespace)
    if (fault := ros_names.fault_in_full_topic_name(absolute_name)) is not None:
        raise error(absolute_name, *fault)
    return absolute_name
