# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Managed nodes: states, transitions, and the services that ask for them."""

import pytest
from lifecycle_msgs.msg import State, Transition, TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetAvailableStates, GetAvailableTransitions, GetState
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class Managed(LifecycleNode):
    def __init__(self, name: str = "managed") -> None:
        self.calls: list[str] = []
        self.answer = SUCCESS
        super().__init__(name)

    def on_configure(self, state):
        self.calls.append(f"configure from {state.label}")
        return self.answer

    def on_activate(self, state):
        self.calls.append("activate")
        return super().on_activate(state)

    def on_deactivate(self, state):
        self.calls.append("deactivate")
        return super().on_deactivate(state)

    def on_cleanup(self, state):
        self.calls.append("cleanup")
        return SUCCESS

    def on_error(self, state):
        self.calls.append("error")
        return SUCCESS


@pytest.fixture
def managed(ros):
    node = Managed()
    ros.nodes.append(node)
    ros.executor.add_node(node)
    return node


@pytest.fixture
def ask(ros):
    other = ros.node("other")

    def call(kind, name, **fields):
        client = other.create_client(kind, f"/managed/{name}")
        assert ros.spin_until(client.service_is_ready)
        return ros.result(client.call_async(kind.Request(**fields)))

    return call


def test_a_managed_node_goes_through_its_states(managed, ask) -> None:
    assert ask(GetState, "get_state").current_state.label == "unconfigured"
    assert managed.trigger_configure() is SUCCESS
    assert ask(GetState, "get_state").current_state.id == State.PRIMARY_STATE_INACTIVE
    assert managed.trigger_activate() is SUCCESS
    assert ask(GetState, "get_state").current_state.label == "active"
    managed.trigger_deactivate()
    managed.trigger_cleanup()
    assert ask(GetState, "get_state").current_state.label == "unconfigured"
    assert managed.calls == ["configure from unconfigured", "activate", "deactivate", "cleanup"]


def test_another_node_changes_its_state_by_number_and_by_label(managed, ask) -> None:
    by_number = Transition(id=Transition.TRANSITION_CONFIGURE)
    assert ask(ChangeState, "change_state", transition=by_number).success
    by_label = Transition(label="activate")
    assert ask(ChangeState, "change_state", transition=by_label).success
    assert ask(GetState, "get_state").current_state.label == "active"
    shutdown = Transition(id=Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert ask(ChangeState, "change_state", transition=shutdown).success
    assert ask(GetState, "get_state").current_state.label == "finalized"


def test_a_transition_that_fails_leaves_the_state_as_it_was(managed, ask) -> None:
    managed.answer = FAILURE
    configure = Transition(id=Transition.TRANSITION_CONFIGURE)
    assert not ask(ChangeState, "change_state", transition=configure).success
    assert ask(GetState, "get_state").current_state.label == "unconfigured"


def test_an_exception_in_a_transition_is_an_error_that_can_be_mended(ros, ask) -> None:
    class Broken(Managed):
        def on_configure(self, state):
            raise ValueError("no")

    node = Broken()
    ros.nodes.append(node)
    ros.executor.add_node(node)
    assert node.trigger_configure() is TransitionCallbackReturn.ERROR
    assert node.calls == ["error"]
    assert ask(GetState, "get_state").current_state.label == "unconfigured"


def test_a_transition_that_there_is_not_is_refused(managed, ask, release) -> None:
    if release == "kilted":
        assert managed.trigger_activate() is TransitionCallbackReturn.ERROR
    else:
        with pytest.raises(RuntimeError):
            managed.trigger_activate()
    assert managed.calls == []
    assert ask(GetState, "get_state").current_state.label == "unconfigured"


def test_the_states_and_transitions_there_are_can_be_asked_for(managed, ask) -> None:
    states = ask(GetAvailableStates, "get_available_states").available_states
    assert {s.label for s in states} >= {"unconfigured", "inactive", "active", "finalized"}
    now = ask(GetAvailableTransitions, "get_available_transitions").available_transitions
    assert {t.transition.label for t in now} == {"configure", "shutdown"}
    configure = next(t for t in now if t.transition.label == "configure")
    assert configure.start_state.label == "unconfigured"
    assert configure.transition.id == Transition.TRANSITION_CONFIGURE
    graph = ask(GetAvailableTransitions, "get_transition_graph").available_transitions
    assert {t.transition.label for t in graph} >= {"configure", "activate", "deactivate"}


def test_every_transition_is_told(ros, managed) -> None:
    events: list[TransitionEvent] = []
    listener = ros.node("listener")
    listener.create_subscription(TransitionEvent, "/managed/transition_event", events.append, 10)
    assert ros.spin_until(lambda: listener.count_publishers("/managed/transition_event"))
    ros.spin_for(0.3)
    managed.trigger_configure()
    assert ros.spin_until(lambda: len(events) >= 2)
    assert events[-1].goal_state.label == "inactive"


def test_a_managed_node_spins_like_any_other(ros) -> None:
    node = LifecycleNode("plain", enable_communication_interface=False)
    ros.nodes.append(node)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    ticks: list[int] = []
    node.create_timer(0.01, lambda: ticks.append(1))
    for _ in range(50):
        executor.spin_once(timeout_sec=0.05)
        if len(ticks) > 2:
            break
    executor.shutdown()
    assert len(ticks) > 2
