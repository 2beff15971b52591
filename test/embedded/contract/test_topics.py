# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Publishers and subscriptions, and how their qualities of service match."""

import time

import pytest
import rclpy
from rclpy.duration import Duration
from rclpy.exceptions import InvalidHandle
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    InvalidQoSProfileException,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
    qos_profile_sensor_data,
)
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty, Float64, String
from std_srvs.srv import Trigger

SYSTEM_DEFAULT = QoSProfile(
    history=HistoryPolicy.SYSTEM_DEFAULT,
    depth=0,
    reliability=ReliabilityPolicy.SYSTEM_DEFAULT,
    durability=DurabilityPolicy.SYSTEM_DEFAULT,
)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def test_a_message_arrives_as_it_was_sent(ros):
    node, got = ros.node(), []
    publisher = node.create_publisher(JointState, "joint_states", 10)
    node.create_subscription(JointState, "joint_states", got.append, 10)
    assert ros.spin_until(lambda: publisher.get_subscription_count() == 1)
    sent = JointState(name=["a"], position=[1.0], velocity=[2.0], effort=[3.0])
    sent.header.frame_id = "world"
    publisher.publish(sent)
    assert ros.spin_until(lambda: got)
    assert got == [sent]


def test_messages_arrive_in_order_between_nodes(ros):
    talker, listener, got = ros.node("talker"), ros.node("listener"), []
    subscription = listener.create_subscription(Float64, "x", got.append, 100)
    publisher = talker.create_publisher(Float64, "x", 100)
    assert ros.spin_until(lambda: subscription.get_publisher_count() == 1)
    for i in range(50):
        publisher.publish(Float64(data=float(i)))
    assert ros.spin_until(lambda: len(got) == 50)
    assert [message.data for message in got] == [float(i) for i in range(50)]


def test_an_empty_message_arrives(ros):
    node, got = ros.node(), []
    publisher = node.create_publisher(Empty, "e", 10)
    node.create_subscription(Empty, "e", got.append, 10)
    assert ros.spin_until(lambda: publisher.get_subscription_count() == 1)
    publisher.publish(Empty())
    assert ros.spin_until(lambda: got == [Empty()])


def test_a_raw_subscription_gets_bytes_and_bytes_can_be_published(ros):
    node, raw, cooked = ros.node(), [], []
    publisher = node.create_publisher(String, "s", 10)
    node.create_subscription(String, "s", raw.append, 10, raw=True)
    node.create_subscription(String, "s", cooked.append, 10)
    assert ros.spin_until(lambda: publisher.get_subscription_count() == 2)
    publisher.publish(serialize_message(String(data="bytes")))
    assert ros.spin_until(lambda: raw and cooked)
    assert isinstance(raw[0], bytes)
    assert deserialize_message(raw[0], String) == cooked[0] == String(data="bytes")


def test_a_callback_of_two_arguments_also_gets_the_time_of_publication(ros):
    node, got = ros.node(), []
    publisher = node.create_publisher(Empty, "e", 10)
    node.create_subscription(Empty, "e", lambda message, info: got.append(info), 10)
    assert ros.spin_until(lambda: publisher.get_subscription_count() == 1)
    before = time.time_ns()
    publisher.publish(Empty())
    assert ros.spin_until(lambda: got)
    assert before <= got[0]["source_timestamp"] <= time.time_ns()


def test_a_callback_of_other_arguments_is_refused(ros):
    with pytest.raises(RuntimeError, match="callable with one argument"):
        ros.node().create_subscription(Empty, "e", lambda: None, 10)


def test_a_late_subscription_gets_a_latched_message(ros):
    node, latched, volatile = ros.node(), [], []
    publisher = node.create_publisher(String, "robot_description", LATCHED)
    publisher.publish(String(data="old"))
    publisher.publish(String(data="new"))
    node.create_subscription(String, "robot_description", latched.append, LATCHED)
    node.create_subscription(String, "robot_description", volatile.append, 1)
    assert ros.spin_until(lambda: latched)
    ros.spin_for(0.2)
    assert latched == [String(data="new")]
    assert volatile == []


@pytest.mark.parametrize(
    ("offered", "requested", "match"),
    [
        ({"reliability": "RELIABLE"}, {"reliability": "BEST_EFFORT"}, True),
        ({"reliability": "BEST_EFFORT"}, {"reliability": "RELIABLE"}, False),
        ({"durability": "TRANSIENT_LOCAL"}, {"durability": "VOLATILE"}, True),
        ({"durability": "VOLATILE"}, {"durability": "TRANSIENT_LOCAL"}, False),
        ({"deadline": 1.0}, {"deadline": 2.0}, True),
        ({"deadline": 2.0}, {"deadline": 1.0}, False),
    ],
)
def test_endpoints_match_when_enough_is_offered(ros, offered, requested, match):
    kinds = {"reliability": ReliabilityPolicy, "durability": DurabilityPolicy}

    def profile(policies):
        return QoSProfile(
            depth=10,
            **{
                name: kinds[name][value] if name in kinds else Duration(seconds=value)
                for name, value in policies.items()
            },
        )

    node = ros.node()
    publisher = node.create_publisher(Empty, "e", profile(offered))
    subscription = node.create_subscription(Empty, "e", lambda _: None, profile(requested))
    witness = node.create_subscription(Empty, "e", lambda _: None, qos_profile_sensor_data)
    assert ros.spin_until(lambda: witness.get_publisher_count() == 1)
    assert subscription.get_publisher_count() == match
    assert publisher.get_subscription_count() == 1 + match


def test_a_peer_that_does_not_match_is_warned_of(ros, capfd):
    node = ros.node()
    node.create_publisher(Empty, "e", qos_profile_sensor_data)
    node.create_subscription(Empty, "e", lambda _: None, 10)
    said = []

    def both_warned():
        said.append(capfd.readouterr().err)
        text = "".join(said)
        return "offering incompatible QoS" in text and "requesting incompatible QoS" in text

    assert ros.spin_until(both_warned)
    lines = "".join(said).splitlines()
    assert sum("Last incompatible policy: RELIABILITY" in line for line in lines) == 2


def test_only_the_last_messages_are_kept(ros):
    node, got = ros.node(), []
    publisher = node.create_publisher(Float64, "x", 10)
    node.create_subscription(Float64, "x", got.append, QoSProfile(depth=2))
    assert ros.spin_until(lambda: publisher.get_subscription_count() == 1)
    for i in range(5):
        publisher.publish(Float64(data=float(i)))
    assert ros.spin_until(lambda: len(got) == 2)
    ros.spin_for(0.1)
    assert [message.data for message in got] == [3.0, 4.0]


def test_what_is_published_must_have_the_type_of_the_topic(ros):
    publisher = ros.node().create_publisher(String, "s", 10)
    with pytest.raises(TypeError):
        publisher.publish(Float64())


def test_only_message_types_make_topics(ros):
    with pytest.raises(RuntimeError, match="not valid"):
        ros.node().create_publisher(Trigger, "t", 10)
    with pytest.raises(AttributeError, match="ROS 1"):
        ros.node().create_publisher(int, "t", 10)


def test_a_destroyed_endpoint_is_no_more(ros):
    node, got = ros.node(), []
    publisher = node.create_publisher(Empty, "e", 10)
    subscription = node.create_subscription(Empty, "e", got.append, 10)
    assert ros.spin_until(lambda: publisher.get_subscription_count() == 1)
    assert node.destroy_subscription(subscription)
    assert ros.spin_until(lambda: publisher.get_subscription_count() == 0)
    publisher.publish(Empty())
    ros.spin_for(0.1)
    assert got == []
    assert node.destroy_publisher(publisher)
    assert not node.destroy_publisher(publisher)
    with pytest.raises(InvalidHandle):
        publisher.publish(Empty())


def test_a_profile_needs_a_history_or_a_depth(ros, release):
    with pytest.raises(InvalidQoSProfileException):
        QoSProfile()
    with pytest.raises(InvalidQoSProfileException):
        QoSProfile(history=HistoryPolicy.KEEP_LAST)
    with pytest.raises(AssertionError if release == "jazzy" else TypeError):
        QoSProfile(depth=1, colour="red")
    with pytest.raises(TypeError):
        ros.node().create_publisher(Empty, "e", "ten")
    with pytest.raises(ValueError, match="greater than or equal to zero"):
        ros.node().create_publisher(Empty, "e", -1)


def test_the_profiles_for_common_purposes():
    profile = QoSProfile(depth=7)
    assert (profile.history, profile.depth) == (HistoryPolicy.KEEP_LAST, 7)
    assert profile.reliability == ReliabilityPolicy.RELIABLE
    assert profile.durability == DurabilityPolicy.VOLATILE
    assert profile == QoSProfile(depth=7)
    assert profile != QoSProfile(depth=8)
    assert qos_profile_sensor_data.reliability == ReliabilityPolicy.BEST_EFFORT
    assert qos_profile_sensor_data.depth == 5
    assert LivelinessPolicy.MANUAL_BY_TOPIC == 3


def test_a_system_default_publisher_and_subscription_match(ros):
    node, got = ros.node(), []
    publisher = node.create_publisher(Empty, "e", SYSTEM_DEFAULT)
    node.create_subscription(Empty, "e", got.append, SYSTEM_DEFAULT)
    assert ros.spin_until(lambda: publisher.get_subscription_count() == 1)
    publisher.publish(Empty())
    assert ros.spin_until(lambda: got)


def test_after_the_shutdown_nothing_can_be_published(ros):
    publisher = ros.node().create_publisher(Empty, "e", 10)
    rclpy.shutdown()
    with pytest.raises(RuntimeError):
        publisher.publish(Empty())
