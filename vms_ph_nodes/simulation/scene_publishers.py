# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of what is around a simulated robot, and of what its end effector takes or holds.

A payload is taken and set down at its times or on request. All nodes know the robot without it:
what it does to the robot is a wrench at the end effector.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA, Header
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker, MarkerArray
from vms_ph.msg import PayloadState

from vms_ph_dynamics import Array, StandardForm, VMSModel
from vms_ph_dynamics.capture import Body
from vms_ph_dynamics.groups import pose
from vms_ph_dynamics.simulation import HeldMechanism, Mechanism, Payload, Sample, Simulation
from vms_ph_dynamics.simulation.contact import Scene, Shape
from vms_ph_io.tasks.payload_use import PayloadUse

from ..messages.conversions import to_pose, to_vector, to_wrench
from ..messages.frames import Frames
from ..messages.observations import CARRIED_INERTIA, to_inertia, to_payload_state
from ..node.robot_parameters import LATCHED
from .engine import Engine

MECHANISM_STATES = "vms_ph/mechanism_states"
PAYLOAD_STATE = "vms_ph/payload_state"

_MECHANISM_NAME = "mechanism"

OnBodyChange: TypeAlias = Callable[[Body | None, Sample | None], None]


def mechanism_angle(message: JointState) -> float | None:
    """Return the angle in a message, rad; None where it has none that is finite."""
    if list(message.name) != [_MECHANISM_NAME] or len(message.position) != 1:
        return None
    angle = float(message.position[0])
    return angle if np.isfinite(angle) else None


class GraspPublishers:
    """The payload or the mechanism of a simulator, as its engine has one, or neither.

    A payload has ``vms_ph/payload_state`` and ``vms_ph/carried_inertia``; a mechanism has
    ``vms_ph/mechanism_states``: angle, its rate, and the moment of the grip. ``vms_ph/scene`` has
    the markers of both.

    Attributes:
        payload_use: the payload; None without one.
    """

    def __init__(
        self,
        node: Node,
        model: VMSModel,
        home: Array,
        engine: Engine,
        frames: Frames,
        on_change: OnBodyChange,
    ) -> None:
        """Create the topics, and put the payload where it will be taken.

        Args:
            node: of the topics.
            model: the robot without the payload.
            home: (nq,) its configuration at the start.
            engine: with the payload or the mechanism.
            frames: of the robot.
            on_change: called with the body that the robot carries, or None, and the sample at which
                it changes; None for that of the start.

        Raises:
            OptionError: the payload would fall before it is taken, or the robot is in water.
        """
        self._engine, self._model, self._carrying_model = engine, model, model
        self._log, self._on_change = node.get_logger(), on_change
        self._frames = frames
        self.payload_use: PayloadUse | None = None
        self._inertia_publisher, self._times_due = None, list[float]()
        if (payload := engine.payload) is not None:
            self.payload_use = PayloadUse(payload, model, home)
            self._times_due = list(self.payload_use.change_times)
            self._publisher = node.create_publisher(PayloadState, PAYLOAD_STATE, 10)
            self._markers, self._body_shapes = BodyMarkers(node, frames), payload_shapes(payload)
            if payload.in_model:
                self._inertia_publisher = node.create_publisher(InertiaStamped, CARRIED_INERTIA, 10)
        elif (mechanism := engine.held_mechanism) is not None:
            self._publisher = node.create_publisher(JointState, MECHANISM_STATES, 10)
            self._markers = BodyMarkers(node, frames)
            self._body_shapes = mechanism_shapes(mechanism.mechanism)
            self._handle_position = model.placement(model.end_effector, home)[:3, 3].copy()

    def restart(self, simulation: Simulation) -> None:
        """Put the payload where it was at the start; the simulation returns there without it."""
        if self.payload_use is None or self.payload_use.load is None:
            simulation.reset()
        else:
            # The law first: the simulation calls it as it begins.
            self._announce_body(None, None)
            simulation.reset(StandardForm(self._model))
        if self.payload_use is not None:
            self.payload_use.reset()
            self._carrying_model, self._times_due = self._model, list(self.payload_use.change_times)

    def steps_before_change(self, simulation: Simulation, steps: int) -> int:
        """Return the number of steps before it is taken or set down, ``steps`` at most."""
        if not self._times_due:
            return steps
        return min(max(round(self._times_due[0] / simulation.dt) - simulation.steps, 0), steps)

    def change_payload_when_due(self, simulation: Simulation) -> None:
        """Take the payload or set it down, where it is time for that."""
        while self._times_due and round(self._times_due[0] / simulation.dt) <= simulation.steps:
            self._times_due.pop(0)
            if not simulation.is_finite():
                continue
            if self.payload_use.load is not None:
                self._set_down(simulation, self.payload_use)
            elif self.payload_use.capture_distance is None:
                self._take(simulation, self.payload_use)

    def set_hold(
        self, simulation: Simulation, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        """Take it or set it down on request."""
        use = self.payload_use
        if request.data and use.load is not None:
            response.message = "the end effector has the payload already"
        elif request.data and use.is_set_down:
            response.message = "the payload was set down; ~/reset puts it where it was"
        elif request.data and use.payload.moves:
            response.message = f"the payload moves; it is taken at {use.payload.capture_time:g} s"
        elif request.data:
            response.success, response.message = self._take(simulation, use)
        elif use.load is None:
            response.message = "the end effector has no payload"
        else:
            response.success, response.message = True, self._set_down(simulation, use)
        return response

    def with_payload(self, simulation: Simulation, sample: Sample) -> Sample:
        """Return a sample in which the payload acts on the end effector by its wrench."""
        if self.payload_use is None:
            return sample
        work = self.payload_use.supplied_work(sample.q, sample.v)
        energies = dict(sample.port_energy)
        energies["wrench_end_effector"] += work
        wrench = sample.wrench_end_effector + self.payload_use.wrench(simulation)
        return replace(sample, wrench_end_effector=wrench, port_energy=energies)

    def publish(self, simulation: Simulation, stamp: Time) -> None:
        """Publish what the end effector takes or holds."""
        if self.payload_use is not None:
            self._publish_payload(simulation, stamp, self.payload_use)
        elif (mechanism := self._engine.held_mechanism) is not None:
            self._publish_mechanism(mechanism, stamp)

    def _publish_payload(self, simulation: Simulation, stamp: Time, use: PayloadUse) -> None:
        sample = simulation.sample()
        pose = use.pose(sample.q, sample.time)
        momentum = use.momentum(simulation, self._carrying_model)
        header = self._frames.header(self._frames.inertial, stamp)
        self._publisher.publish(to_payload_state(header, use, pose, momentum, simulation.resets))
        if self._inertia_publisher is not None:
            tool_header = self._frames.header(self._frames.end_effector, stamp)
            self._inertia_publisher.publish(to_inertia(tool_header, use.load))
        self._markers.publish(stamp, [("payload", self._body_shapes, pose)])

    def _publish_mechanism(self, mechanism: HeldMechanism, stamp: Time) -> None:
        self._publisher.publish(
            JointState(
                header=Header(stamp=stamp),
                name=[_MECHANISM_NAME],
                position=[mechanism.angle],
                velocity=[mechanism.rate],
                effort=[mechanism.moment],
            )
        )
        pose = mechanism_pose(mechanism.mechanism, self._handle_position, mechanism.angle)
        self._markers.publish(stamp, [(_MECHANISM_NAME, self._body_shapes, pose)])

    def _take(self, simulation: Simulation, use: PayloadUse) -> tuple[bool, str]:
        self._carrying_model = use.take(simulation, self._model)
        distance = 1e3 * (use.capture_distance or 0.0)
        if use.load is None:
            sentence = (
                f"the payload is not taken: its handle is {distance:.4g} mm from the end effector, "
                f"within reach are {1e3 * use.payload.reach:.4g} mm"
            )
            self._log.warning(sentence)
            return False, sentence
        sentence = (
            f"the end effector takes {use.payload.mass:g} kg, {distance:.3g} mm from the handle; "
            f"the capture loses {use.losses['capture']:.3g} J"
        )
        self._log.info(sentence)
        self._announce_body(use.load, simulation.sample())
        return True, sentence

    def _set_down(self, simulation: Simulation, use: PayloadUse) -> str:
        self._carrying_model = use.set_down(simulation, self._model)
        sentence = f"the payload is set down, which loses {use.losses['setting_down']:.3g} J"
        self._log.info(sentence)
        self._announce_body(None, simulation.sample())
        return sentence

    def _announce_body(self, body: Body | None, sample: Sample | None) -> None:
        if self._inertia_publisher is not None:  # the law is told
            self._on_change(body, sample)


_GRIPPED_COLOUR = (0.85, 0.55, 0.2, 1.0)
_BODY_COLOUR = (0.45, 0.55, 0.7, 1.0)

# Least edge that is drawn, m.
_MIN_EDGE = 0.01


def payload_shapes(payload: Payload) -> tuple[Shape, ...]:
    """Return the uniform box of its mass and moments, in the axes of its handle."""
    x, y, z = payload.moments
    squared_edges = 6.0 / payload.mass * np.array([y + z - x, z + x - y, x + y - z])
    edges = np.maximum(np.sqrt(np.maximum(squared_edges, 0.0)), _MIN_EDGE)
    return (Shape("box", tuple(edges.tolist()), pose(np.eye(3), payload.centre), _GRIPPED_COLOUR),)


def mechanism_shapes(mechanism: Mechanism) -> tuple[Shape, ...]:
    """Return its axis, its arm and its handle, in the axes of :func:`mechanism_pose`."""
    length = float(np.linalg.norm(mechanism.arm(0.0)))
    arm_pose, handle_pose = np.eye(4), np.eye(4)
    arm_pose[0, 3], handle_pose[0, 3] = 0.5 * length, length
    thickness = max(0.06 * length, _MIN_EDGE)
    return (
        Shape("cylinder", (0.5 * thickness, 0.5 * length), np.eye(4), _BODY_COLOUR),
        Shape("box", (length, 0.5 * thickness, thickness), arm_pose, _BODY_COLOUR),
        Shape("sphere", (thickness,), handle_pose, _GRIPPED_COLOUR),
    )


def mechanism_pose(mechanism: Mechanism, handle_position: Array, angle: float) -> Array:
    """Return the pose of a mechanism, (4,4): x along its arm, z along its axis.

    Args:
        mechanism: the mechanism.
        handle_position: (3,) of its handle at angle zero, m.
        angle: rad.
    """
    arm = mechanism.arm(angle)
    x = arm / np.linalg.norm(arm)
    rotation = np.column_stack([x, np.cross(mechanism.axis, x), mechanism.axis])
    return pose(rotation, handle_position - mechanism.arm(0.0))


# Bodies are drawn anew at every so many samples.
_DECIMATION = 4


class BodyMarkers:
    """Publishes bodies on ``vms_ph/scene``, latched."""

    def __init__(self, node: Node, frames: Frames) -> None:
        """Create the topic."""
        self._frames, self._count = frames, 0
        self._marker_publisher = node.create_publisher(MarkerArray, "vms_ph/scene", LATCHED)

    def publish(
        self,
        stamp: Time,
        bodies: Iterable[tuple[str, Sequence[Shape], Array]],
        tool_shapes: Sequence[Shape] = (),
    ) -> None:
        """Publish bodies, at the first and at every fourth call.

        Args:
            stamp: of the markers.
            bodies: name, shapes in its axes, and pose (4,4) of each.
            tool_shapes: shapes at the end effector, in its axes.
        """
        self._count += 1
        if self._count % _DECIMATION != 1:
            return
        inertial_header = self._frames.header(self._frames.inertial, stamp)
        markers = [
            marker_of(inertial_header, name, i, shape, pose)
            for name, shapes, pose in bodies
            for i, shape in enumerate(shapes)
        ]
        for i, shape in enumerate(tool_shapes):
            # Without a stamp: it moves with the frame of the end effector.
            tool_header = self._frames.header(self._frames.end_effector, Time())
            markers.append(marker_of(tool_header, "tool", i, shape, np.eye(4)))
            markers[-1].frame_locked = True
        self._marker_publisher.publish(MarkerArray(markers=markers))


class ScenePublishers:
    """Publishes ``vms_ph/scene``, latched, and ``vms_ph/contact_wrench``."""

    def __init__(self, node: Node, frames: Frames, scene: Scene) -> None:
        """Create the topics; those of a scene without free bodies are drawn once."""
        self._scene, self._frames, self._is_drawn = scene, frames, False
        self._has_free_bodies = any(body.is_free for body in scene.bodies)
        self._markers = BodyMarkers(node, frames)
        self._wrench_publisher = node.create_publisher(WrenchStamped, "vms_ph/contact_wrench", 10)

    def publish(self, simulation: Any, stamp: Time) -> None:
        """Publish the contacts, and the bodies where they may have moved."""
        engine, scene = simulation.engine, self._scene
        tool_header = self._frames.header(self._frames.end_effector, stamp)
        self._wrench_publisher.publish(to_wrench(tool_header, engine.contact_wrench()))
        if self._has_free_bodies or not self._is_drawn:
            self._is_drawn = True
            bodies = ((body.name, body.shapes, engine.pose_of(body.name)) for body in scene.bodies)
            self._markers.publish(stamp, bodies, scene.tool)


# Edges of the plate that stands for a plane, m.
_PLATE_SIZE = (6.0, 6.0, 0.002)


def marker_of(header: Header, name: str, marker_id: int, shape: Shape, pose: Array) -> Marker:
    """Return a shape of a body at a pose (4,4) as a marker; a capsule as a cylinder."""
    marker_pose = pose @ shape.pose
    marker_types = {"box": Marker.CUBE, "sphere": Marker.SPHERE, "plane": Marker.CUBE}
    r, g, b, a = shape.rgba
    if shape.kind == "plane":
        x, y, z = _PLATE_SIZE
        marker_pose[:3, 3] -= 0.5 * z * marker_pose[:3, 2]
    elif shape.kind == "box":
        x, y, z = shape.size
    elif shape.kind == "sphere":
        x = y = z = 2.0 * shape.size[0]
    else:
        radius, length = shape.size
        x = y = 2.0 * radius
        z = length + (2.0 * radius if shape.kind == "capsule" else 0.0)
    return Marker(
        header=header,
        ns=name,
        id=marker_id,
        type=marker_types.get(shape.kind, Marker.CYLINDER),
        action=Marker.ADD,
        pose=to_pose(marker_pose),
        scale=to_vector((x, y, z)),
        color=ColorRGBA(r=r, g=g, b=b, a=a),
    )
