# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Managed nodes: their states, the transitions between them, and the services that ask for them."""

from rclpy.lifecycle._states import LifecycleState, TransitionCallbackReturn
from rclpy.lifecycle.node import LifecycleNode, LifecycleNodeMixin

from vms_ph_embedded import subset

# The names that ROS 2 gives them too.
Node, NodeMixin = LifecycleNode, LifecycleNodeMixin
State = LifecycleState

__all__ = [
    "LifecycleNode",
    "LifecycleNodeMixin",
    "LifecycleState",
    "Node",
    "NodeMixin",
    "State",
    "TransitionCallbackReturn",
]
__getattr__ = subset.make_module_getattr(__name__)
