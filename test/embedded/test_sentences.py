# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What the subset lacks says so in one sentence that names it."""

import importlib
import json
from pathlib import Path

import pytest
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Empty

from vms_ph_embedded import subset

GOLDEN = Path(__file__).with_name("golden")


def sentence(name):
    return f"{name} is not part of the embedded ROS runtime of vms_ph: COVERAGE.md lists what is"


@pytest.mark.parametrize("name", ["rclpy.action", "rclpy.wait_for_message", "rclpy.waitable"])
def test_a_missing_module(name):
    with pytest.raises(ImportError, match=sentence(name)):
        importlib.import_module(name)


def test_a_missing_module_by_from():
    with pytest.raises(ImportError, match=sentence("rclpy.action")):
        from rclpy import action  # noqa: F401


def test_a_missing_name_of_a_module():
    with pytest.raises(AttributeError, match=sentence("rclpy.qos.qos_check_compatible")):
        rclpy.qos.qos_check_compatible  # noqa: B018
    with pytest.raises(ImportError, match=sentence("rclpy.qos.qos_check_compatible")):
        from rclpy.qos import qos_check_compatible  # noqa: F401
    with pytest.raises(ImportError, match=sentence("tf2_ros.Buffer")):
        from tf2_ros import Buffer  # noqa: F401
    assert not hasattr(rclpy.qos, "qos_check_compatible")


def test_a_missing_message_service_or_action():
    with pytest.raises(ImportError, match=sentence("std_msgs.msg.Colour")):
        from std_msgs.msg import Colour  # noqa: F401
    with pytest.raises(ImportError, match=sentence("nav_msgs.srv.GetPlan")):
        from nav_msgs.srv import GetPlan  # noqa: F401
    with pytest.raises(ImportError, match=sentence("action_msgs.action")):
        importlib.import_module("action_msgs.action")
    with pytest.raises(AttributeError, match="there is no message std_msgs"):
        importlib.import_module("std_msgs.msg").Colour  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Enrgy'"):
        from vms_ph.msg import Enrgy  # noqa: F401


def test_a_missing_method(ros):
    node = ros.node()
    with pytest.raises(AttributeError, match=sentence("Node.add_waitable")):
        node.add_waitable(None)
    with pytest.raises(AttributeError, match="'Node' object has no attribute 'colour'"):
        node.colour  # noqa: B018
    publisher = node.create_publisher(Empty, "e", 1)
    with pytest.raises(AttributeError, match=sentence("Publisher.assert_liveliness")):
        publisher.assert_liveliness()


def test_a_missing_argument(ros):
    node = ros.node()
    with pytest.raises(NotImplementedError, match="event_callbacks"):
        node.create_publisher(Empty, "e", 1, event_callbacks=object())
    with pytest.raises(NotImplementedError, match="qos_overriding_options"):
        node.create_subscription(Empty, "e", print, 1, qos_overriding_options=object())
    with pytest.raises(NotImplementedError, match="enable_logger_service"):
        Node("n", enable_logger_service=True)
    best = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_AVAILABLE)
    with pytest.raises(NotImplementedError, match="BEST_AVAILABLE is not"):
        node.create_publisher(Empty, "e", best)
    with pytest.raises(NotImplementedError, match="--log-config-file is not"):
        rclpy.Context().init(["p", "--ros-args", "--log-config-file", "f"])


def test_the_sentence_is_one():
    text = subset.missing_message("rclpy.x")
    assert text.count(".") == text.count("rclpy.x") + text.count("COVERAGE.md") + 1


# What rclpy's own Node keeps under a name with one underscore; a subclass may use any other.
NAMES_OF_RCLPY = {
    *("_allow_undeclared_parameters", "_clients", "_clock", "_context", "_default_callback_group"),
    *("_descriptors", "_logger", "_on_set_parameters_callbacks"),
    *("_parameter_event_publisher", "_parameter_overrides", "_parameter_service", "_parameters"),
    *("_post_set_parameters_callbacks", "_pre_set_parameters_callbacks", "_publishers"),
    *("_rate_group", "_services", "_subscriptions", "_time_source", "_timers", "_wake_executor"),
}


def test_a_node_leaves_other_names_to_its_subclasses(ros):
    names = {name for name in (*dir(Node), *vars(ros.node())) if not name.startswith("__")}
    private = {name for name in names if name.startswith("_") and not name.startswith("_ros_")}
    assert private <= NAMES_OF_RCLPY
    of_rclpy = json.loads((GOLDEN / "rclpy_names.json").read_text())["rclpy.node.Node"]
    assert {name for name in names if not name.startswith("_")} <= set(of_rclpy)
