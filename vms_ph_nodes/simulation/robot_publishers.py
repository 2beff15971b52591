# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of a simulated robot: states, efforts, energies, transforms, actuators, exergy."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster
from vms_ph.msg import Exergy, PortEnergy

from vms_ph_dynamics import Array, VMSModel, VmsPhError
from vms_ph_dynamics.energy.audit import ExergyMap, PortEnergies
from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_dynamics.simulation import HeldMechanism, Sample
from vms_ph_io.tasks.payload_use import PayloadUse, with_grasp

from ..messages.conversions import (
    from_xyz,
    to_joint_state,
    to_odometry,
    to_vector,
    to_wrench,
    to_wrench_base,
)
from ..messages.energy_messages import to_port_energy
from ..messages.frames import BASE_LINK, Frames, tool_topic
from ..node.parameters import declare
from ..node.robot_parameters import LATCHED


class RobotPublishers:
    """Publishes the topics of a simulated robot, as set by parameters."""

    def __init__(self, node: Node, model: VMSModel, frames: Frames, description: str) -> None:
        self._model, self._frames = model, frames
        self._links = LinkTree(model.tree)
        publishes_tf: bool = declare(node, "publish_tf")
        clock: bool = declare(node, "publish_clock")
        self._joint_state_publisher = node.create_publisher(JointState, "joint_states", 10)
        self._wrench_pub = node.create_publisher(WrenchStamped, "vms_ph/wrench_end_effector", 10)
        self._tool_publishers = {
            name: node.create_publisher(WrenchStamped, f"vms_ph/wrench/{tool_topic(name)}", 10)
            for name in model.tools
        }
        self._energy_publisher = node.create_publisher(PortEnergy, "vms_ph/port_energy", 10)
        if model.b:
            self._odometry_publisher = node.create_publisher(Odometry, "odom", 10)
            self._base_wrench_pub = node.create_publisher(WrenchStamped, "vms_ph/wrench_base", 10)
        self._clock_publisher = node.create_publisher(Clock, "/clock", 10) if clock else None
        self._broadcaster = TransformBroadcaster(node) if publishes_tf else None
        self._static_broadcaster = StaticTransformBroadcaster(node) if publishes_tf else None
        self._description_publisher = node.create_publisher(String, "robot_description", LATCHED)
        self._description_publisher.publish(String(data=description))

    @property
    def publishes_clock(self) -> bool:
        """Whether simulated time is published on /clock."""
        return self._clock_publisher is not None

    def publish_clock(self, stamp: Time) -> None:
        """Publish simulated time on /clock."""
        if self._clock_publisher is not None:
            self._clock_publisher.publish(Clock(clock=stamp))

    def publish(self, sample: Sample, stamp: Time, resets: int) -> None:
        """Publish a sample; joint states last, as subscribers pair the other messages with them."""
        model, frames = self._model, self._frames
        energies = PortEnergies(sample.port_energy, sample.dissipated, resets)
        self._energy_publisher.publish(to_port_energy(Header(stamp=stamp), energies))
        tool_header = frames.header(frames.end_effector, stamp)
        self._wrench_pub.publish(to_wrench(tool_header, sample.wrench_end_effector))
        for name, publisher in self._tool_publishers.items():
            wrench = sample.wrench_tools.get(name, np.zeros(6))
            publisher.publish(to_wrench(frames.header(name, stamp), wrench))
        odometry: Odometry | None = None
        if model.b:
            base_header = frames.header(frames.root, stamp)
            self._base_wrench_pub.publish(to_wrench_base(base_header, sample.wrench_base))
            odometry = self._odometry_of(sample, stamp)
            self._odometry_publisher.publish(odometry)
        joint_state = to_joint_state(model, Header(stamp=stamp), sample.q, sample.v, sample.torque)
        self._joint_state_publisher.publish(joint_state)
        self.publish_transforms(sample, stamp, odometry)

    def _odometry_of(self, sample: Sample, stamp: Time) -> Odometry:
        frames = self._frames
        header = frames.header(frames.inertial, stamp)
        return to_odometry(self._model, header, frames.prefix + frames.root, sample.q, sample.v)

    def publish_transforms(
        self, sample: Sample, stamp: Time, odometry: Odometry | None = None
    ) -> None:
        """Publish on /tf where the links are; ``odometry`` of a moving base if there is one."""
        if self._broadcaster is None:
            return
        transforms = self._link_transforms(sample.q, stamp, is_moving=True)
        if self._model.b:
            transforms.insert(0, _base_transform(odometry or self._odometry_of(sample, stamp)))
        self._broadcaster.sendTransform(transforms)

    def publish_static(self, q: Array, stamp: Time) -> None:
        """Publish the static transforms; base_link coincides with a root of another name."""
        if self._static_broadcaster is None:
            return
        transforms = self._link_transforms(q, stamp, is_moving=False)
        if BASE_LINK not in self._model.link_names:
            base_link = TransformStamped(header=self._frames.header(self._frames.root, stamp))
            base_link.child_frame_id = self._frames.prefix + BASE_LINK
            base_link.transform.rotation.w = 1.0
            transforms.append(base_link)
        self._static_broadcaster.sendTransform(transforms)

    def _link_transforms(self, q: Array, stamp: Time, is_moving: bool) -> list[TransformStamped]:
        poses = self._links.relative_poses(q).tolist()
        return [
            TransformStamped(
                header=self._frames.header(edge.parent, stamp),
                child_frame_id=self._frames.prefix + edge.child,
                transform=Transform(
                    translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(x=qx, y=qy, z=qz, w=qw)
                ),
            )
            for edge, (x, y, z, qx, qy, qz, qw) in zip(self._links.edges, poses, strict=True)
            if edge.moves == is_moving
        ]


def _base_transform(odometry: Odometry) -> TransformStamped:
    pose = odometry.pose.pose
    position = to_vector(from_xyz(pose.position))
    return TransformStamped(
        header=odometry.header,
        child_frame_id=odometry.child_frame_id,
        transform=Transform(translation=position, rotation=pose.orientation),
    )


class ActuatorPublisher:
    """Publishes ``vms_ph/actuator_states``, and lets actuators fail.

    Attributes:
        failed_actuators: names of those that have failed.
    """

    def __init__(self, node: Node, simulation: Any) -> None:
        """Declare the parameter, and create the topic where the base has actuators.

        Raises:
            VmsPhError: an actuator that has failed does not exist.
        """
        self.failed_actuators: str = declare(node, "failed_actuators")
        self._publisher = None
        if getattr(simulation, "actuation", None) is not None:
            self._publisher = node.create_publisher(JointState, "vms_ph/actuator_states", 10)
        if refusal := self.set_failed(simulation, self.failed_actuators):
            raise VmsPhError(refusal)

    def set_failed(self, simulation: Any, names: str) -> str:
        """Let the named actuators have failed, and no others; return why not, or nothing."""
        if getattr(simulation, "actuation", None) is None:
            return "" if not names else "failed_actuators: the base has no actuators; set actuators"
        actuator_names = names.replace(",", " ").split()
        try:
            for name in actuator_names:
                simulation.actuation.actuators.index(name.removesuffix("?"))
        except VmsPhError as error:
            return f"failed_actuators: {error}"
        simulation.actuation.repair()
        for name in actuator_names:
            simulation.actuation.fail(name.removesuffix("?"), reported=not name.endswith("?"))
        self.failed_actuators = names
        return ""

    def publish(self, simulation: Any, stamp: Time) -> None:
        """Publish angles (tilt, steering), rates of shafts, and thrusts or torques."""
        if self._publisher is None:
            return
        actuation = simulation.actuation
        self._publisher.publish(
            JointState(
                header=Header(stamp=stamp),
                name=list(actuation.actuators.names),
                position=(actuation.tilts + actuation.steering_angles).tolist(),
                velocity=actuation.shaft_rates(simulation.twist).tolist(),
                effort=actuation.step_efforts.inputs.tolist(),
            )
        )


class ExergyMessages:
    """Makes messages of successive maps, with the powers between them."""

    def __init__(self) -> None:
        self._last: tuple[int, float, Mapping[str, float]] | None = None

    def next_message(self, header: Header, exergy: ExergyMap, resets: int) -> Exergy:
        """Return the message of a map."""
        powers = dict.fromkeys(exergy.destroyed, 0.0)
        if self._last is not None and self._last[0] == resets and exergy.time > self._last[1]:
            interval, last_energies = exergy.time - self._last[1], self._last[2]
            # What is not named before has destroyed nothing before: a thruster that starts to turn.
            for name, energy in exergy.destroyed.items():
                powers[name] = (energy - last_energies.get(name, 0.0)) / interval
        self._last = resets, exergy.time, exergy.destroyed
        return Exergy(
            header=header,
            stores=list(exergy.stored),
            stored=list(exergy.stored.values()),
            destroyers=list(exergy.destroyed),
            destroyed=list(exergy.destroyed.values()),
            power=list(powers.values()),
            supplied=sum(exergy.supplied.values()),
            residual=exergy.residual,
            bodies=list(exergy.temperatures),
            temperatures=list(exergy.temperatures.values()),
            voltage=exergy.voltage,
            current=exergy.current,
            level=exergy.level,
            resets=resets,
        )


class ExergyPublisher:
    """Publishes ``vms_ph/exergy`` at every fourth sample."""

    _DECIMATION = 4

    def __init__(self, node: Node) -> None:
        """Create the topic."""
        self._publisher = node.create_publisher(Exergy, "vms_ph/exergy", 10)
        self._messages, self._count = ExergyMessages(), 0

    def publish(
        self,
        simulation: Any,
        stamp: Time,
        mechanism: HeldMechanism | None,
        payload: PayloadUse | None,
    ) -> None:
        """Publish the map of a simulation, with what its end effector holds or takes."""
        if self._count % self._DECIMATION == 0:
            exergy = with_grasp(simulation.exergy_map(), mechanism, payload)
            message = self._messages.next_message(Header(stamp=stamp), exergy, simulation.resets)
            self._publisher.publish(message)
        self._count += 1
