# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of what the end effector of a simulated robot takes or holds."""

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import SetBool

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_dynamics.simulation import HeldMechanism, Sample
from vms_ph_io.tasks.payload_use import PayloadUse

from ..messages.frames import inertial_frame, with_prefix
from .engine import Engine
from .grasp_markers import BodyMarkers, mechanism_pose, mechanism_shapes
from .payload_publishers import OnBodyChange, PayloadPublishers

MECHANISM_STATES = "vms_ph/mechanism_states"

_NAME = "mechanism"


class MechanismPublisher:
    """Publishes ``vms_ph/mechanism_states``: angle, its rate, and the moment of the grip.

    ``vms_ph/scene`` has its markers.
    """

    def __init__(
        self, node: Node, model: VMSModel, home: Array, mechanism: HeldMechanism, frame: str
    ) -> None:
        """Create the topics.

        Args:
            node: of the publishers.
            model: the robot.
            home: (nq,) configuration in which it takes hold.
            mechanism: the mechanism.
            frame: the inertial frame, with its prefix.
        """
        self._states = node.create_publisher(JointState, MECHANISM_STATES, 10)
        self._scene = BodyMarkers(node, frame, _NAME, mechanism_shapes(mechanism.mechanism))
        d = model.evaluate(home, np.zeros(model.nv))
        self._handle = d.placement(model.end_effector)[:3, 3].copy()

    def publish(self, mechanism: HeldMechanism, stamp: Time) -> None:
        """Publish the mechanism."""
        self._states.publish(
            JointState(
                header=Header(stamp=stamp),
                name=[_NAME],
                position=[mechanism.angle],
                velocity=[mechanism.rate],
                effort=[mechanism.moment],
            )
        )
        self._scene.publish(
            mechanism_pose(mechanism.mechanism, self._handle, mechanism.angle), stamp
        )


def mechanism_angle(message: JointState) -> float | None:
    """Return the angle in a message, rad; None where it has none that is finite."""
    if list(message.name) != [_NAME] or len(message.position) != 1:
        return None
    angle = float(message.position[0])
    return angle if np.isfinite(angle) else None


class GraspPublishers:
    """The payload or the mechanism of a simulator, as its engine has one, or neither."""

    def __init__(
        self,
        node: Node,
        model: VMSModel,
        home: Array,
        engine: Engine,
        frame_prefix: str,
        on_change: OnBodyChange,
    ) -> None:
        """Create the topics.

        Args:
            node: of the topics.
            model: the robot.
            home: (nq,) its configuration at the start.
            engine: with the payload or the mechanism.
            frame_prefix: of the frames in /tf.
            on_change: see :class:`.PayloadPublishers`.

        Raises:
            OptionError: the robot cannot take the payload.
        """
        self._engine = engine
        inertial = with_prefix(frame_prefix, inertial_frame(model, LinkTree(model.tree).root))
        self._payload: PayloadPublishers | None = None
        if engine.payload is not None:
            frames = (inertial, with_prefix(frame_prefix, model.end_effector))
            self._payload = PayloadPublishers(node, model, home, engine.payload, frames, on_change)
        self._mechanism: MechanismPublisher | None = None
        if engine.held_mechanism is not None:
            self._mechanism = MechanismPublisher(node, model, home, engine.held_mechanism, inertial)

    @property
    def payload_use(self) -> PayloadUse | None:
        """The payload; None without one."""
        return None if self._payload is None else self._payload.use

    def restart(self, simulation: Any) -> None:
        """Reset a simulation, with the payload where it was at the start."""
        if self._payload is None:
            simulation.reset()
        else:
            self._payload.restart(simulation)

    def steps_before_change(self, simulation: Any, steps: int) -> int:
        """Return the steps before the payload is taken or set down, ``steps`` at most."""
        if self._payload is None:
            return steps
        return self._payload.steps_before_change(simulation, steps)

    def change_when_due(self, simulation: Any) -> None:
        """Take the payload or set it down, where it is time for that."""
        if self._payload is not None:
            self._payload.change_when_due(simulation)

    def on_hold(
        self, simulation: Any, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        """Take the payload or set it down on request."""
        assert self._payload is not None
        return self._payload.on_hold(simulation, request, response)

    def sample(self, simulation: Any, now: Sample) -> Sample:
        """Return a sample of the robot alone, on which the payload acts by a wrench."""
        return now if self._payload is None else self._payload.sample(simulation, now)

    def publish(self, simulation: Any, stamp: Time) -> None:
        """Publish what the end effector takes or holds."""
        if self._payload is not None:
            self._payload.publish(simulation, stamp)
        if self._mechanism is not None and self._engine.held_mechanism is not None:
            self._mechanism.publish(self._engine.held_mechanism, stamp)
