# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Message classes: fields, their types and ranges, defaults, constants, equality."""

from array import array
from copy import copy, deepcopy

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, Pose, PoseWithCovariance, Quaternion
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, ParameterValue
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import BatteryState, Image, Imu, JointState, NavSatStatus
from std_msgs.msg import Bool, ByteMultiArray, Empty, Float64, Header, Int8, String, UInt8
from std_srvs.srv import SetBool, Trigger


def fails(message: str):
    return pytest.raises(AssertionError, match=message)


def test_fields_start_at_zero_or_at_the_default_of_the_definition():
    assert Quaternion() == Quaternion(x=0.0, y=0.0, z=0.0, w=1.0)
    assert Quaternion.W__DEFAULT == 1.0
    assert Pose().orientation.w == 1.0
    assert NavSatStatus().status == -2
    state = JointState()
    assert (state.name, list(state.position), state.header.frame_id) == ([], [], "")
    assert DiagnosticStatus().level == b"\0"


def test_the_fields_and_their_types_can_be_listed():
    assert JointState.get_fields_and_field_types() == {
        "header": "std_msgs/Header",
        "name": "sequence<string>",
        "position": "sequence<double>",
        "velocity": "sequence<double>",
        "effort": "sequence<double>",
    }
    assert PoseWithCovariance.get_fields_and_field_types()["covariance"] == "double[36]"
    assert ParameterDescriptor.get_fields_and_field_types()["floating_point_range"] == (
        "sequence<rcl_interfaces/FloatingPointRange, 1>"
    )
    fields = ParameterValue.get_fields_and_field_types()
    assert fields["byte_array_value"] == "sequence<octet>"
    assert fields["bool_array_value"] == "sequence<boolean>"
    assert Trigger.Request.get_fields_and_field_types() == {}
    assert "_position" in JointState.__slots__


def test_the_constructor_takes_keywords_of_existing_fields_only():
    with fails("Invalid arguments passed to constructor: color"):
        Point(color=1.0)
    with pytest.raises(TypeError):
        Point(1.0, 2.0, 3.0)


def test_a_scalar_of_the_wrong_type_is_refused():
    with fails("The 'data' field must be of type 'float'"):
        Float64().data = 1
    with fails("The 'data' field must be of type 'str'"):
        String(data=b"bytes")
    with fails("The 'data' field must be of type 'bool'"):
        Bool(data=1)
    with fails("The 'data' field must be of type 'int'"):
        Int8(data=1.0)
    with fails("The 'header' field must be a sub message of type 'Header'"):
        JointState(header=Time())
    with fails("The 'level' field must be of type 'bytes' or 'ByteString' with length 1"):
        DiagnosticStatus(level=1)


def test_a_scalar_out_of_range_is_refused():
    with fails(r"The 'data' field must be an integer in \[-128, 127\]"):
        Int8(data=128)
    with fails(r"The 'data' field must be an unsigned integer in \[0, 255\]"):
        UInt8(data=-1)
    with fails(r"The 'voltage' field must be a float in \[-3.402823466e\+38, 3.402823466e\+38\]"):
        BatteryState(voltage=1e39)
    assert BatteryState(voltage=float("inf")).voltage == float("inf")
    assert np.isnan(Float64(data=float("nan")).data)


def test_a_sequence_of_the_wrong_elements_is_refused():
    with fails("The 'position' field must be a set or sequence and each value of type 'float'"):
        JointState().position = [1, 2]
    with fails("The 'name' field must be a set or sequence and each value of type 'str'"):
        JointState(name="one")
    with fails("array.array\\(\\) must have the type code of 'd'"):
        JointState().position = array("f", [1.0])
    with fails("The 'floating_point_range' field must be a set or sequence with length <= 1"):
        ParameterDescriptor(floating_point_range=[FloatingPointRange(), FloatingPointRange()])
    with fails("The 'covariance' numpy.ndarray\\(\\) must have a size of 36"):
        PoseWithCovariance().covariance = np.zeros(6)
    with fails("The 'covariance' numpy.ndarray\\(\\) must have the dtype of 'numpy.float64'"):
        PoseWithCovariance().covariance = np.zeros(36, dtype=np.float32)
    with fails("The 'covariance' field must be a set or sequence with length 36"):
        PoseWithCovariance().covariance = [0.0] * 35


def test_numbers_are_held_in_arrays():
    state = JointState(position=[1.0, 2.0], velocity=np.array([3.0, 4.0]))
    assert state.position == array("d", [1.0, 2.0])
    assert state.velocity == array("d", [3.0, 4.0])
    own = array("d", [5.0])
    state.effort = own
    assert state.effort is own
    assert isinstance(Imu().orientation_covariance, np.ndarray)
    assert Image(data=b"\x01\x02").data == array("B", [1, 2])
    assert ByteMultiArray(data=[b"\x01", b"\x02"]).data == [b"\x01", b"\x02"]
    odometry = Odometry()
    odometry.pose.covariance[0] = 1.0
    assert odometry.pose.covariance[0] == 1.0
    assert Odometry().pose.covariance[0] == 0.0


def test_constants_can_be_read_but_not_changed():
    assert DiagnosticStatus.ERROR == b"\x02"
    assert NavSatStatus.STATUS_NO_FIX == -1
    assert NavSatStatus().STATUS_NO_FIX == -1
    with pytest.raises(AttributeError):
        NavSatStatus.STATUS_NO_FIX = 0


def test_messages_with_the_same_values_are_equal():
    one = JointState(header=Header(frame_id="a"), name=["j"], position=[1.0])
    other = JointState(header=Header(frame_id="a"), name=["j"], position=[1.0])
    assert one == other
    other.header.frame_id = "b"
    assert one != other
    assert Empty() == Empty()
    assert one != Empty()
    with pytest.raises(TypeError):
        hash(one)


def test_a_message_shows_its_values():
    text = repr(JointState(name=["j"], position=[1.0]))
    assert text == (
        "sensor_msgs.msg.JointState(header=std_msgs.msg.Header(stamp=builtin_interfaces.msg.Time"
        "(sec=0, nanosec=0), frame_id=''), name=['j'], position=[1.0], velocity=[], effort=[])"
    )
    assert repr(SetBool.Request(data=True)) == "std_srvs.srv.SetBool_Request(data=True)"


def test_a_deep_copy_shares_nothing():
    one = JointState(header=Header(frame_id="a"), position=[1.0])
    shallow, deep = copy(one), deepcopy(one)
    assert one == shallow == deep
    one.header.frame_id = "b"
    one.position[0] = 2.0
    assert shallow == one
    assert (deep.header.frame_id, deep.position[0]) == ("a", 1.0)


def test_what_is_serialised_comes_back():
    for message in (
        JointState(header=Header(frame_id="ä"), name=["a", "bc"], position=[1.0], effort=[2.0]),
        Odometry(child_frame_id="base", pose=PoseWithCovariance(covariance=np.arange(36.0))),
        DiagnosticStatus(level=b"\x02", name="n"),
        ParameterValue(type=6, bool_array_value=[True, False], byte_array_value=[b"a"]),
        Empty(),
        Trigger.Response(success=True, message="done"),
    ):
        data = serialize_message(message)
        assert data[:4] == b"\x00\x01\x00\x00"
        back = deserialize_message(data, type(message))
        assert back == message
        assert repr(back) == repr(message)
