# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Expansion of relative and private names to absolute ones."""

from vms_ph_embedded import ros_names


def expand_topic_name(topic_name: str, node_name: str, node_namespace: str) -> str:
    """The absolute name of a topic for a node."""
    for fault in (
        ros_names.fault_in_topic_name(topic_name),
        ros_names.fault_in_node_name(node_name),
        ros_names.fault_in_namespace(node_namespace),
    ):
        if fault is not None:
            raise ValueError(fault[0])
    return ros_names.expand(topic_name, node_name, node_namespace)
