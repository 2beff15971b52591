# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""References of a controller from topics: poses, twists, joint positions and wrenches."""

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import PointStamped, PoseStamped, TwistStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from vms_ph_controllers import Reference
from vms_ph_dynamics import StateError, VMSModel
from vms_ph_dynamics.arrays import Array

from ..messages.conversions import by_name, from_wrench, from_xyz
from ..messages.frames import WORLD, inertial_frame, without_prefix
from ..messages.stamps import Recent
from ..node.health import InputDiagnostics

# Depth of a queue in which a reference takes the place of the one before: a node that is busy must
# not follow old ones.
_LAST = 1


class ReferenceTopics:
    """Subscribes to ~/reference_pose, _position, _twist, _joints and _wrench.

    On a fixed base, pose and twist are those of the end effector. On a moving base they are those
    of the frame that the law controls, the base or the end effector; a twist with the frame_id of
    the base is in base axes, as from a joystick. A position is that of the end effector, whose
    orientation is then left as it is, also with laws that lead the base by the pose. A wrench
    is what the end effector is to exert; it ends like a twist, with the timeout.
    """

    def __init__(self, node: Node, timeout: float, frame_prefix: str = "") -> None:
        """Create the subscriptions.

        Args:
            node: node of the subscriptions.
            timeout: time after which a twist or a wrench no longer acts, s.
            frame_prefix: prefix of the robot's frames in /tf.
        """
        self._prefix = frame_prefix
        self._model: VMSModel | None = None
        self._leads_both = False
        self._input_diagnostics = InputDiagnostics(node)
        # A twist, and whether it is in base axes.
        self._twist = Recent[tuple[Array, bool]](timeout)
        self._wrench = Recent[Array](timeout)
        self.forget()
        node.create_subscription(PoseStamped, "~/reference_pose", self._on_pose, _LAST)
        node.create_subscription(PointStamped, "~/reference_position", self._on_position, _LAST)
        node.create_subscription(TwistStamped, "~/reference_twist", self._on_twist, _LAST)
        node.create_subscription(JointState, "~/reference_joints", self._on_joints, _LAST)
        node.create_subscription(WrenchStamped, "~/reference_wrench", self._on_wrench, _LAST)

    def serve(self, model: VMSModel, root: str, leads_both: bool = False) -> None:
        """Set the robot, with the name of its root link.

        Args:
            model: the robot.
            root: name of its root link.
            leads_both: whether a pose is that of the base alone, see :class:`.Controller`.
        """
        self._model, self._root, self._inertial = model, root, inertial_frame(model, root)
        self._leads_both = leads_both

    def forget(self) -> None:
        """Discard all received references."""
        self._pose: Array | None = None
        self._position: Array | None = None
        self._joints: Array | None = None
        self._twist.forget()
        self._wrench.forget()
        # The last of pose, position and joints that was taken.
        self._last_references: dict[str, Array] = {}

    def repeat(self) -> None:
        """Give the last references again, as to a law that has begun anew in the same task."""
        posed = self._pose is not None and not self._leads_both
        for name, value in self._last_references.items():
            if getattr(self, name) is None and not (posed and name == "_position"):
                setattr(self, name, value)

    def set_joints(self, positions: Array) -> None:
        """Set the reference of the joints, (n,) rad or m, for the next call of :meth:`take`."""
        self._joints = positions

    def take(self, q: Array) -> Reference:
        """Return the current reference: the last pose, twist and wrench until their timeout.

        Args:
            q: (nq,) configuration, for twists in base axes.
        """
        pose, self._pose = self._pose, None
        position, self._position = self._position, None
        joints, self._joints = self._joints, None
        references = {"_pose": pose, "_position": position, "_joints": joints}
        if pose is not None and not self._leads_both:
            self._last_references.pop(
                "_position", None
            )  # a pose says where the end effector is to be
        self._last_references |= {
            name: value for name, value in references.items() if value is not None
        }
        if position is None and pose is not None and not self._leads_both:
            position = pose[:3, 3]
        velocity, base_twist = self._velocities(q)
        return Reference(
            position=position,
            velocity=velocity,
            pose=pose,
            twist=base_twist,
            joints=joints,
            wrench=self._wrench_to_exert(),
        )

    def _wrench_to_exert(self) -> Array | None:
        """Return the wrench to exert: zero, once, when its timeout is over."""
        if self._wrench.last is None:
            return None
        wrench = self._wrench.value
        if wrench is None:
            self._wrench.forget()
            return np.zeros(6)
        return wrench

    def _velocities(self, q: Array) -> tuple[Array | None, Array | None]:
        """Return the linear velocity in the inertial frame and the twist in the base's axes."""
        received = self._twist.value
        if received is None or self._model is None:
            return None, None
        twist, in_base_axes = received
        if not self._model.b:
            return twist[:3], None
        to_inertial = self._model.base_pose(q)[:3, :3]
        if in_base_axes:
            return to_inertial @ twist[:3], twist
        return twist[:3], np.concatenate([twist[:3] @ to_inertial, twist[3:] @ to_inertial])

    def _on_pose(self, message: PoseStamped) -> None:
        with self._refusing("pose"):
            position, o = from_xyz(message.pose.position), message.pose.orientation
            self._check(message, position)
            quaternion = np.array([o.x, o.y, o.z, o.w])
            length = float(np.linalg.norm(quaternion))
            if not abs(length - 1.0) < 1e-2:
                raise StateError(f"needs an orientation of length 1; given: length {length:.4g}")
            self._pose = np.eye(4)
            self._pose[:3, :3] = pin.Quaternion(quaternion / length).toRotationMatrix()
            self._pose[:3, 3] = position

    def _on_position(self, message: PointStamped) -> None:
        with self._refusing("position"):
            position = from_xyz(message.point)
            self._check(message, position)
            self._position = position

    def _on_twist(self, message: TwistStamped) -> None:
        with self._refusing("twist"):
            parts = (message.twist.linear, message.twist.angular)
            twist = np.concatenate([from_xyz(part) for part in parts])
            frame = self._check(message, twist, moving=True)
            in_base_axes = self._model is not None and self._model.b > 0 and frame == self._root
            self._twist.take((twist, in_base_axes))

    def _on_joints(self, message: JointState) -> None:
        if self._model is None:
            return
        with self._refusing("of the joints"):
            positions = by_name(self._model, list(message.name), message.position, "position")
            missing = set(self._model.joint_names) - set(message.name)
            if missing:
                raise StateError(f"needs all joints; missing: {', '.join(sorted(missing))}")
            self._joints = positions

    def _on_wrench(self, message: WrenchStamped) -> None:
        with self._refusing("wrench"):
            try:
                wrench = from_wrench(message.wrench)
            except StateError as error:
                raise StateError(f"is not usable: {error}") from None
            self._check(message, wrench)
            self._wrench.take(wrench)

    def _check(self, message: Any, value: Array, moving: bool = False) -> str:
        """Return the frame of a reference without its prefix.

        Raises:
            StateError: the robot is not known yet, or the frame or a number is not accepted.
        """
        if self._model is None:
            raise StateError("was received before the robot description")
        frame = without_prefix(self._prefix, message.header.frame_id)
        frames = [self._inertial, WORLD, *([self._root] if moving and self._model.b else [])]
        if frame not in ("", *frames):
            raise StateError(
                f"must have the frame {' or '.join(frames)}; given: frame_id '{frame}'"
            )
        if not np.isfinite(value.sum()):
            raise StateError(f"must be finite; given: {value.tolist()}")
        return frame

    def _refusing(self, kind: str) -> AbstractContextManager[None]:
        return self._input_diagnostics.refusing(f"a reference {kind} ")
