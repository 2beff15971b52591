# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of messages to and from YAML."""

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from tf2_msgs.msg import TFMessage

from vms_ph_dynamics import VmsPhError
from vms_ph_embedded.commands.message_text import parse, set_fields, to_plain, to_yaml
from vms_ph_nodes.topics.interfaces import load_interface


def test_a_message_is_unchanged_by_a_round_trip_through_text() -> None:
    message = JointState(name=["a", "b"], position=[1.0, 2.5], effort=[0.1, np.pi])
    message.header.stamp.sec = 12
    again = set_fields(JointState(), yaml.safe_load(to_yaml(message)))
    assert again == message


def test_numbers_in_sequences_stay_on_one_line() -> None:
    text = to_yaml(JointState(name=["a", "b"], position=[1.0, 2.0]))
    assert "name: [a, b]" in text
    assert "position: [1.0, 2.0]" in text


def test_nested_sequences_of_messages_are_filled() -> None:
    values = parse("transforms: [{child_frame_id: a, transform: {translation: {x: 1}}}]")
    message = set_fields(TFMessage(), values)
    assert message.transforms[0].child_frame_id == "a"
    assert message.transforms[0].transform.translation.x == 1.0


def test_integers_are_accepted_for_float_fields() -> None:
    message = set_fields(PoseStamped(), parse("pose: {position: {x: 1, y: -2}}"))
    assert message.pose.position.x == 1.0
    assert to_plain(set_fields(Float64MultiArray(), {"data": [1, 2]}))["data"] == [1.0, 2.0]
    assert set_fields(String(), {"data": 3}).data == "3"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("poze: {}", "there is no field 'poze'; there are header, pose"),
        ("pose: {position: {w: 1}}", "there is no field 'pose.position.w'"),
        ("pose: 3", "pose expects fields"),
        ("pose: {position: {x: [1]}}", "'pose.position.x' is a double"),
    ],
)
def test_an_error_in_a_field_is_reported_with_the_path_of_the_field(values: str, said: str) -> None:
    with pytest.raises(VmsPhError, match=said):
        set_fields(PoseStamped(), parse(values))


def test_invalid_yaml_and_unknown_type_names_are_rejected() -> None:
    with pytest.raises(VmsPhError, match="not YAML"):
        parse("{a: [1")
    for name in ("sensor_msgs/msg/Jointstate", "nowhere/msg/X", "Odd", "a/b/c/d"):
        with pytest.raises(VmsPhError, match=f"no interface '{name}'"):
            load_interface(name, "msg")
    assert load_interface("sensor_msgs/JointState", "msg") is JointState
