# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bytes that are no message are dropped, counted and reported once; a request is refused."""

from __future__ import annotations

import struct

import pytest
from cyclonedds.core import Policy, Qos
from cyclonedds.util import duration
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.serialization import serialize_message
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from vms_ph_embedded.interfaces.messages import DecodingError, deserialize
from vms_ph_embedded.wire import names, service_header

_QOS = Qos(
    Policy.Reliability.Reliable(duration(seconds=1)),
    Policy.History.KeepLast(100),
    Policy.DataRepresentation(use_cdrv0_representation=True),
)
_LATCHED = Qos(Policy.Durability.TransientLocal, base=_QOS)
_LITTLE = b"\0\1\0\0"


def _text(data: bytes, length: int | None = None) -> bytes:
    return _LITTLE + struct.pack("<I", len(data) if length is None else length) + data


GARBAGE = {
    "nothing at all": b"",
    "an encapsulation alone": _LITTLE,
    "a string that is no UTF-8": _text(b"21 \xb0C\0"),
    "a string that is cut off": _text(b"abc", 9),
    "a string of absurd length": _text(b"abc\0", 2**32 - 1),
    "surplus bytes": _text(b"abc\0") + b"surplus!",
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
def test_what_is_no_string_message_raises_one_kind_of_error(data: bytes) -> None:
    with pytest.raises(DecodingError, match=rf"{len(data)} bytes are no std_msgs/msg/String"):
        deserialize(data, String)


def test_a_sequence_of_absurd_length_is_refused_at_once() -> None:
    whole = serialize_message(Float64MultiArray(data=[1.0, 2.0]))
    absurd = whole[:12] + struct.pack("<I", 2**31) + whole[16:]
    with pytest.raises(DecodingError):
        deserialize(absurd, Float64MultiArray)
    deserialize(whole, Float64MultiArray)


def _raw_writer(node, dds_topic: str, message_type: type, qos: Qos = _QOS):
    return node._ros_participant.writer(dds_topic, message_type.__msgtype__, qos)


# Cyclone neither sends nor passes on what is too short for the type; these come through.
_PASSES_CYCLONE = ["a string that is no UTF-8", "surplus bytes"]


@pytest.mark.parametrize("kind", _PASSES_CYCLONE)
def test_a_node_drops_it_and_goes_on_listening(ros, kind: str) -> None:
    node, got = ros.node(), []
    node.create_subscription(String, "words", got.append, 10)
    writer = _raw_writer(node, names.topic("/words"), String)
    assert ros.spin_until(writer.matches)
    writer.write(GARBAGE[kind])
    writer.write(GARBAGE[kind])
    writer.write(serialize_message(String(data="whole")))
    assert ros.spin_until(lambda: got == [String(data="whole")])
    assert node._ros_undecoded == {"/words": 2}


def test_a_status_with_a_latin_1_degree_sign_ends_nobody(ros) -> None:
    node, got = ros.node(), []
    node.create_subscription(DiagnosticArray, "/diagnostics", got.append, 10)
    writer = _raw_writer(node, names.topic("/diagnostics"), DiagnosticArray)
    assert ros.spin_until(writer.matches)
    message = DiagnosticArray()
    message.header.frame_id = "xxxxx"
    writer.write(serialize_message(message).replace(b"xxxxx", b"20 \xb0C"))
    writer.write(serialize_message(message))
    assert ros.spin_until(lambda: got == [message])


def test_garbage_among_what_participants_announce_is_passed_over(ros) -> None:
    node = ros.node("here")
    graph = node._ros_graph
    ros.node("there")
    writer = _raw_writer(node, "ros_discovery_info", graph._message_type, _LATCHED)
    assert ros.spin_until(writer.matches)
    writer.write(serialize_message(graph._message_type()) + b"surplus!")
    assert ros.spin_until(lambda: {"here", "there"} <= set(node.get_node_names()))


def test_a_request_that_cannot_be_decoded_is_refused_with_the_reason(ros) -> None:
    ros.node().create_service(SetBool, "go", lambda _, response: response)
    client = ros.node("asking").create_client(SetBool, "go")
    assert client.wait_for_service(timeout_sec=15.0)
    client._writer.write(service_header.add(_LITTLE + b"\1surplus", client._guid, 1))
    client._sequence_number, broken = 1, Future()
    client._pending_requests[1] = broken
    refusal = ros.result(broken)
    assert not refusal.success
    assert "std_srvs/srv/SetBool_Request" in refusal.message
    assert ros.result(client.call_async(SetBool.Request(data=True))).message == ""


def test_a_reply_that_cannot_be_decoded_is_dropped(ros) -> None:
    node = ros.node()
    node.create_service(Trigger, "ask", lambda _, response: response)
    client = node.create_client(Trigger, "ask")
    assert client.wait_for_service(timeout_sec=15.0)
    writer = _raw_writer(node, names.reply("/ask"), Trigger.Response)
    assert ros.spin_until(writer.matches)
    whole = serialize_message(Trigger.Response(message="later"))
    client._pending_requests[1] = Future()
    writer.write(service_header.add(whole + b"surplus!", client._guid, 1))
    assert ros.spin_until(lambda: node._ros_undecoded == {"/ask": 1})


def test_a_parameter_of_a_type_that_there_is_not_is_refused(ros) -> None:
    node = ros.node("holder")
    node.declare_parameter("size", 1.0)
    client = ros.node("asking").create_client(SetParameters, "/holder/set_parameters")
    assert client.wait_for_service(timeout_sec=15.0)
    strange = Parameter(name="size", value=ParameterValue(type=77))
    result = ros.result(client.call_async(SetParameters.Request(parameters=[strange])))
    assert [(each.successful, each.reason) for each in result.results] == [
        (False, "77 is not a valid Parameter.Type")
    ]
    assert node.get_parameter("size").value == 1.0
