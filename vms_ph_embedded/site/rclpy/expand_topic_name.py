# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Expansion of relative and private names to absolute ones."""

from rclpy import _names


def expand_topic_name(topic_name: str, node_name: str, node_namespace: str) -> str:
    """The absolute name of a topic for a node."""
    for fault in (
        _names.fault_in_topic_name(topic_name),
        _names.fault_in_node_name(node_name),
        _names.fault_in_namespace(node_namespace),
    ):
        if fault is not None:
            raise ValueError(fault[0])
    return _names.expand(topic_name, node_name, node_namespace)
