# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Managed (lifecycle) nodes that by default configure and activate themselves."""

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from .parameters import declare


class ManagedNode(LifecycleNode):
    """A managed node with the parameter ``autostart``.

    Its creator calls :meth:`begin` when all inputs are available. Its transitions are triggered by
    ``ros2 lifecycle set /simulator deactivate``, for instance, or by its services.
    """

    def __init__(self, name: str) -> None:
        self.is_active = False
        super().__init__(name)
        self._autostart: bool = declare(self, "autostart")

    def begin(self) -> None:
        """Configure and activate the node unless the parameter ``autostart`` is false."""
        if self._autostart and self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark the node active."""
        self.is_active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark the node inactive."""
        self.is_active = False
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark the node inactive."""
        self.is_active = False
        return super().on_shutdown(state)
