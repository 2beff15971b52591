# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of ROS messages from and to arrays, with checks of the received numbers.

Joints are matched by name, never by index.
"""

from collections import Counter
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from builtin_interfaces.msg import Time
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseWithCovariance,
    Quaternion,
    Twist,
    TwistWithCovariance,
    Vector3,
    Wrench,
    WrenchStamped,
)
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_dynamics import Array, StateError, VMSModel
from vms_ph_dynamics.evaluation import in_space, pose_in_space

NS_PER_SEC = 1_000_000_000


# Largest magnitude of a number in a state or an effort, in SI units. No robot comes near it, and
# what is computed from smaller ones cannot overflow.
MAX_VALUE = 1e9


def in_range(values: Array) -> bool:
    """Return whether all values are finite and at most :data:`MAX_VALUE`."""
    return bool((np.abs(values) <= MAX_VALUE).all())


def check_range(values: Array, label: str) -> None:
    """Check the entries of an array.

    Raises:
        StateError: one is not finite or above :data:`MAX_VALUE`; ``label`` begins the message.
    """
    if not in_range(values):
        raise StateError(
            f"{label} must be finite and at most {MAX_VALUE:g}; given: {values.tolist()}"
        )


def require_finite(message: Any) -> None:
    """Check every number in a message, also in the messages within it.

    Args:
        message: any ROS message, or response of a service.

    Raises:
        StateError: a number is infinite or undefined.
    """
    if path := nonfinite_path(message):
        raise StateError(
            f"the result is not finite ({path}): the given state is too far from any that a robot "
            "can have"
        )


def nonfinite_path(message: Any) -> str:
    """Return the path of a field of a message that is not finite, or an empty string."""
    for name, type_name in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        if "/" in type_name:
            messages = value if isinstance(value, list) else [value]
            if subpath := next(filter(None, map(nonfinite_path, messages)), ""):
                return f"{name}.{subpath}"
        elif ("double" in type_name or "float" in type_name) and not np.isfinite(value).all():
            return str(name)
    return ""


@dataclass(frozen=True)
class BaseMotion:
    """Pose and twist of a moving base.

    Attributes:
        q: base part of the configuration, [x y cos sin] or [x y z qx qy qz qw].
        v: (b,) twist of the base in its own axes, linear first.
    """

    q: Array
    v: Array


def to_stamp(nanoseconds: int) -> Time:
    """Return a stamp from nanoseconds."""
    return Time(sec=nanoseconds // NS_PER_SEC, nanosec=nanoseconds % NS_PER_SEC)


def from_stamp(stamp: Time) -> int:
    """Return the nanoseconds of a stamp; its part beyond a second counts as a second's last one."""
    return stamp.sec * NS_PER_SEC + min(stamp.nanosec, NS_PER_SEC - 1)


def to_vector(values: Iterable[float]) -> Vector3:
    """Return three numbers as a vector."""
    x, y, z = map(float, values)
    return Vector3(x=x, y=y, z=z)


def to_point(values: Iterable[float]) -> Point:
    """Return a position (3,), m, as a point."""
    x, y, z = map(float, values)
    return Point(x=x, y=y, z=z)


def to_quaternion(rotation: Array) -> Quaternion:
    """Return a rotation (3,3) as a quaternion."""
    x, y, z, w = pin.Quaternion(rotation).coeffs().tolist()
    return Quaternion(x=x, y=y, z=z, w=w)


def to_pose(pose: Array) -> Pose:
    """Return a pose (4,4) as a message."""
    return Pose(position=to_point(pose[:3, 3]), orientation=to_quaternion(pose[:3, :3]))


def from_xyz(message: Point | Vector3) -> Array:
    """Return a point or a vector as (3,)."""
    return np.array([message.x, message.y, message.z])


def to_joint_state(
    model: VMSModel, header: Header, q: Array, v: Array, torque: Array
) -> JointState:
    """Return a state as a message."""
    return JointState(
        header=header,
        name=list(model.joint_names),
        position=model.joint_positions(q).tolist(),
        velocity=v[model.b :].tolist(),
        effort=torque.tolist(),
    )


def require_length(names: Sized, values: Sized, field_name: str) -> None:
    """Check that a field of a message has as many entries as names.

    Raises:
        StateError: it has more or fewer.
    """
    if len(values) != len(names):
        raise StateError(f"{field_name} has {len(values)} entries for {len(names)} joint names")


def require_unique(names: Sequence[str]) -> None:
    """Check that every joint is named once.

    Raises:
        StateError: one is repeated.
    """
    if len(set(names)) != len(names):
        repeated_name = next(name for name, count in Counter(names).items() if count > 1)
        raise StateError(f"every joint must be named once; {repeated_name} is repeated")


def joint_values(model: VMSModel, names: list[str], values: Array, field_name: str) -> Array:
    """Return values in the model's joint order, zero for joints without an entry.

    Entries of joints that are not in the model (for instance of a locked gripper) are ignored.

    Raises:
        StateError: values and names differ in number, a name is repeated, or an entry is not
            finite or above :data:`MAX_VALUE`.
    """
    require_length(names, values, field_name)
    require_unique(names)
    ordered_values = np.zeros(model.n)
    for name, value in zip(names, values, strict=True):
        if name in model.joint_names:
            ordered_values[model.joint_index(name)] = value
    if not in_range(ordered_values):
        rejected_names = [n for n, x in zip(names, values, strict=True) if not abs(x) <= MAX_VALUE]
        raise StateError(
            f"{field_name} must be finite and at most {MAX_VALUE:g}; it is not for "
            f"{', '.join(rejected_names[:10])}"
        )
    return ordered_values


def from_joint_state(
    model: VMSModel, message: JointState, base: BaseMotion | None = None
) -> tuple[Array, Array, Array]:
    """Return configuration, velocity and joint torques from a message of a request.

    Joints that it does not name are at zero, and so are velocity and effort where it has none. A
    measured state is made by :class:`.StateJoin`, which assumes no zero.

    Args:
        model: the robot.
        message: joints by name; joints that are not in the model are ignored.
        base: motion of a moving base; at the origin and at rest if None.

    Raises:
        StateError: a joint of the model is repeated, or an entry is not finite.
    """
    names = list(message.name)
    positions = joint_values(model, names, message.position, "position")
    rates = joint_values(model, names, message.velocity or [0.0] * len(names), "velocity")
    torques = joint_values(model, names, message.effort or [0.0] * len(names), "effort")
    q, v = from_joints(model, positions, rates)
    return *(with_base(model, q, v, base) if base else (q, v)), torques


def from_joints(model: VMSModel, positions: Array, rates: Array) -> tuple[Array, Array]:
    """Return configuration (nq,) and velocity (nv,) of joints on a base that rests at the origin.

    Args:
        model: the robot.
        positions: (n,) of the joints, rad or m.
        rates: (n,) of the joints, rad/s or m/s.
    """
    displacement = np.concatenate([np.zeros(model.b), positions])
    q = model.integrate(model.neutral_configuration(), displacement)
    return q, np.concatenate([np.zeros(model.b), rates])


def with_base(
    model: VMSModel, q: Array, v: Array, base: BaseMotion, age: float = 0.0
) -> tuple[Array, Array]:
    """Return a state with another motion of its base.

    Args:
        model: the robot.
        q: (nq,) configuration.
        v: (nv,) velocity.
        base: motion of the base.
        age: time over which its pose is predicted with its twist, s.
    """
    q, v = q.copy(), v.copy()
    q[: model.nq_base], v[: model.b] = base.q, base.v
    if age:
        displacement = np.concatenate([age * base.v, np.zeros(model.n)])
        q[: model.nq_base] = model.integrate(q, displacement)[: model.nq_base]
    return q, v


def to_wrench(header: Header, wrench: Array) -> WrenchStamped:
    """Return a wrench (6,), linear first, as a message."""
    wrench_message = Wrench(force=to_vector(wrench[:3]), torque=to_vector(wrench[3:]))
    return WrenchStamped(header=header, wrench=wrench_message)


def from_wrench(message: Wrench) -> Array:
    """Return a wrench as (6,), linear first.

    Raises:
        StateError: an entry is not finite or above :data:`MAX_VALUE`.
    """
    wrench = np.concatenate([from_xyz(message.force), from_xyz(message.torque)])
    check_range(wrench, "a wrench")
    return wrench


def to_wrench_base(header: Header, wrench: Array) -> WrenchStamped:
    """Return the base wrench, (3,) or (6,), as a message."""
    return to_wrench(header, np.concatenate(in_space(len(wrench), wrench)))


def from_wrench_base(model: VMSModel, message: Wrench) -> Array:
    """Return the base wrench as (b,); on a planar base force x, y and moment z.

    Raises:
        StateError: an entry is not finite.
    """
    wrench = from_wrench(message)
    return wrench[[0, 1, 5]] if model.base == "planar" else wrench[: model.b]


# Tolerance of the quaternion norm; odometry in single precision deviates by 1e-7.
_NORM_TOLERANCE = 1e-3


def to_odometry(model: VMSModel, header: Header, base_frame: str, q: Array, v: Array) -> Odometry:
    """Return the odometry of the base; the twist is in the axes of ``base_frame`` (REP-105).

    The frame of ``header`` is the inertial frame. Covariances are zero: the base is simulated.
    """
    position, quaternion = pose_in_space(model.b, q)
    x, y, z, w = quaternion.tolist()
    pose = Pose(position=to_point(position), orientation=Quaternion(x=x, y=y, z=z, w=w))
    linear, angular = in_space(model.b, v[: model.b])
    twist = Twist(linear=to_vector(linear), angular=to_vector(angular))
    return Odometry(
        header=header,
        child_frame_id=base_frame,
        pose=PoseWithCovariance(pose=pose),
        twist=TwistWithCovariance(twist=twist),
    )


def from_odometry(model: VMSModel, message: Odometry) -> BaseMotion:
    """Return the motion of the base in an odometry message; see :func:`from_pose_and_twist`."""
    return from_pose_and_twist(model, message.pose.pose, message.twist.twist)


def from_pose_and_twist(model: VMSModel, pose: Pose, twist: Twist) -> BaseMotion:
    """Return the motion of the base.

    Args:
        model: model of a robot on a moving base.
        pose: pose of the base in the inertial frame; only x, y and yaw are used on a planar base.
        twist: twist of the base in its own axes.

    Raises:
        StateError: an entry is not finite or too large, a quaternion is not normalised, or a planar
            base is tilted.
    """
    p, r = pose.position, pose.orientation
    quaternion = np.array([r.x, r.y, r.z, r.w])
    position = from_xyz(p)
    v = np.concatenate([from_xyz(twist.linear), from_xyz(twist.angular)])
    check_range(np.concatenate([quaternion, position, v]), "the pose and twist of the base")
    norm = float(np.linalg.norm(quaternion))
    if abs(norm - 1.0) > _NORM_TOLERANCE:
        raise StateError(
            "the orientation of the base must be a quaternion of length 1 within "
            f"{_NORM_TOLERANCE:g}; its length is {norm:.6g}"
        )
    quaternion = quaternion / norm
    if model.base == "planar":
        if max(abs(quaternion[0]), abs(quaternion[1])) > _NORM_TOLERANCE:
            raise StateError(
                "a planar base rotates about z only; its orientation has "
                f"x = {quaternion[0]:.4g}, y = {quaternion[1]:.4g}"
            )
        angle = 2 * np.arctan2(quaternion[2], quaternion[3])
        return BaseMotion(np.array([p.x, p.y, np.cos(angle), np.sin(angle)]), v[[0, 1, 5]].copy())
    return BaseMotion(np.concatenate([position, quaternion]), v)
