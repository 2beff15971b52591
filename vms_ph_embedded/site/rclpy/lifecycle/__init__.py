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

"""Managed nodes: their states, the transitions between them, and the services that ask for them."""

from rclpy.lifecycle._publisher import LifecyclePublisher, ManagedEntity, SimpleManagedEntity
from rclpy.lifecycle._states import LifecycleState, TransitionCallbackReturn
from rclpy.lifecycle.node import LifecycleNode, LifecycleNodeMixin

from vms_ph_embedded import subset

# The names that ROS 2 gives them too.
Node, NodeMixin = LifecycleNode, LifecycleNodeMixin
State, Publisher = LifecycleState, LifecyclePublisher

__all__ = [
    "LifecycleNode",
    "LifecycleNodeMixin",
    "LifecyclePublisher",
    "LifecycleState",
    "ManagedEntity",
    "Node",
    "NodeMixin",
    "Publisher",
    "SimpleManagedEntity",
    "State",
    "TransitionCallbackReturn",
]
__getattr__ = subset.missing_from(__name__)
