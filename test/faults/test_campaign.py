# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The fault campaign: what arrives ends no node.

The short form does all faults of a table one after the other and looks at the nodes at the end;
with ``--campaign`` each fault is a test of its own, besides long ones.
"""

import random
import re
import signal
from collections.abc import Iterator

import pytest
from fuzz.hostile import Robot, hostile
from rclpy.serialization import deserialize_message, serialize_message

from vms_ph_nodes.topics.interfaces import load_interface

from .messages import HOME, JOINTS, MESSAGES
from .requests import REQUESTS, calls, changes, pause, reset
from .world import Fault, World

pytestmark = pytest.mark.wire

_WORDS = 10.0  # time for what a fault makes the nodes say, s


def _survived(world: World) -> None:
    world.await_life()
    output = world.launch.output
    assert "Traceback" not in output, output[output.index("Traceback") :][:6000]
    assert "has died" not in output
    assert "is reset" not in output


def _do(world: World, fault: Fault) -> None:
    """Do a fault until the nodes say what they should."""
    before = len(world.launch.output)
    fault.act(world)

    def said() -> bool:
        new = world.launch.output[before:] + " ".join(text for _, text in world.status.values())
        if re.search(fault.says, new):
            return True
        fault.act(world)
        world.spin(0.1)
        return False

    if fault.says:
        world.until(said, f"nobody said {fault.says!r} of {fault.name}", _WORDS)


def test_every_fault_has_a_name_of_its_own() -> None:
    names = [fault.name for fault in (*MESSAGES, *REQUESTS)]
    assert len(set(names)) == len(names) > 40


def test_what_arrives_by_topic_ends_no_node(world: World) -> None:
    for fault in MESSAGES:
        fault.act(world)
    _survived(world)


def test_what_arrives_by_service_ends_no_node(world: World) -> None:
    for fault in REQUESTS:
        fault.act(world)
    _survived(world)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [*MESSAGES, *REQUESTS], ids=str)
def test_a_fault_is_answered_as_it_should_be(world: World, fault: Fault) -> None:
    _do(world, fault)
    _survived(world)
    assert reset(world).success


def _intrude(world: World, count: int) -> None:
    """Publish valid messages with hostile values on every topic that a node subscribes to."""
    robot = Robot(tuple(JOINTS), tuple(HOME), ("", "world", "odom", "panda_link0", "panda_link8"))
    # What defines robot and time has faults of its own.
    apart = ("/robot_description", "/clock", "/parameter_events", "/rosout")
    topics = [
        (name, load_interface(kinds[0], "msg"))
        for name, kinds in world.node.get_topic_names_and_types()
        if name not in apart and world.node.count_subscribers(name)
    ]
    rng = random.Random(47)
    for number in range(count):
        name, kind = rng.choice(topics)
        world.publish(name, deserialize_message(serialize_message(hostile(rng, robot, kind)), kind))
        if number % 50 == 49:
            world.spin(0.05)
    _survived(world)
    assert "unexpected error" not in world.launch.output
    assert not [text for _, text in world.status.values() if "unexpected error" in text]


def test_valid_messages_with_hostile_values_end_no_node(world: World) -> None:
    _intrude(world, 500)


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
def test_a_million_valid_messages_with_hostile_values_end_no_node(world: World) -> None:
    _intrude(world, 10**6)


@pytest.fixture
def paused(world: World) -> Iterator[World]:
    """A simulation that stands, so that what is measured does not depend on its real time."""
    assert pause(world, True).success
    yield world
    assert pause(world, False).success


@pytest.mark.slow
def test_ten_thousand_parameter_changes_are_survived(paused: World) -> None:
    changes(paused, 1000)
    before = paused.memory("closed_loop")
    changes(paused, 10_000)
    assert paused.memory("closed_loop") - before < 10e6
    assert pause(paused, False).success
    _survived(paused)


@pytest.mark.slow
def test_a_thousand_service_calls_a_second_are_survived(paused: World) -> None:
    calls(paused, 1000)
    before = paused.memory("closed_loop", "model_server")
    rate = calls(paused, 10_000)
    print(f"{rate:.0f} calls per second")
    assert paused.memory("closed_loop", "model_server") - before < 20e6
    assert pause(paused, False).success
    _survived(paused)


@pytest.mark.slow
@pytest.mark.parametrize("process", ["closed_loop", "energy_monitor", "marker_publisher",
                                     "model_server", "web_viewer", "bag_recorder"])  # fmt: skip
def test_a_process_that_stands_for_three_seconds_goes_on(world: World, process: str) -> None:
    world.await_life()
    world.kill(process, signal.SIGSTOP)
    world.spin(3.0)
    world.kill(process, signal.SIGCONT)
    world.await_life()
    assert "has died" not in world.launch.output
    if process == "bag_recorder":
        assert "the recorder stood still for 3." in world.launch.output


@pytest.mark.slow
@pytest.mark.parametrize("process", ["closed_loop", "energy_monitor", "marker_publisher",
                                     "model_server", "web_viewer", "bag_recorder"])  # fmt: skip
def test_a_killed_process_is_back_within_ten_seconds(world: World, process: str) -> None:
    world.await_life()
    world.kill(process)
    world.spin(0.5)
    world.await_life(10.0)
