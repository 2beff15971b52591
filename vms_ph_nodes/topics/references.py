# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""References of a controller on topics: poses, twists, joint positions and wrenches."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import PointStamped, PoseStamped, TwistStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from vms_ph_controllers import Reference
from vms_ph_dynamics import Array, StateError, VMSModel

from ..messages.conversions import from_wrench, from_xyz, joint_values, to_point, to_pose
from ..messages.frames import WORLD, Frames
from ..messages.stamps import LatestMessage
from ..node.health import InputDiagnostics

# Depth of a queue in which a reference takes the place of the one before: a node that is busy must
# not follow old ones.
_DEPTH = 1


class ReferenceTopics:
    """Subscribes to ~/reference_pose, _position, _twist, _joints and _wrench.

    On a fixed base, pose and twist are those of the end effector. On a moving base they are those
    of the frame that the law controls, the base or the end effector; a twist with the frame_id of
    the base is in base axes, as from a joystick. A position is that of the end effector, whose
    orientation is then left as it is, also with laws that lead the base by the pose. A wrench
    is what the end effector is to exert; it ends like a twist, with the timeout.
    """

    def __init__(self, node: Node, timeout: float) -> None:
        """Create the subscriptions.

        Args:
            node: node of the subscriptions.
            timeout: time after which a twist or a wrench no longer acts, s.
        """
        self._model: VMSModel | None = None
        self._takes_base_and_tool = False
        self._input_diagnostics = InputDiagnostics(node)
        # A twist, and whether it is in base axes.
        self._twist = LatestMessage[tuple[Array, bool]](timeout)
        self._wrench = LatestMessage[Array](timeout)
        self.forget()
        node.create_subscription(PoseStamped, "~/reference_pose", self._on_pose, _DEPTH)
        node.create_subscription(PointStamped, "~/reference_position", self._on_position, _DEPTH)
        node.create_subscription(TwistStamped, "~/reference_twist", self._on_twist, _DEPTH)
        node.create_subscription(JointState, "~/reference_joints", self._on_joints, _DEPTH)
        node.create_subscription(WrenchStamped, "~/reference_wrench", self._on_wrench, _DEPTH)

    def serve(self, model: VMSModel, frames: Frames, takes_base_and_tool: bool = False) -> None:
        """Set the robot.

        Args:
            model: the robot.
            frames: its frames.
            takes_base_and_tool: whether a pose is that of the base alone, see :class:`.Controller`.
        """
        self._model, self._frames, self._takes_base_and_tool = model, frames, takes_base_and_tool

    def forget(self) -> None:
        """Discard all received references."""
        # Pose, position and joints by name: those that the law has still to take, and the last.
        self._pending: dict[str, Array] = {}
        self._last_batch: dict[str, Array] = {}
        self._twist.clear()
        self._wrench.clear()

    def repeat(self) -> None:
        """Give the last references again, as to a law that has begun anew in the same task."""
        self._pending = {**self._valid_references(self._pending), **self._pending}

    def set_joints(self, positions: Array) -> None:
        """Set the reference of the joints, (n,) rad or m, for the next call of :meth:`take`."""
        self._pending["joints"] = positions

    def take(self, q: Array) -> Reference:
        """Return the current reference: the last pose, twist and wrench until their timeout.

        Args:
            q: (nq,) configuration, for twists in base axes.
        """
        new, self._pending = self._pending, {}
        self._last_batch = {**self._valid_references(new), **new}
        if self._sets_tool(new):
            new = {"position": new["pose"][:3, 3], **new}
        velocity, base_twist = self._velocities(q)
        return Reference(velocity=velocity, twist=base_twist, wrench=self._wrench_to_exert(), **new)

    def _sets_tool(self, references: dict[str, Array]) -> bool:
        """Whether a pose says where the end effector is to be."""
        return "pose" in references and not self._takes_base_and_tool

    def _valid_references(self, new_references: dict[str, Array]) -> dict[str, Array]:
        """Return the last references that newer ones do not contradict."""
        replaced = ("position",) if self._sets_tool(new_references) else ()
        return {name: value for name, value in self._last_batch.items() if name not in replaced}

    def _wrench_to_exert(self) -> Array | None:
        """Return the wrench to exert: zero, once, when its timeout is over."""
        if self._wrench.last_value is None:
            return None
        if (wrench := self._wrench.value) is None:
            self._wrench.clear()
            return np.zeros(6)
        return wrench

    def _velocities(self, q: Array) -> tuple[Array | None, Array | None]:
        """Return the linear velocity in the inertial frame and the twist in the base's axes."""
        twist_and_frame = self._twist.value
        if twist_and_frame is None or self._model is None:
            return None, None
        twist, in_base_axes = twist_and_frame
        if not self._model.b:
            return twist[:3], None
        rotation = self._model.base_pose(q)[:3, :3]
        if in_base_axes:
            return rotation @ twist[:3], twist
        return twist[:3], np.concatenate([twist[:3] @ rotation, twist[3:] @ rotation])

    def _on_pose(self, message: PoseStamped) -> None:
        with self._input_diagnostics.refusing("a reference pose "):
            position, orientation = from_xyz(message.pose.position), message.pose.orientation
            self._frame_of(message, position)
            quaternion = np.array([orientation.x, orientation.y, orientation.z, orientation.w])
            norm = float(np.linalg.norm(quaternion))
            if not abs(norm - 1.0) < 1e-2:
                raise StateError(f"needs an orientation of length 1; given: length {norm:.4g}")
            self._pending["pose"] = pin.SE3(pin.Quaternion(quaternion / norm), position).homogeneous

    def _on_position(self, message: PointStamped) -> None:
        with self._input_diagnostics.refusing("a reference position "):
            position = from_xyz(message.point)
            self._frame_of(message, position)
            self._pending["position"] = position

    def _on_twist(self, message: TwistStamped) -> None:
        with self._input_diagnostics.refusing("a reference twist "):
            parts = (message.twist.linear, message.twist.angular)
            twist = np.concatenate([from_xyz(vector) for vector in parts])
            frame = self._frame_of(message, twist, accepts_base=True)
            self._twist.update((twist, frame == self._frames.root))

    def _on_joints(self, message: JointState) -> None:
        if self._model is None:
            return
        with self._input_diagnostics.refusing("a reference of the joints "):
            positions = joint_values(self._model, list(message.name), message.position, "position")
            if missing_joints := set(self._model.joint_names) - set(message.name):
                raise StateError(f"needs all joints; missing: {', '.join(sorted(missing_joints))}")
            self._pending["joints"] = positions

    def _on_wrench(self, message: WrenchStamped) -> None:
        with self._input_diagnostics.refusing("a reference wrench "):
            try:
                wrench = from_wrench(message.wrench)
            except StateError as error:
                raise StateError(f"is not usable: {error}") from None
            self._frame_of(message, wrench)
            self._wrench.update(wrench)

    def _frame_of(self, message: Any, numbers: Array, accepts_base: bool = False) -> str:
        """Return the frame of a reference without its prefix.

        Raises:
            StateError: the robot is not known yet, or the frame or a number is not accepted.
        """
        if self._model is None:
            raise StateError("was received before the robot description")
        base_frames = [self._frames.root] if accepts_base and self._model.b else []
        frame = self._frames.checked_frame(message, [self._frames.inertial, WORLD, *base_frames])
        if not np.isfinite(numbers.sum()):
            raise StateError(f"must be finite; given: {numbers.tolist()}")
        return frame


class ReferencePublishers:
    """Publishes references, and the last of each again for a controller that comes later."""

    def __init__(
        self, node: Node, controller: str, model: VMSModel, frames: Frames, kinds: Collection[str]
    ) -> None:
        """Create publishers.

        Args:
            node: of the publishers.
            controller: name of the controller's node.
            model: the robot.
            frames: its frames.
            kinds: of ``pose``, ``position`` and ``joints`` those that will be published.
        """
        self._node, self._joint_names, self._frames = node, list(model.joint_names), frames
        message_types = {"pose": PoseStamped, "position": PointStamped, "joints": JointState}
        self._publishers = {
            kind: node.create_publisher(message_types[kind], f"{controller}/reference_{kind}", 10)
            for kind in message_types
            if kind in kinds
        }
        self._subscriber_counts = dict.fromkeys(self._publishers, 0)
        self._last_messages: dict[str, Any] = {}

    @property
    def have_subscribers(self) -> bool:
        """Whether somebody listens to each of them."""
        return all(p.get_subscription_count() > 0 for p in self._publishers.values())

    def publish(self, reference: Reference) -> None:
        """Publish the fields of a reference that are not None."""
        stamp = self._node.get_clock().now().to_msg()
        header = self._frames.header(self._frames.inertial, stamp)
        if reference.pose is not None:
            self._send("pose", PoseStamped(header=header, pose=to_pose(reference.pose)))
        if reference.position is not None:
            self._send("position", PointStamped(header=header, point=to_point(reference.position)))
        if reference.joints is not None:
            names, positions = self._joint_names, reference.joints.tolist()
            joints = JointState(header=Header(stamp=stamp), name=names, position=positions)
            self._send("joints", joints)

    def repeat_for_new_subscribers(self) -> None:
        """Publish the last references again where the number of listeners has grown."""
        for kind, publisher in self._publishers.items():
            count, last_count = publisher.get_subscription_count(), self._subscriber_counts[kind]
            self._subscriber_counts[kind] = count
            if count > last_count and kind in self._last_messages:
                publisher.publish(self._last_messages[kind])

    def forget(self) -> None:
        """Discard what was published; nothing of it is repeated."""
        self._last_messages.clear()

    def _send(self, kind: str, message: Any) -> None:
        self._last_messages[kind] = message
        self._publishers[kind].publish(message)
