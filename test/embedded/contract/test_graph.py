# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What nodes can know of each other."""

import pytest
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from rclpy.topic_endpoint_info import TopicEndpointTypeEnum
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger


def test_nodes_know_each_other_by_name(ros):
    one, two = ros.node("one"), ros.node("two", namespace="/ns")
    assert ros.spin_until(lambda: len(one.get_node_names()) == 2)
    assert sorted(one.get_node_names()) == ["one", "two"]
    assert sorted(two.get_node_names_and_namespaces()) == [("one", "/"), ("two", "/ns")]


def test_topics_and_services_are_known_with_their_types(ros):
    node = ros.node()
    node.create_publisher(JointState, "joint_states", 10)
    node.create_subscription(String, "/words", lambda _: None, 10)
    node.create_service(Trigger, "~/go", lambda _, response: response)
    assert ros.spin_until(lambda: len(dict(node.get_topic_names_and_types())) >= 4)
    assert ros.spin_until(lambda: "/node/go" in dict(node.get_service_names_and_types()))
    topics = dict(node.get_topic_names_and_types())
    assert topics["/joint_states"] == ["sensor_msgs/msg/JointState"]
    assert topics["/words"] == ["std_msgs/msg/String"]
    assert topics["/parameter_events"] == ["rcl_interfaces/msg/ParameterEvent"]
    services = dict(node.get_service_names_and_types())
    assert services["/node/go"] == ["std_srvs/srv/Trigger"]
    assert services["/node/set_parameters"] == ["rcl_interfaces/srv/SetParameters"]


def test_endpoints_are_counted(ros):
    node = ros.node(namespace="ns")
    node.create_publisher(String, "words", 10)
    node.create_publisher(String, "words", 10)
    node.create_subscription(String, "words", lambda _: None, 10)
    assert ros.spin_until(lambda: node.count_publishers("words") == 2)
    assert node.count_publishers("/ns/words") == 2
    assert node.count_subscribers("words") == 1
    assert node.count_publishers("/nothing") == 0


def test_endpoints_belong_to_nodes(ros):
    owner, asker = ros.node("owner", namespace="/ns"), ros.node("asker")
    owner.create_publisher(String, "out", 10)
    owner.create_subscription(JointState, "in", lambda _: None, 10)
    owner.create_service(Trigger, "go", lambda _, response: response)
    owner.create_client(Trigger, "/elsewhere")

    def known(method):
        return dict(getattr(asker, f"get_{method}_names_and_types_by_node")("owner", "/ns"))

    assert ros.spin_until(lambda: "owner" in asker.get_node_names())
    assert ros.spin_until(lambda: "/elsewhere" in known("client"))
    assert known("publisher")["/ns/out"] == ["std_msgs/msg/String"]
    assert "/ns/in" not in known("publisher")
    assert known("subscriber") == {"/ns/in": ["sensor_msgs/msg/JointState"]}
    assert known("service")["/ns/go"] == ["std_srvs/srv/Trigger"]
    assert "/elsewhere" not in known("service")
    assert known("client") == {"/elsewhere": ["std_srvs/srv/Trigger"]}
    with pytest.raises(NodeNameNonExistentError):
        asker.get_publisher_names_and_types_by_node("nobody", "/")


def test_endpoints_show_their_quality_of_service(ros):
    node = ros.node("owner")
    latched = QoSProfile(depth=3, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_publisher(String, "words", latched)
    node.create_subscription(String, "words", lambda _: None, qos_profile_sensor_data)
    assert ros.spin_until(lambda: node.count_subscribers("words") == 1)
    (publisher,) = node.get_publishers_info_by_topic("words")
    assert (publisher.node_name, publisher.node_namespace) == ("owner", "/")
    assert publisher.topic_type == "std_msgs/msg/String"
    assert publisher.endpoint_type == TopicEndpointTypeEnum.PUBLISHER
    assert publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert publisher.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    assert "RIHS01_" in str(publisher.topic_type_hash)
    assert len(publisher.endpoint_gid) == 16
    (subscription,) = node.get_subscriptions_info_by_topic("/words")
    assert subscription.endpoint_type == TopicEndpointTypeEnum.SUBSCRIPTION
    assert subscription.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    assert node.get_publishers_info_by_topic("/nothing") == []


def test_a_node_that_has_gone_is_forgotten(ros):
    asker, leaver = ros.node("asker"), ros.node("leaver")
    leaver.create_publisher(String, "words", 10)
    assert ros.spin_until(lambda: asker.count_publishers("words") == 1)
    assert ros.spin_until(lambda: "leaver" in asker.get_node_names())
    leaver.destroy_node()
    assert ros.spin_until(lambda: "leaver" not in asker.get_node_names())
    assert ros.spin_until(lambda: asker.count_publishers("words") == 0)
