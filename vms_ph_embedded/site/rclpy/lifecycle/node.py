# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Managed (lifecycle) nodes."""

from __future__ import annotations

from typing import Any

import lifecycle_msgs.msg
import lifecycle_msgs.srv
from rclpy.exceptions import RCLError
from rclpy.lifecycle._states import (
    ERROR_PROCESSING,
    FINALIZED,
    STATES,
    TRANSITIONS,
    UNCONFIGURED,
    LifecycleState,
    Transition,
    TransitionCallbackReturn,
)
from rclpy.node import Node

_SUCCESS, _ERROR = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.ERROR


class LifecycleNodeMixin:
    """The state machine of a managed node, and its services."""

    def _begin_lifecycle(self, with_services: bool) -> None:
        self._lifecycle_state = UNCONFIGURED
        self._event_publisher: Any = None
        if not with_services:
            return
        srv = lifecycle_msgs.srv
        self._event_publisher = self.create_publisher(
            lifecycle_msgs.msg.TransitionEvent, "~/transition_event", 10
        )
        for service_type, name, callback in (
            (srv.ChangeState, "change_state", self._on_change_state),
            (srv.GetState, "get_state", self._on_get_state),
            (srv.GetAvailableStates, "get_available_states", self._on_get_states),
            (srv.GetAvailableTransitions, "get_available_transitions", self._on_get_transitions),
            (srv.GetAvailableTransitions, "get_transition_graph", self._on_get_graph),
        ):
            self.create_service(service_type, f"~/{name}", callback)

    def trigger_configure(self) -> TransitionCallbackReturn:
        """Go from unconfigured to inactive."""
        return self._trigger("configure")

    def trigger_cleanup(self) -> TransitionCallbackReturn:
        """Go from inactive to unconfigured."""
        return self._trigger("cleanup")

    def trigger_activate(self) -> TransitionCallbackReturn:
        """Go from inactive to active."""
        return self._trigger("activate")

    def trigger_deactivate(self) -> TransitionCallbackReturn:
        """Go from active to inactive."""
        return self._trigger("deactivate")

    def trigger_shutdown(self) -> TransitionCallbackReturn:
        """Go to finalized, from any primary state."""
        return self._trigger("shutdown")

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Configure; an override must call this."""
        return _SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Clean up; an override must call this."""
        return _SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Shut down; an override must call this."""
        return _SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Activate; an override must call this."""
        return _SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate; an override must call this."""
        return _SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Recover from an error; an override must call this."""
        return _SUCCESS

    def _available_transitions(self) -> list[Transition]:
        return [t for t in TRANSITIONS if t.start_state is self._lifecycle_state]

    def _trigger(self, label: str) -> TransitionCallbackReturn:
        for transition in self._available_transitions():
            if transition.label == label:
                return self._run_transition(transition)
        raise RCLError(
            f"Transition is not registered: no {label} from {self._lifecycle_state.label}"
        )

    def _run_transition(self, transition: Transition) -> TransitionCallbackReturn:
        start_state = self._lifecycle_state
        self._enter(transition.transition_state, transition)
        result = self._run_callback(transition.callback, start_state)
        if result is _ERROR:
            self._enter(ERROR_PROCESSING, transition)
            has_recovered = self._run_callback("on_error", start_state) is _SUCCESS
            self._enter(UNCONFIGURED if has_recovered else FINALIZED, transition)
        elif result is _SUCCESS or transition.goal_state is FINALIZED:
            self._enter(transition.goal_state, transition)
        else:
            self._enter(start_state, transition)
        return result

    def _run_callback(self, callback_name: str, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            return getattr(self, callback_name)(state)
        except Exception as error:
            self.get_logger().error(f"{callback_name} failed: {error}")
            return _ERROR

    def _enter(self, state: LifecycleState, transition: Transition) -> None:
        start_state, self._lifecycle_state = self._lifecycle_state, state
        if self._event_publisher is not None:
            event = lifecycle_msgs.msg.TransitionEvent(
                timestamp=self.get_clock().now().nanoseconds,
                transition=_transition_msg(transition),
                start_state=_state_msg(start_state),
                goal_state=_state_msg(state),
            )
            self._event_publisher.publish(event)

    def _on_change_state(self, request: Any, response: Any) -> Any:
        label, number = request.transition.label, request.transition.id
        for transition in self._available_transitions():
            # A label takes precedence over a number, as in rclpy.
            if transition.label == label or (not label and transition.number == number):
                response.success = self._run_transition(transition) is _SUCCESS
        return response

    def _on_get_state(self, request: Any, response: Any) -> Any:
        response.current_state = _state_msg(self._lifecycle_state)
        return response

    def _on_get_states(self, request: Any, response: Any) -> Any:
        response.available_states = [_state_msg(state) for state in STATES]
        return response

    def _on_get_transitions(self, request: Any, response: Any) -> Any:
        response.available_transitions = [_describe(t) for t in self._available_transitions()]
        return response

    def _on_get_graph(self, request: Any, response: Any) -> Any:
        response.available_transitions = [_describe(transition) for transition in TRANSITIONS]
        return response


class LifecycleNode(LifecycleNodeMixin, Node):
    """A managed (lifecycle) node."""

    def __init__(
        self, node_name: str, *, enable_communication_interface: bool = True, **kwargs: Any
    ) -> None:
        Node.__init__(self, node_name, **kwargs)
        self._begin_lifecycle(enable_communication_interface)


def _state_msg(state: LifecycleState) -> Any:
    return lifecycle_msgs.msg.State(id=state.state_id, label=state.label)


def _transition_msg(transition: Transition) -> Any:
    return lifecycle_msgs.msg.Transition(id=transition.number, label=transition.label)


def _describe(transition: Transition) -> Any:
    return lifecycle_msgs.msg.TransitionDescription(
        transition=_transition_msg(transition),
        start_state=_state_msg(transition.start_state),
        goal_state=_state_msg(transition.goal_state),
    )
