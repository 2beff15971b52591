# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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
