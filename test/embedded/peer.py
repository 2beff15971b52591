# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""One side of a conversation between two runtimes: `peer.py OWN_NAME OTHER_NAME [CLONE]`.

With the folder of a clone the embedded runtime takes part, otherwise the rclpy of this Python. Each
side talks, listens, serves and calls, and prints a line when it has met the other. It goes on to
call until its standard input ends, and then prints the outcome as a line of JSON.
"""

import json
import sys
import threading
import time
from pathlib import Path

own_name, other_name, *clone = sys.argv[1:]
if clone:
    sys.path.insert(0, clone[0])
    from vms_ph_embedded import activate

    activate(Path(clone[0]))

import rclpy
from lifecycle_msgs.msg import TransitionEvent
from lifecycle_msgs.srv import GetState
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import GetParameters
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
TIME = {"one": 1_500_000_000, "two": 2_500_000_000}  # ns; what each tells by /clock of the other

rclpy.init(args=[])
node = LifecycleNode(own_name)
node.declare_parameter("gain", 1.0)
deadline = time.monotonic() + 30.0  # s; it only ends what has failed


def spin_until(condition, until=deadline) -> bool:
    while not (done := condition()) and time.monotonic() < until:
        rclpy.spin_once(node, timeout_sec=0.02)
    return bool(done)


def publish(kind, topic, message, qos=10) -> None:
    publisher = node.create_publisher(kind, topic, qos)
    node.create_timer(0.05, lambda: publisher.publish(message))


def hear(kind, topic, qos=10):
    heard = []
    return heard, node.create_subscription(kind, f"/{other_name}/{topic}", heard.append, qos)


states = JointState(name=["a", "b"], position=[1.0, -2.5], effort=[3.0, 1e300])
publish(JointState, "~/states", states)
publish(JointState, "~/fast", states, BEST_EFFORT)
node.create_publisher(JointState, "~/latched", LATCHED).publish(JointState(name=["once"]))
clock = Clock()
clock.clock.sec, clock.clock.nanosec = divmod(TIME[own_name], 10**9)
publish(Clock, "~/clock", clock)

requests = []


def answer(request, response):
    requests.append(request.data)
    return response


node.create_service(SetBool, "~/switch", answer)

reliable, _ = hear(JointState, "states")
best_effort, _ = hear(JointState, "states", BEST_EFFORT)
latched, _ = hear(JointState, "latched", LATCHED)
fast, _ = hear(JointState, "fast", BEST_EFFORT)
unheard, demanding = hear(JointState, "fast")
parameter_events: list[ParameterEvent] = []
node.create_subscription(ParameterEvent, "/parameter_events", parameter_events.append, 10)
transitions, _ = hear(TransitionEvent, "transition_event")
listener = rclpy.create_node(
    f"{own_name}_in_time",
    cli_args=["--ros-args", "-r", f"/clock:=/{other_name}/clock"],
    parameter_overrides=[Parameter("use_sim_time", value=True)],
)


def now() -> int:
    rclpy.spin_once(listener, timeout_sec=0.0)
    return listener.get_clock().now().nanoseconds


def of_other(events) -> list[float]:
    return [
        changed.value.double_value
        for event in events
        if event.node == f"/{other_name}"
        for changed in (*event.new_parameters, *event.changed_parameters)
        if changed.name == "gain"
    ]


def has_heard_all() -> bool:
    return bool(reliable and best_effort and latched and fast and of_other(parameter_events))


calls = [
    (name, node.create_client(service, f"/{other_name}/{name}"), request)
    for name, service, request in (
        ("switch", SetBool, SetBool.Request(data=True)),
        ("get_state", GetState, GetState.Request()),
        ("get_parameters", GetParameters, GetParameters.Request()),
    )
]

# The other hears it from when it has discovered this node, so it is told again and again.
node.create_timer(0.2, lambda: node.set_parameters([Parameter("gain", value=2.0)]))
node.create_timer(0.2, lambda: (node.trigger_configure(), node.trigger_cleanup()))
outcome = {
    "heard": spin_until(has_heard_all),
    "told of transitions": spin_until(lambda: transitions),
    "time": spin_until(lambda: now() == TIME[other_name]) and now(),
    # The names come by a topic of their own.
    "knows the other": spin_until(lambda: other_name in node.get_node_names()),
    "types": dict(node.get_topic_names_and_types()).get(f"/{other_name}/states"),
    "position": list(reliable[-1].position) if reliable else None,
    "effort": list(reliable[-1].effort) if reliable else None,
    "latched": [list(message.name) for message in latched],
    "gain": of_other(parameter_events)[-1:],
    "answers": {},
}
for name, client, request in calls:
    answer_of_other = "no answer"
    for _ in range(4):  # the first may be lost before the endpoints have matched
        future = client.call_async(request)
        if spin_until(future.done, time.monotonic() + 0.25):
            answer_of_other = str(future.exception() or "answered")
            break
    outcome["answers"][name] = answer_of_other
print("met", flush=True)

# Those who read along may discover the requests later than the one that is called.
_, switch, switch_request = calls[0]
node.create_timer(0.1, lambda: switch.call_async(switch_request))
has_ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), has_ended.set()), daemon=True).start()
spin_until(has_ended.is_set, float("inf"))
outcome["requests"] = requests
outcome["unheard"] = [len(unheard), demanding.get_publisher_count()]
print(json.dumps(outcome), flush=True)
rclpy.try_shutdown()
