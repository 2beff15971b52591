# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""External efforts on a simulated robot: those from topics, periodic pushes, and a brake.

An effort from a topic ends after a timeout, and is bounded in size. The brake holds a robot that no
controller commands.
"""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from vms_ph_controllers.safety.output_stage import SafeOutput
from vms_ph_dynamics import Allocation, Array, Ports, StateError, VMSModel
from vms_ph_dynamics.integrators.stepper import Efforts
from vms_ph_dynamics.simulation import Pushes, in_world_axes

from ..messages.conversions import NS_PER_SEC, from_wrench, from_wrench_base, joint_values
from ..messages.frames import WORLD, Frames, tool_topic
from ..messages.stamps import LatestMessage
from ..node.health import InputDiagnostics
from ..node.parameters import declare, declare_record

# Acceleration of the whole robot by the largest force, m/s^2: that of a hard crash, twenty times
# the weight. What is beyond it is a mistake in a unit or in a program.
_CRASH_ACCELERATION = 20 * 9.81

# Smallest lever arm of the largest moment, m.
_MIN_LEVER_ARM = 0.1


@dataclass(frozen=True)
class EffortBounds:
    """Largest external efforts; a larger one is refused.

    Attributes:
        force: largest force of a wrench, and on a prismatic joint without an effort limit, N.
        moment: largest moment of a wrench, and on a revolute joint without an effort limit, N m.
    """

    force: float
    moment: float

    @classmethod
    def from_model(cls, model: VMSModel) -> "EffortBounds":
        """Return the bounds of a robot: twenty times its weight, and that at its reach.

        The reach is the length of the chain of joint offsets, with prismatic joints extended.
        """
        force = _CRASH_ACCELERATION * model.total_mass
        return cls(force, force * max(_largest_reach(model), _MIN_LEVER_ARM))

    def check_wrench(self, wrench: Array) -> None:
        """Check a wrench (6,), linear first.

        Raises:
            StateError: its force or its moment is beyond the bound.
        """
        for quantity, vector, limit, unit in (
            ("force", wrench[:3], self.force, "N"),
            ("moment", wrench[3:], self.moment, "N m"),
        ):
            # The largest component does not overflow where the length does.
            length = float(np.abs(vector).max())
            length = length if length > limit else float(np.linalg.norm(vector))
            if length > limit:
                raise StateError(
                    f"a wrench has a {quantity} of {length:.4g} {unit}; at most {limit:.4g} {unit} "
                    f"can act on this robot (parameter largest_{quantity})"
                )

    def joint_bounds(self, model: VMSModel) -> Array:
        """Return the largest torque or force of every joint, (n,), N m or N."""
        bounds = np.where(model.joints.prismatic, self.force, self.moment)
        return np.minimum(model.joints.effort, bounds)


def _largest_reach(model: VMSModel) -> float:
    """Return an upper bound of the distance from the first joint to the end effector, m."""
    robot, joints = model.tree.pinocchio, model.joints
    tool = robot.frames[model.frame_id(model.end_effector)]
    # The first of these is the universe, the second the base or the first joint.
    chain = list(robot.supports[tool.parentJoint])[2:]
    offsets = [robot.jointPlacements[i].translation for i in chain] + [tool.placement.translation]
    largest_positions = np.maximum(np.abs(joints.lower), np.abs(joints.upper))
    is_sliding = np.array(joints.prismatic, dtype=bool) & np.isfinite(largest_positions)
    return float(sum(map(np.linalg.norm, offsets)) + largest_positions[is_sliding].sum())


class Brake:
    """Compensates gravity and damps the motion, as drives of robots do after their timeout."""

    def __init__(self, model: VMSModel, allocation: Allocation | None) -> None:
        self._safe_outputs = {
            actuated: SafeOutput(model, allocation, actuated) for actuated in (True, False)
        }

    def efforts(self, q: Array, v: Array, dt: float, external: Efforts, actuated: bool) -> Efforts:
        """Return the external efforts with those of the brake in place of torque and base wrench.

        Args:
            q: (nq,) present configuration.
            v: (nv,) present velocity.
            dt: time for which the efforts are held, s.
            external: all other efforts.
            actuated: whether the base has actuators.
        """
        command = self._safe_outputs[actuated].command(q, v, dt)
        brake = Ports(command.torque, command.wrench_base)
        if callable(external):
            return lambda t, x: replace(external(t, x), torque=None, wrench_base=None) + brake
        return replace(external, torque=command.torque, wrench_base=command.wrench_base)


# Time after a reset in which commands are discarded that were sent before it, ns.
_DISCARD_NS = NS_PER_SEC // 10


class ExternalEfforts:
    """Efforts from topics, and the pushes of the parameters ``push.*``.

    ``~/wrench_end_effector``, ``~/wrench/<tool>``, ``~/wrench_base`` and ``~/torque``.
    """

    def __init__(self, node: Node, model: VMSModel, frames: Frames) -> None:
        self._model, self._frames = model, frames
        self._timeout: float = declare(node, "command_timeout")
        self._pushes = declare_record(node, "push", Pushes)
        defaults = EffortBounds.from_model(model)  # where the parameters are 0
        force: float = declare(node, "largest_force") or defaults.force
        self._bounds = EffortBounds(force, declare(node, "largest_moment") or defaults.moment)
        self._largest_torque = self._bounds.joint_bounds(model)
        self._input_diagnostics = InputDiagnostics(node)
        self._ignored_until_ns = 0
        self._discard_all()
        tool_by_topic = {"~/wrench_end_effector": model.end_effector}
        tool_by_topic |= {f"~/wrench/{tool_topic(name)}": name for name in model.tools}
        for topic, tool in tool_by_topic.items():
            node.create_subscription(WrenchStamped, topic, partial(self._on_wrench, tool), 10)
        node.create_subscription(JointState, "~/torque", self._on_effort, 10)
        if model.b:
            node.create_subscription(WrenchStamped, "~/wrench_base", self._on_base_wrench, 10)

    def forget(self) -> None:
        """Discard all efforts, also those that were sent but not received yet."""
        self._ignored_until_ns = time.monotonic_ns() + _DISCARD_NS
        self._discard_all()

    def _discard_all(self) -> None:
        # A wrench, and whether it is in the axes of its tool.
        self._wrenches: dict[str, LatestMessage[tuple[Array, bool]]] = {}
        self._base_wrench = LatestMessage[Array](self._timeout)
        self._torque = LatestMessage[Array](self._timeout)

    @property
    def is_commanded(self) -> bool:
        """Whether torques are in force."""
        return self._torque.value is not None

    @property
    def drives_base(self) -> bool:
        """Whether wrenches of the base have been commanded, or nothing has been yet."""
        return self._base_wrench.last_value is not None or self._torque.last_value is None

    def efforts(self, now: float) -> Efforts:
        """Return the efforts that act from simulated time ``now`` (s) on."""
        if time.monotonic_ns() < self._ignored_until_ns:
            self._discard_all()
        torque, base_wrench = self._torque.value, self._base_wrench.value
        end_effector = self._model.end_effector
        with_axes = {end_effector: (self._pushes.wrench(now), False)} | {
            name: value
            for name, entry in self._wrenches.items()
            if (value := entry.value) is not None
        }
        wrenches = {name: wrench for name, (wrench, _) in with_axes.items()}
        in_world_frame = {name for name, (_, in_tool_axes) in with_axes.items() if not in_tool_axes}
        wrench = wrenches.pop(end_effector)
        ports = Ports(
            np.zeros(self._model.n) if torque is None else torque,
            np.zeros(self._model.b) if base_wrench is None else base_wrench,
            wrench,
            wrench_tools=wrenches or None,
        )
        return in_world_axes(self._model, ports, in_world_frame) if in_world_frame else ports

    def _on_wrench(self, tool: str, message: WrenchStamped) -> None:
        with self._input_diagnostics.refusing():
            accepted_frames = (tool, self._frames.inertial, WORLD)
            frame = self._frames.checked_frame(message, accepted_frames, "a wrench ")
            wrench = from_wrench(message.wrench)
            self._bounds.check_wrench(wrench)
            latest_wrench = self._wrenches.setdefault(tool, LatestMessage(self._timeout))
            latest_wrench.update((wrench, frame in ("", tool)))

    def _on_base_wrench(self, message: WrenchStamped) -> None:
        with self._input_diagnostics.refusing():
            self._frames.checked_frame(message, (self._frames.root,), "a base wrench ")
            self._bounds.check_wrench(from_wrench(message.wrench))
            self._base_wrench.update(from_wrench_base(self._model, message.wrench))

    def _on_effort(self, message: JointState) -> None:
        names, limits = list(message.name), self._largest_torque
        with self._input_diagnostics.refusing():
            for name in names:
                self._model.joint_index(name)  # an unknown one is refused
            torque = joint_values(self._model, names, message.effort, "effort")
            if (np.abs(torque) > limits).any():
                self._input_diagnostics.report(
                    "the part of a torque beyond the limits of the joints", "reduced"
                )
            self._torque.update(np.clip(torque, -limits, limits))
