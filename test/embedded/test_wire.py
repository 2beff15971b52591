# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""On the wire it is ROS 2: strangers who know nothing of this project can listen and speak."""

from __future__ import annotations

import os
import secrets
import struct
import subprocess
import sys

import psutil
import pytest
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct, make_idl_struct, types
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty, String
from std_srvs.srv import SetBool

from vms_ph_embedded import discovery
from vms_ph_embedded.interfaces import store

pytestmark = pytest.mark.wire

TALKER = """
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState

rclpy.init()
node = Node("talker")
publisher = node.create_publisher(JointState, "joint_states", 10)
message = JointState(name=["one", "two"], position=[1.0, 2.0], velocity=[3.0, 4.0], effort=[])
message.header.frame_id = "world"
message.header.stamp.sec = 42
node.create_timer(0.02, lambda: publisher.publish(message))
rclpy.spin(node)
"""

# The whole of it: no rclpy, no message packages, and the type written down by its definition.
STRANGER = """
import os
from dataclasses import dataclass
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, int32, sequence, uint32
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration


@dataclass
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32
    nanosec: uint32


@dataclass
class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
    stamp: Time
    frame_id: str


@dataclass
class JointState(IdlStruct, typename="sensor_msgs::msg::dds_::JointState_"):
    header: Header
    name: sequence[str]
    position: sequence[float64]
    velocity: sequence[float64]
    effort: sequence[float64]


participant = DomainParticipant(int(os.environ["ROS_DOMAIN_ID"]))
reader = DataReader(participant, Topic(participant, "rt/joint_states", JointState))
for sample in reader.take_iter(timeout=duration(seconds=15)):
    print(sample.header.stamp.sec, sample.header.frame_id, list(sample.name), list(sample.position),
          list(sample.velocity), list(sample.effort))
    break
"""

HEARD = "42 world ['one', 'two'] [1.0, 2.0] [3.0, 4.0] []\n"
SETTINGS = ("CYCLONEDDS_URI", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_DOMAIN_ID")


def listen(shell_line: str) -> str:
    """What the stranger hears in a shell where only this line was typed."""
    bare = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    done = subprocess.run(
        ["sh", "-c", f'{shell_line}\nexec "$@"', "sh", sys.executable, "-c", STRANGER],
        capture_output=True,
        text=True,
        env=bare,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_stranger_hears_us_with_the_export_line(ros_process):
    ros_process(TALKER)
    assert listen(discovery.export_line()) == HEARD


def has_multicast() -> bool:
    """Whether an interface other than loopback is up and can multicast."""
    return any(
        name != "lo" and stats.isup and {"multicast", "running"} <= set(stats.flags.split(","))
        for name, stats in psutil.net_if_stats().items()
    )


@pytest.mark.skipif(not has_multicast(), reason="no interface that can multicast")
def test_a_stranger_hears_us_on_the_subnet_without_any_line(ros_process, ros_domain):
    ros_process(TALKER, env={"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"})
    assert listen(f"export ROS_DOMAIN_ID={ros_domain}") == HEARD


# A peer in this process, with Cyclone alone: it sees what a real ROS 2 would see.


@pytest.fixture
def stranger(ros, ros_domain):
    return DomainParticipant(ros_domain)


def ros_qos(*more):
    return Qos(
        Policy.Reliability.Reliable(duration(seconds=1)),
        Policy.History.KeepLast(10),
        Policy.DataRepresentation(use_cdrv0_representation=True),
        *more,
    )


def struct_type(typename: str, **fields: object) -> type[IdlStruct]:
    return make_idl_struct(typename.split("::")[-1], typename, fields)


BOOL_REQUEST = struct_type(
    "std_srvs::srv::dds_::SetBool_Request_", guid=types.uint64, seq=types.int64, data=bool
)
BOOL_RESPONSE = struct_type(
    "std_srvs::srv::dds_::SetBool_Response_",
    guid=types.uint64,
    seq=types.int64,
    success=bool,
    message=str,
)


def test_a_stranger_is_heard(ros, stranger):
    node, got = ros.node(), []
    node.create_subscription(String, "words", got.append, 10)
    data = struct_type("std_msgs::msg::dds_::String_", data=str)
    writer = DataWriter(stranger, Topic(stranger, "rt/words", data), ros_qos())
    assert ros.spin_until(lambda: writer.get_matched_subscriptions())
    writer.write(data(data="from outside"))
    assert ros.spin_until(lambda: got == [String(data="from outside")])


def test_a_late_stranger_gets_what_was_latched(ros, stranger):
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = ros.node().create_publisher(String, "robot_description", latched)
    publisher.publish(String(data="<robot/>"))
    data = struct_type("std_msgs::msg::dds_::String_", data=str)
    topic = Topic(stranger, "rt/robot_description", data)
    reader = DataReader(stranger, topic, ros_qos(Policy.Durability.TransientLocal))
    assert reader.take_one(timeout=duration(seconds=15)).data == "<robot/>"


def test_an_empty_message_is_one_byte_for_others(ros, stranger):
    node, got = ros.node(), []
    node.create_subscription(Empty, "e", got.append, 10)
    data = struct_type(
        "std_msgs::msg::dds_::Empty_", structure_needs_at_least_one_member=types.uint8
    )
    writer = DataWriter(stranger, Topic(stranger, "rt/e", data), ros_qos())
    assert ros.spin_until(lambda: writer.get_matched_subscriptions())
    writer.write(data(structure_needs_at_least_one_member=0))
    assert ros.spin_until(lambda: got == [Empty()])


def test_a_stranger_can_ask_a_service(ros, stranger):
    def echo(request, response):
        return SetBool.Response(success=request.data, message="hello")

    ros.node().create_service(SetBool, "/go", echo)
    requests = DataWriter(stranger, Topic(stranger, "rq/goRequest", BOOL_REQUEST), ros_qos())
    replies = DataReader(stranger, Topic(stranger, "rr/goReply", BOOL_RESPONSE), ros_qos())
    assert ros.spin_until(
        lambda: requests.get_matched_subscriptions() and replies.get_matched_publications()
    )
    guid = secrets.randbits(64)
    requests.write(BOOL_REQUEST(guid=guid, seq=7, data=True))
    taken = []
    assert ros.spin_until(lambda: taken.extend(replies.take(1)) or taken)
    reply = taken[0]
    assert (reply.guid, reply.seq, reply.success, reply.message) == (guid, 7, True, "hello")


def test_we_can_ask_a_stranger_and_take_no_answer_for_others(ros, stranger):
    client = ros.node().create_client(SetBool, "/go")
    requests = DataReader(stranger, Topic(stranger, "rq/goRequest", BOOL_REQUEST), ros_qos())
    replies = DataWriter(stranger, Topic(stranger, "rr/goReply", BOOL_RESPONSE), ros_qos())
    assert client.wait_for_service(timeout_sec=15.0)
    future = client.call_async(SetBool.Request(data=True))
    request = requests.take_one(timeout=duration(seconds=15))
    assert request.data is True

    def reply(guid, seq, message):
        replies.write(BOOL_RESPONSE(guid=guid, seq=seq, success=True, message=message))

    reply(request.guid ^ 1, request.seq, "for another client")
    reply(request.guid, request.seq + 1, "for another request")
    reply(request.guid, request.seq, "for us")
    assert ros.result(future).message == "for us"


def test_endpoints_carry_what_ros_nodes_look_for(ros, stranger):
    node = ros.node("owner", namespace="/ns")
    publisher = node.create_publisher(JointState, "joint_states", 10)
    node.create_service(SetBool, "go", lambda _, response: response)

    def endpoints(kind, topic):
        return [e for e in getattr(node._ros_graph, kind)() if e.topic_name == topic]

    def data(endpoint):
        (policy,) = [p for p in endpoint.qos if isinstance(p, Policy.Userdata)]
        return policy.data.decode()

    (writer,) = endpoints("publications", "rt/ns/joint_states")
    assert writer.type_name == "sensor_msgs::msg::dds_::JointState_"
    assert data(writer) == f"typehash={store.type_hash('sensor_msgs/msg/JointState')};"
    (asked,) = endpoints("subscriptions", "rq/ns/goRequest")
    (answering,) = endpoints("publications", "rr/ns/goReply")
    assert asked.type_name == "std_srvs::srv::dds_::SetBool_Request_"
    assert data(asked).split(";")[0].startswith("serviceid=")
    assert data(asked).split(";")[0] == data(answering).split(";")[0]
    assert store.type_hash("std_srvs/srv/SetBool_Response") in data(answering)

    gid = struct_type("rmw_dds_common::msg::dds_::Gid_", data=types.array[types.uint8, 16])
    entities = struct_type(
        "rmw_dds_common::msg::dds_::NodeEntitiesInfo_",
        node_namespace=types.bounded_str[256],
        node_name=types.bounded_str[256],
        reader_gid_seq=types.sequence[gid],
        writer_gid_seq=types.sequence[gid],
    )
    info = struct_type(
        "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_",
        gid=gid,
        node_entities_info_seq=types.sequence[entities],
    )
    topic = Topic(stranger, "ros_discovery_info", info)
    reader = DataReader(stranger, topic, ros_qos(Policy.Durability.TransientLocal))
    message = reader.take_one(timeout=duration(seconds=15))
    (told,) = message.node_entities_info_seq
    assert (told.node_namespace, told.node_name) == ("/ns", "owner")
    assert publisher._writer.gid in [bytes(each.data) for each in told.writer_gid_seq]
    assert bytes(message.gid.data) == ros.executor.context._participant.gid


def test_the_bytes_of_a_message_pass_through_unchanged(ros):
    node, raw = ros.node(), []
    publisher = node.create_publisher(String, "s", 10)
    node.create_subscription(String, "s", raw.append, 10, raw=True)
    assert ros.spin_until(lambda: publisher.get_subscription_count() == 1)
    little, big = (
        encapsulation + struct.pack(f"{order}I", 4) + b"abc\0"
        for order, encapsulation in (("<", b"\0\1\0\0"), (">", b"\0\0\0\0"))
    )
    publisher.publish(little)
    publisher.publish(big)  # Cyclone turns it round for us
    assert ros.spin_until(lambda: len(raw) == 2)
    assert raw == [little, little]


def test_off_means_nobody(ros_process, ros_domain):
    code = """
import rclpy
rclpy.init()
node = rclpy.create_node("alone")
other = rclpy.Context()
print(node.get_node_names(), flush=True)
"""
    ros_process(TALKER)
    process = ros_process(code, env={"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"})
    output, errors = process.communicate(timeout=60)
    assert output == "['alone']\n", errors
