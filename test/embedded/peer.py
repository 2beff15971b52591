# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""One side of a conversation between two runtimes: `peer.py ROLE SECONDS [CLONE]`.

With the folder of a clone the embedded runtime takes part, otherwise the rclpy of this Python. The
outcome is printed as one line of JSON.
"""

import json
import sys
import time
from pathlib import Path

role, seconds, *clone = sys.argv[1:]
if clone:
    sys.path.insert(0, clone[0])
    from vms_ph_embedded import activate

    activate(Path(clone[0]))

import rclpy
from lifecycle_msgs.srv import GetState
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)

rclpy.init(args=[])
kind = LifecycleNode if role == "serve" else rclpy.node.Node
node = kind(role)
deadline = time.monotonic() + float(seconds)


def spin_until(condition) -> bool:
    while not condition() and time.monotonic() < deadline:
        rclpy.spin_once(node, timeout_sec=0.05)
    return bool(condition())


outcome = {}
if role == "talk":
    states = node.create_publisher(JointState, "states", 10)
    node.create_publisher(JointState, "latched", LATCHED).publish(JointState(name=["once"]))
    message = JointState(name=["a", "b"], position=[1.0, -2.5], effort=[3.0, 1e300])
    node.create_timer(0.02, lambda: states.publish(message))
    spin_until(lambda: False)
elif role == "listen":
    reliable, best_effort, latched = [], [], []
    node.create_subscription(JointState, "states", reliable.append, 10)
    node.create_subscription(JointState, "states", best_effort.append, BEST_EFFORT)
    node.create_subscription(JointState, "latched", latched.append, LATCHED)
    outcome["heard"] = spin_until(lambda: reliable and best_effort and latched)
    # The names come by a topic of their own.
    outcome["knows the talker"] = spin_until(lambda: "talk" in node.get_node_names())
    if reliable:
        outcome["position"] = list(reliable[-1].position)
        outcome["effort"] = list(reliable[-1].effort)
    outcome["latched"] = [list(m.name) for m in latched]
    outcome["types"] = dict(node.get_topic_names_and_types()).get("/states")
elif role == "serve":
    requests = []

    def answer(request, response):
        requests.append(request.data)
        response.success = request.data
        return response

    node.create_service(SetBool, "switch", answer)
    spin_until(lambda: False)
    outcome["requests"] = requests
elif role == "call":
    outcome["answers"] = {}
    for service, name in (SetBool, "switch"), (GetState, "serve/get_state"):
        client = node.create_client(service, name)
        answer = "no answer"
        for _ in range(4):  # the first may be lost before the endpoints have matched
            future = client.call_async(service.Request())
            until = time.monotonic() + 1.0
            while not future.done() and time.monotonic() < until:
                rclpy.spin_once(node, timeout_sec=0.05)
            if future.done():
                answer = str(future.exception() or "answered")
                break
        outcome["answers"][name] = answer
print(json.dumps(outcome), flush=True)
rclpy.try_shutdown()
