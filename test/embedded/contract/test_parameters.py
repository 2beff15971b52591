# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters: declaring, setting, describing, and what other nodes can do with them."""

import pytest
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    ParameterEvent,
    SetParametersResult,
)
from rcl_interfaces.srv import GetParameterTypes, SetParametersAtomically
from rclpy.exceptions import (
    InvalidParameterException,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterAlreadyDeclaredException,
    ParameterImmutableException,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
)
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

Type = Parameter.Type


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (True, Type.BOOL),
        (1, Type.INTEGER),
        (1.0, Type.DOUBLE),
        ("one", Type.STRING),
        ([b"a"], Type.BYTE_ARRAY),
        ([True], Type.BOOL_ARRAY),
        ([1], Type.INTEGER_ARRAY),
        ([1.0], Type.DOUBLE_ARRAY),
        (["one"], Type.STRING_ARRAY),
    ],
)
def test_a_parameter_has_the_type_of_its_value(value, type_):
    parameter = Parameter("p", value=value)
    assert parameter.type_ == type_
    assert parameter.type_.value == parameter.get_parameter_value().type
    back = Parameter.from_parameter_msg(parameter.to_parameter_msg())
    assert (back.name, back.type_, back.get_parameter_value()) == (
        "p",
        type_,
        parameter.get_parameter_value(),
    )
    assert parameter_value_to_python(parameter.get_parameter_value()) == value


def test_a_parameter_cannot_be_anything():
    with pytest.raises(TypeError):
        Parameter("p", value={})
    with pytest.raises(TypeError):
        Parameter("p", value=[1, 2.0])
    with pytest.raises(ValueError, match="do not agree"):
        Parameter("p", Type.INTEGER, 1.0)
    assert Parameter("p").type_ == Type.NOT_SET


def test_a_declared_parameter_has_its_default(ros):
    node = ros.node()
    assert node.declare_parameter("gain", 2.0).value == 2.0
    assert node.get_parameter("gain").value == 2.0
    assert node.get_parameter("gain").type_ == Type.DOUBLE
    assert node.has_parameter("gain")
    assert not node.has_parameter("other")
    assert node.get_parameter("use_sim_time").value is False
    declared = node.declare_parameters(
        "arm", [("speed", 1, ParameterDescriptor()), ("name", "a", ParameterDescriptor())]
    )
    assert [parameter.name for parameter in declared] == ["arm.speed", "arm.name"]
    assert [p.value for p in node.get_parameters(["gain", "arm.speed"])] == [2.0, 1]


def test_declaring_goes_wrong_in_named_ways(ros):
    node = ros.node()
    node.declare_parameter("twice", 1)
    with pytest.raises(ParameterAlreadyDeclaredException):
        node.declare_parameter("twice", 1)
    with pytest.raises(InvalidParameterException):
        node.declare_parameter("", 1)
    with pytest.raises(ParameterNotDeclaredException):
        node.get_parameter("missing")
    with pytest.raises(ParameterNotDeclaredException):
        node.set_parameters([Parameter("missing", value=1)])
    with pytest.raises(ValueError, match="NOT_SET"):
        node.declare_parameter("untyped", None, ParameterDescriptor())
    assert node.get_parameter_or("missing", Parameter("missing", value=5)).value == 5


def test_a_parameter_may_have_a_type_and_no_value(ros):
    node = ros.node()
    node.declare_parameter("later", Type.INTEGER)
    with pytest.raises(ParameterUninitializedException):
        node.get_parameter("later")
    assert node.set_parameters([Parameter("later", value=3)])[0].successful
    assert node.get_parameter("later").value == 3


def test_the_type_of_a_parameter_stays(ros):
    node = ros.node()
    node.declare_parameter("count", 1)
    result = node.set_parameters([Parameter("count", value="many")])[0]
    assert not result.successful
    assert result.reason.startswith("Wrong parameter type")
    assert node.get_parameter("count").value == 1
    node.declare_parameter("any", 1, ParameterDescriptor(dynamic_typing=True))
    assert node.set_parameters([Parameter("any", value="many")])[0].successful
    assert node.get_parameter("any").value == "many"


def test_an_override_replaces_the_default(ros):
    node = ros.node(parameter_overrides=[Parameter("gain", value=5.0), Parameter("n", value="x")])
    assert node.declare_parameter("gain", 2.0).value == 5.0
    assert node.declare_parameter("rate", 2.0).value == 2.0
    with pytest.raises(InvalidParameterTypeException):
        node.declare_parameter("n", 1)


def test_undeclared_parameters_may_be_allowed(ros):
    node = ros.node(allow_undeclared_parameters=True)
    assert node.get_parameter("new").type_ == Type.NOT_SET
    assert node.set_parameters([Parameter("new", value=1)])[0].successful
    assert node.get_parameter("new").value == 1


def test_a_parameter_can_be_undeclared(ros):
    node = ros.node()
    node.declare_parameter("p", 1)
    node.undeclare_parameter("p")
    assert not node.has_parameter("p")
    with pytest.raises(ParameterNotDeclaredException):
        node.undeclare_parameter("p")


def test_a_read_only_parameter_stays_as_it_is(ros):
    node = ros.node()
    node.declare_parameter("p", 1, ParameterDescriptor(read_only=True))
    result = node.set_parameters([Parameter("p", value=2)])[0]
    assert not result.successful
    assert "read-only" in result.reason
    with pytest.raises(ParameterImmutableException):
        node.undeclare_parameter("p")


def test_values_stay_in_their_range(ros):
    node = ros.node()
    span = FloatingPointRange(from_value=0.0, to_value=1.0, step=0.25)
    node.declare_parameter("x", 0.5, ParameterDescriptor(floating_point_range=[span]))
    outcome = {
        value: node.set_parameters([Parameter("x", value=value)])[0].successful
        for value in (0.0, 0.25, 0.3, 1.0, 1.1, -0.1)
    }
    assert outcome == {0.0: True, 0.25: True, 0.3: False, 1.0: True, 1.1: False, -0.1: False}
    steps = IntegerRange(from_value=0, to_value=10, step=5)
    node.declare_parameter("n", 5, ParameterDescriptor(integer_range=[steps]))
    assert node.set_parameters([Parameter("n", value=10)])[0].successful
    assert "out of range" in node.set_parameters([Parameter("n", value=11)])[0].reason
    assert "not a valid step" in node.set_parameters([Parameter("n", value=3)])[0].reason
    with pytest.raises(InvalidParameterValueException):
        node.declare_parameter("y", 2.0, ParameterDescriptor(floating_point_range=[span]))


def test_a_descriptor_is_completed(ros):
    node = ros.node()
    node.declare_parameter("x", 0.5, ParameterDescriptor(description="a number"))
    descriptor = node.describe_parameter("x")
    assert (descriptor.name, descriptor.type, descriptor.description) == ("x", 3, "a number")
    assert node.describe_parameters(["x"])[0] == descriptor


def test_callbacks_change_and_judge_what_is_set(ros):
    node = ros.node()
    node.declare_parameters("", [(name, 1, ParameterDescriptor()) for name in "abc"])

    def judge(parameters):
        bad = [p.name for p in parameters if p.value < 0]
        return SetParametersResult(successful=not bad, reason=f"negative: {bad}" if bad else "")

    def double(parameters):
        return [Parameter(p.name, value=2 * p.value) for p in parameters]

    node.add_on_set_parameters_callback(judge)
    results = node.set_parameters([Parameter("a", value=5), Parameter("b", value=-5)])
    assert [result.successful for result in results] == [True, False]
    assert results[1].reason == "negative: ['b']"
    together = node.set_parameters_atomically([Parameter("a", value=6), Parameter("b", value=-6)])
    assert not together.successful
    assert [node.get_parameter(name).value for name in "ab"] == [5, 1]
    node.add_pre_set_parameters_callback(double)
    assert node.set_parameters([Parameter("c", value=4)])[0].successful
    assert node.get_parameter("c").value == 8


def test_parameters_can_be_listed_by_prefix_and_depth(ros):
    node = ros.node()
    for name in ("a", "arm.x", "arm.y", "arm.tool.z"):
        node.declare_parameter(name, 1)
    everything = node.list_parameters([], 0)
    assert set(everything.names) >= {"a", "arm.x", "arm.y", "arm.tool.z", "use_sim_time"}
    assert set(everything.prefixes) == {"arm", "arm.tool"}
    assert "arm.x" not in node.list_parameters([], 1).names
    assert node.list_parameters(["arm"], 0).names == ["arm.x", "arm.y", "arm.tool.z"]
    assert node.list_parameters(["arm"], 1).names == ["arm.x", "arm.y"]
    assert node.list_parameters(["a"], 0).names == ["a"]


def test_changes_are_announced(ros):
    node, listener, events = ros.node("speaker"), ros.node("listener"), []
    subscription = listener.create_subscription(
        ParameterEvent,
        "/parameter_events",
        lambda event: events.append(event) if event.node == "/speaker" else None,
        100,
    )
    assert ros.spin_until(lambda: subscription.get_publisher_count() == 2)
    node.declare_parameter("p", 1, ParameterDescriptor(dynamic_typing=True))
    node.set_parameters([Parameter("p", value=2)])
    node.set_parameters([Parameter("p")])
    assert ros.spin_until(lambda: len(events) == 3)
    assert [parameter.name for parameter in events[0].new_parameters] == ["p"]
    assert events[1].changed_parameters[0].value.integer_value == 2
    assert [parameter.name for parameter in events[2].deleted_parameters] == ["p"]
    assert events[0].stamp.sec > 0


def test_another_node_can_use_the_parameters(ros):
    node, other = ros.node("owner", namespace="ns"), ros.node("other")
    node.declare_parameter("gain", 2.0, ParameterDescriptor(description="of the loop"))
    node.declare_parameter("names", ["a", "b"])
    client = AsyncParameterClient(other, "/ns/owner")
    assert ros.spin_until(client.services_are_ready)
    values = ros.result(client.get_parameters(["gain", "names"])).values
    assert [parameter_value_to_python(value) for value in values] == [2.0, ["a", "b"]]
    assert len(ros.result(client.get_parameters(["gain", "missing"])).values) < 2
    assert "gain" in ros.result(client.list_parameters()).result.names
    described = ros.result(client.describe_parameters(["gain"])).descriptors
    assert described[0].description == "of the loop"
    results = ros.result(
        client.set_parameters([Parameter("gain", value=3.0), Parameter("gain", value="no")])
    ).results
    assert [result.successful for result in results] == [True, False]
    assert node.get_parameter("gain").value == 3.0
    missing = ros.result(client.set_parameters([Parameter("missing", value=1)])).results[0]
    assert not missing.successful
    assert "undeclared parameter" in missing.reason


def test_types_of_parameters_and_setting_them_together_are_services(ros):
    node, other = ros.node("owner"), ros.node("other")
    node.declare_parameter("gain", 2.0)
    node.declare_parameter("names", ["a", "b"])
    types = other.create_client(GetParameterTypes, "/owner/get_parameter_types")
    together = other.create_client(SetParametersAtomically, "/owner/set_parameters_atomically")
    assert ros.spin_until(lambda: types.service_is_ready() and together.service_is_ready())
    answer = ros.result(types.call_async(GetParameterTypes.Request(names=["gain", "names"])))
    assert list(answer.types) == [3, 9]
    parameters = [Parameter("gain", value=4.0), Parameter("names", value=1)]
    request = SetParametersAtomically.Request(parameters=[p.to_parameter_msg() for p in parameters])
    assert not ros.result(together.call_async(request)).result.successful
    assert node.get_parameter("gain").value == 2.0
