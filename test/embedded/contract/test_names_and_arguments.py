# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Names, remapping, and what --ros-args can say."""

import pytest
import rclpy
from rclpy.exceptions import (
    InvalidNamespaceException,
    InvalidNodeNameException,
    InvalidServiceNameException,
    InvalidTopicNameException,
)
from rclpy.node import Node
from rclpy.utilities import remove_ros_args
from std_msgs.msg import Empty
from std_srvs.srv import Trigger


@pytest.fixture
def node_with():
    """Makes a node in a process that was started with some arguments."""
    contexts = []

    def make(*args, name="node", **kwargs):
        context = rclpy.Context()
        context.init(["program", *args])
        contexts.append(context)
        node = Node(name, context=context, **kwargs)
        contexts.append(node)
        return node

    yield make
    for made in reversed(contexts):
        made.destroy_node() if isinstance(made, Node) else made.try_shutdown()


def ros_args(*args):
    return ("--ros-args", *args)


def test_names_are_relative_private_or_absolute(ros):
    node = ros.node("arm", namespace="left")
    assert node.get_name() == "arm"
    assert node.get_namespace() == "/left"
    assert node.get_fully_qualified_name() == "/left/arm"
    assert node.resolve_topic_name("x") == "/left/x"
    assert node.resolve_topic_name("~/x") == "/left/arm/x"
    assert node.resolve_topic_name("/x") == "/x"
    assert node.resolve_topic_name("{node}/x") == "/left/arm/x"
    assert node.resolve_service_name("~/s") == "/left/arm/s"
    publisher = node.create_publisher(Empty, "~/x", 1)
    assert (publisher.topic, publisher.topic_name) == ("~/x", "/left/arm/x")
    assert node.create_service(Trigger, "s", lambda _, r: r).service_name == "/left/s"


@pytest.mark.parametrize(
    ("use", "bad", "error"),
    [
        (lambda _, name: Node(name), ["", "1arm", "a-b", "a/b"], InvalidNodeNameException),
        (
            lambda _, name: Node("n", namespace=name),
            ["/a/", "//a", "/a-b", "/1a"],
            InvalidNamespaceException,
        ),
        (
            lambda node, name: node.create_publisher(Empty, name, 1),
            ["", "a/", "a?b", "a~", "1a", "a/1b", "~ab", "{a", "a}", "{a{b}}", "/", "/a//b", "/1a"],
            InvalidTopicNameException,
        ),
        (
            lambda node, name: node.create_client(Trigger, name),
            ["", "a/", "a?b", "/a//b"],
            InvalidServiceNameException,
        ),
    ],
    ids=["node", "namespace", "topic", "service"],
)
def test_names_follow_rules(use, bad, error, ros):
    node = ros.node()
    for name in bad:
        with pytest.raises(error):
            use(node, name)


def test_the_fault_in_a_name_is_pointed_at(ros):
    with pytest.raises(InvalidNodeNameException) as caught:
        Node("a-b")
    assert str(caught.value) == (
        "Invalid node name: node name must not contain characters other than alphanumerics or "
        "'_':\n  'a-b'\n    ^"
    )
    with pytest.raises(InvalidNamespaceException):
        Node("a", namespace="b c")
    node = ros.node()
    with pytest.raises(InvalidTopicNameException):
        node.create_publisher(Empty, "a b", 1)
    with pytest.raises(InvalidTopicNameException):
        node.create_subscription(Empty, "a//b", lambda _: None, 1)
    with pytest.raises(InvalidServiceNameException):
        node.create_service(Trigger, "a b", lambda _, r: r)
    with pytest.raises(InvalidServiceNameException):
        node.create_client(Trigger, "a?")


def test_topics_and_services_are_remapped(node_with):
    node = node_with(*ros_args("-r", "x:=y", "--remap", "/abs:=/else/where", "-r", "~/p:=q"))
    assert node.resolve_topic_name("x") == "/y"
    assert node.resolve_topic_name("x", only_expand=True) == "/x"
    assert node.resolve_topic_name("/abs") == "/else/where"
    assert node.resolve_topic_name("~/p") == "/q"
    assert node.resolve_service_name("x") == "/y"
    assert node.create_publisher(Empty, "x", 1).topic_name == "/y"


def test_a_remapping_may_be_for_topics_services_or_one_node_only(node_with):
    node = node_with(
        *ros_args("-r", "rostopic://x:=t", "-r", "rosservice://x:=s", "-r", "other:z:=w")
    )
    assert node.resolve_topic_name("x") == "/t"
    assert node.resolve_service_name("x") == "/s"
    assert node.resolve_topic_name("z") == "/z"
    assert node_with(*ros_args("-r", "other:z:=w"), name="other").resolve_topic_name("z") == "/w"


def test_the_first_remapping_that_matches_counts(node_with):
    node = node_with(*ros_args("-r", "x:=first", "-r", "x:=second"))
    assert node.resolve_topic_name("x") == "/first"
    node = node_with(*ros_args("-r", "x:=g"), cli_args=["-r", "x:=l"])
    assert node.resolve_topic_name("x") == "/l"
    node = node_with(*ros_args("-r", "x:=g"), use_global_arguments=False)
    assert node.resolve_topic_name("x") == "/x"


def test_the_node_and_its_namespace_are_remapped(node_with):
    node = node_with(*ros_args("-r", "__node:=other", "-r", "__ns:=/left"))
    assert node.get_fully_qualified_name() == "/left/other"
    assert node.resolve_topic_name("~/x") == "/left/other/x"
    node = node_with(*ros_args("-r", "someone:__node:=other"))
    assert node.get_name() == "node"


def test_parameters_have_the_type_that_yaml_gives_them(node_with):
    node = node_with(
        *ros_args(
            *("-p", "b:=true", "-p", "i:=3", "-p", "d:=2.5", "-p", "e:=1e-3", "-p", "s:=word"),
            *("-p", "q:='3'", "-p", "l:=[1, 2]", "-p", "f:=[1.0, 2.5]", "-p", "n:=[a, b]"),
        )
    )
    defaults = {
        "b": False,
        "i": 0,
        "d": 0.0,
        "e": 0.0,
        "s": "",
        "q": "",
        "l": [0],
        "f": [0.0],
        "n": [""],
    }
    values = {name: node.declare_parameter(name, value).value for name, value in defaults.items()}
    assert values == {
        "b": True,
        "i": 3,
        "d": 2.5,
        "e": 1e-3,
        "s": "word",
        "q": "3",
        "l": [1, 2],
        "f": [1.0, 2.5],
        "n": ["a", "b"],
    }


def test_a_parameter_may_be_for_one_node_only(node_with):
    args = ros_args("-p", "node:x:=1", "-p", "other:x:=2")
    assert node_with(*args).declare_parameter("x", 0).value == 1
    assert node_with(*args, name="third").declare_parameter("x", 0).value == 0


def test_parameters_come_from_files(node_with, tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text(
        """
/**:
  ros__parameters:
    everywhere: 1
    gain: 0.5
/left/**:
  ros__parameters:
    side: left
/*:
  ros__parameters:
    top: true
left:
  node:
    ros__parameters:
      gain: 2.5
      nested: {a: 1, b: {c: [1.0, 2.0]}}
/right/node:
  ros__parameters:
    gain: 9.0
"""
    )
    node = node_with(*ros_args("--params-file", str(file), "-r", "__ns:=/left"))
    defaults = {"everywhere": 0, "gain": 0.0, "side": "", "top": False}
    values = {name: node.declare_parameter(name, value).value for name, value in defaults.items()}
    assert values == {"everywhere": 1, "gain": 2.5, "side": "left", "top": False}
    assert node.declare_parameter("nested.b.c", [0.0]).value == [1.0, 2.0]
    node = node_with(*ros_args("--params-file", str(file), "-p", "node:gain:=7.0"))
    assert node.declare_parameter("gain", 0.0).value == 7.0
    assert node.declare_parameter("top", False).value is True


def test_other_arguments_are_left_alone(node_with):
    line = ["program", "a", "--ros-args", "-r", "x:=y", "--", "b", "--ros-args", "-p", "c:=1"]
    assert remove_ros_args(line) == ["program", "a", "b"]
    assert node_with("-r", "x:=y").resolve_topic_name("x") in ("/x", "/y")  # deprecated in ROS 2


@pytest.mark.parametrize(
    "wrong",
    [
        ("-r", "nonsense"),
        ("-r",),
        ("-p", "nonsense"),
        ("--params-file", "/there/is/no/such/file"),
        ("--log-level", "loud"),
        ("--unknown",),
    ],
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(RuntimeError):
        rclpy.Context().init(["program", "--ros-args", *wrong])


def test_the_log_level_and_the_enclave_are_accepted(node_with):
    node = node_with(*ros_args("--log-level", "node:=debug", "-e", "/enclave"))
    assert node.get_logger().get_effective_level().name == "DEBUG"
