# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes in processes of their own: they find each other, and they end as they should."""

import signal

import pytest
from std_msgs.msg import String
from std_srvs.srv import Trigger

pytestmark = pytest.mark.wire

TALKER = """
import sys
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger

rclpy.init()
node = Node("talker")
publisher = node.create_publisher(String, "words", 10)
node.create_timer(0.05, lambda: publisher.publish(String(data="hello")))
timer = node.create_timer(0.0, lambda: (timer.cancel(), print("ready", flush=True)))
node.create_service(Trigger, "go", lambda _, r: Trigger.Response(success=True, message="went"))
try:
    rclpy.spin(node)
except KeyboardInterrupt:
    print("interrupted")
except ExternalShutdownException:
    print("shut down")
except Exception as error:
    # rclpy looks at its context and then begins to wait; a signal may fall in between.
    if "context is not valid" not in str(error):
        raise
    print("shut down")
print("ok" if rclpy.ok() else "not ok")
node.destroy_node()
rclpy.try_shutdown()
"""


def test_nodes_of_two_processes_talk(ros, ros_process):
    talker = ros_process(TALKER, "--ros-args", "-r", "__ns:=/there", "-r", "__node:=other")
    node, got = ros.node("listener"), []
    node.create_subscription(String, "/there/words", got.append, 10)
    client = node.create_client(Trigger, "/there/go")
    assert ros.spin_until(lambda: len(got) >= 3)
    assert got[0] == String(data="hello")
    assert client.wait_for_service(timeout_sec=10.0)
    assert ros.result(client.call_async(Trigger.Request())).message == "went"
    assert ros.spin_until(lambda: ("other", "/there") in node.get_node_names_and_namespaces())
    services = dict(node.get_service_names_and_types_by_node("other", "/there"))
    assert "/there/go" in services
    talker.send_signal(signal.SIGINT)
    _, errors = talker.communicate(timeout=20)
    assert errors == ""  # not even a warning
    assert ros.spin_until(lambda: "other" not in node.get_node_names())
    assert ros.spin_until(lambda: node.count_publishers("/there/words") == 0)


@pytest.mark.parametrize(
    ("number", "outcome"),
    [(signal.SIGINT, ("interrupted", "shut down")), (signal.SIGTERM, ("shut down",))],
)
def test_a_signal_ends_the_spinning(ros_process, number, outcome):
    process = ros_process(TALKER)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    output, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    # Between two callbacks the spinning just ends; nothing is raised then.
    *said, state = output.splitlines()
    assert set(said) <= set(outcome)
    # A KeyboardInterrupt may be faster than the shutdown that comes with it.
    assert state == "not ok" or said == ["interrupted"]
    assert "Traceback" not in errors


def test_a_signal_wakes_a_node_that_waits_for_ever(ros_process):
    process = ros_process(
        "import rclpy\n"
        "rclpy.init()\n"
        "node = rclpy.create_node('idle', start_parameter_services=False)\n"
        "timer = node.create_timer(0.0, lambda: [timer.cancel(), print('ready', flush=True)])\n"
        "try:\n"
        "    rclpy.spin(node)\n"
        "except KeyboardInterrupt:\n"
        "    pass\n"
        "except rclpy.executors.ExternalShutdownException:\n"
        "    pass\n"
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
