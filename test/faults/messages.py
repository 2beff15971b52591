# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Faults that come by topic."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseStamped,
    Quaternion,
    Transform,
    TransformStamped,
    Twist,
    TwistStamped,
    Vector3,
    Wrench,
    WrenchStamped,
)
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA, Header, String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray
from vms_ph.msg import ControllerState, PortEnergy, Power

from .world import Fault, World

NAN, INF, HUGE = math.nan, math.inf, 1e155
JOINTS = [f"panda_joint{i}" for i in range(1, 8)]
HOME = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]

TOPICS: dict[str, type] = {
    "/simulator/wrench_end_effector": WrenchStamped,
    "/simulator/torque": JointState,
    "/controller/reference_pose": PoseStamped,
    "/controller/reference_twist": TwistStamped,
    "/controller/reference_joints": JointState,
    "/joint_states": JointState,
    "/vms_ph/wrench_end_effector": WrenchStamped,
    "/vms_ph/port_energy": PortEnergy,
    "/vms_ph/power": Power,
    "/vms_ph/markers": MarkerArray,
    "/controller/state": ControllerState,
    "/tf": TFMessage,
    "/diagnostics": DiagnosticArray,
    "/clock": Clock,
}


def _own() -> Header:
    """A header that shows who published the message."""
    return Header(frame_id="intruder")


def _mangled(how: Callable[[bytes], bytes]) -> Callable[[World], None]:
    def act(world: World) -> None:
        for topic, kind in TOPICS.items():
            world.write(topic, kind, how(serialize_message(kind())))

    return act


def _says(topic: str, message: Any) -> Callable[[World], None]:
    return lambda world: world.publish(topic, message)


def _wrench(force: float, frame: str = "world") -> WrenchStamped:
    return WrenchStamped(header=Header(frame_id=frame), wrench=Wrench(force=Vector3(x=force)))


def _state(**changes: Any) -> Callable[[World], None]:
    fields = {"name": JOINTS, "position": HOME, "velocity": [0.0] * 7, "effort": [0.0] * 7}
    # Made when it is sent: one of them is large.
    return lambda world: world.publish(
        "/joint_states", JointState(**{"header": _own(), **fields, **changes})
    )


def _pose(x: float, w: float, frame: str = "world") -> Callable[[World], None]:
    pose = Pose(position=Point(x=x), orientation=Quaternion(w=w))
    return _says(
        "/controller/reference_pose", PoseStamped(header=Header(frame_id=frame), pose=pose)
    )


def _marker(**fields: Any) -> Callable[[World], None]:
    return _says("/vms_ph/markers", MarkerArray(markers=[Marker(ns="intruder", **fields)]))


def _flood(world: World) -> None:
    for _ in range(2000):
        world.publish("/simulator/wrench_end_effector", _wrench(NAN))


def _strangers(world: World) -> None:
    for k in range(0, 1000, 50):
        status = [DiagnosticStatus(name=f"node_{i}: vms_ph node") for i in range(k, k + 50)]
        world.publish("/diagnostics", DiagnosticArray(status=status))


def _clock(*seconds: int, nanosecond: int = 0) -> Callable[[World], None]:
    def act(world: World) -> None:
        for second in seconds:
            message = Clock()
            message.clock.sec = second
            message.clock.nanosec = nanosecond
            world.publish("/clock", message)

    return act


def _stamped(second: int) -> Callable[[World], None]:
    header = _own()
    header.stamp.sec = second
    return _state(header=header)


def _table() -> Iterator[Fault]:
    yield Fault(
        "text that is not UTF-8 on every topic",
        _mangled(lambda data: data[:4] + data[4:].replace(b"\0", b"\xb0")),
    )
    yield Fault("surplus bytes on every topic", _mangled(lambda data: data + b"surplus!"))
    yield Fault(
        "a message that is cut off on every topic", _mangled(lambda data: data[: len(data) // 2])
    )
    yield Fault(
        "an absurd length on every topic",
        _mangled(lambda data: data[:12] + b"\xff\xff\xff\x7f" + data[16:]),
    )
    yield Fault(
        "an encapsulation of another kind on every topic",
        _mangled(lambda data: b"\0\x07\0\0" + data[4:]),
    )
    wrench = "/simulator/wrench_end_effector"
    yield Fault("a wrench of NaN", _says(wrench, _wrench(NAN)), "a wrench must be finite")
    yield Fault("an infinite wrench", _says(wrench, _wrench(INF)), "a wrench must be finite")
    yield Fault("a wrench of 1e30 N", _says(wrench, _wrench(1e30)), "must be finite and at most")
    yield Fault("a wrench of 1e7 N", _says(wrench, _wrench(1e7)), "a force of 1e.07 N; at most")
    yield Fault(
        "a wrench in an unknown frame", _says(wrench, _wrench(1.0, "moon")), "frame_id 'moon'"
    )
    torque = "/simulator/torque"
    yield Fault(
        "a torque of NaN",
        _says(torque, JointState(name=JOINTS[:1], effort=[NAN])),
        "effort must be finite",
    )
    yield Fault(
        "a torque of 1e8 N m",
        _says(torque, JointState(name=JOINTS[:1], effort=[1e8])),
        "reduced: the part of a torque beyond",
    )
    yield Fault(
        "a torque on an unknown joint",
        _says(torque, JointState(name=["elbow"], effort=[1.0])),
        "'elbow'",
    )
    yield Fault(
        "more torques than joints",
        _says(torque, JointState(name=JOINTS[:1], effort=[1.0, 2.0])),
        "2 entries for 1 joint names",
    )
    yield Fault("a reference pose of NaN", _pose(NAN, 1.0), "a reference pose must be finite")
    yield Fault("a reference pose without orientation", _pose(0.3, 0.0), "orientation of length 1")
    yield Fault("a reference pose in an unknown frame", _pose(0.3, 1.0, "moon"), "frame_id 'moon'")
    twist = TwistStamped(header=Header(frame_id="world"), twist=Twist(linear=Vector3(x=NAN)))
    yield Fault(
        "a reference twist of NaN",
        _says("/controller/reference_twist", twist),
        "a reference twist must be finite",
    )
    yield Fault(
        "reference joints that lack most joints",
        _says("/controller/reference_joints", JointState(name=JOINTS[:1], position=[0.0])),
        "needs all joints",
    )
    yield Fault("joint states of NaN", _state(position=[NAN] * 7))
    yield Fault("joint states with velocities of 1e200", _state(velocity=[1e200] * 7))
    yield Fault("joint states with a glitch of 3 rad", _state(position=[q + 3.0 for q in HOME]))
    yield Fault("joint states with duplicate names", _state(name=JOINTS[:1] * 7))
    yield Fault("joint states without names", _state(name=[]))
    yield Fault("joint states with fewer positions than names", _state(position=HOME[:3]))
    yield Fault("joint states with stamps before all others", _stamped(-5))
    yield Fault("joint states with stamps an hour ahead", _stamped(3600))
    yield Fault(
        "joint states of a million joints",
        _state(name=["a"] * 1_000_000, position=[0.0] * 1_000_000, velocity=[], effort=[]),
    )
    yield Fault(
        "port energies of NaN", _says("/vms_ph/port_energy", PortEnergy(header=_own(), torque=NAN))
    )
    yield Fault(
        "port energies of 1e300 J",
        _says("/vms_ph/port_energy", PortEnergy(header=_own(), torque=1e300)),
    )
    yield Fault(
        "powers of NaN for the page", _says("/vms_ph/power", Power(header=_own(), torque=NAN))
    )
    yield Fault("an arrow with one end", _marker(type=Marker.ARROW, points=[Point()]))
    yield Fault("a sphere of NaN", _marker(type=Marker.SPHERE, scale=Vector3(x=NAN)))
    yield Fault("a colour beyond white", _marker(type=Marker.CUBE, color=ColorRGBA(r=1e30)))
    yield Fault("a marker of an unknown type", _marker(type=99))
    yield Fault(
        "transforms of NaN",
        _says(
            "/tf",
            TFMessage(
                transforms=[
                    TransformStamped(
                        child_frame_id="panda_link1",
                        transform=Transform(translation=Vector3(x=NAN)),
                    )
                ]
            ),
        ),
    )
    yield Fault(
        "transforms of unknown links",
        _says("/tf", TFMessage(transforms=[TransformStamped(child_frame_id="moon")] * 1000)),
    )
    yield Fault(
        "a robot description that is no URDF",
        _says("/robot_description", String(data="<robot")),
        "robot_description is not valid",
    )
    yield Fault(
        "a robot description of ten megabytes",
        _says("/robot_description", String(data="<robot name='a'>" + "<link name='b'/>" * 650_000)),
        "robot_description is not valid",
    )
    yield Fault("a clock that jumps an hour ahead and back", _clock(3600, 0, 7200))
    yield Fault("a clock before zero", _clock(-(2**31)), "is no time")
    end = 2**31 - 1
    yield Fault("a clock at the end of time", _clock(end, nanosecond=999_999_999))
    yield Fault("a clock beyond the end of time", _clock(end, nanosecond=2**32 - 1), "is no time")
    second = DiagnosticStatus(name="simulator: vms_ph node", hardware_id="elsewhere process 1")
    yield Fault(
        "a second simulator in the domain",
        _says("/diagnostics", DiagnosticArray(status=[second])),
        r"another simulator runs in this DDS domain \(elsewhere process 1\)",
    )
    yield Fault("heartbeats of a thousand unknown nodes", _strangers)
    yield Fault("two thousand wrenches at once", _flood, "a wrench must be finite")


MESSAGES = tuple(_table())
