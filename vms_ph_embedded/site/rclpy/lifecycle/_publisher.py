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

"""Entities that follow the state of a managed node."""

from __future__ import annotations

from typing import Any

from rclpy.lifecycle._states import LifecycleState, TransitionCallbackReturn
from rclpy.publisher import Publisher

_SUCCESS = TransitionCallbackReturn.SUCCESS


class ManagedEntity:
    """Is notified of every transition."""

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Handle a configure transition."""
        return _SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Handle a cleanup transition."""
        return _SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Handle a shutdown transition."""
        return _SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Handle an activate transition."""
        return _SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Handle a deactivate transition."""
        return _SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Handle an error in a transition."""
        return _SUCCESS


class SimpleManagedEntity(ManagedEntity):
    """Knows whether its node is active."""

    _enabled = False

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark the node active."""
        self._enabled = True
        return _SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark the node inactive."""
        self._enabled = False
        return _SUCCESS

    @property
    def is_activated(self) -> bool:
        """Whether the node is active."""
        return self._enabled


class LifecyclePublisher(SimpleManagedEntity, Publisher):
    """Publishes only while its node is active."""

    def publish(self, msg: Any) -> None:
        """Publish a message; nothing while the node is not active."""
        if self._enabled:
            Publisher.publish(self, msg)
