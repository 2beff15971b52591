"""Nodes whose start and stop others may manage, and that start by themselves unless told not to."""

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from .parameters import declare


class ManagedNode(LifecycleNode):
    """A managed node; ``autostart`` takes it to active at once.

    Whoever makes it calls :meth:`begin` when all it needs is there. ROS 2's own tools manage it
    (``ros2 lifecycle set /simulator deactivate``), and so do its services without them.
    """

    def __init__(self, name: str) -> None:
        self.is_active = False
        super().__init__(name)
        self._autostart: bool = declare(self, "autostart")

    def begin(self) -> None:
        """Become active, unless the parameter ``autostart`` is false."""
        if self._autostart and self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take note that the node works."""
        self.is_active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take note that the node rests."""
        self.is_active = False
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take note that the node is at its end."""
        self.is_active = False
        return super().on_shutdown(state)
