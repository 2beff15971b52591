# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
