# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What the end effector of a simulated robot takes or holds, with its topics."""

from typing import Any

from builtin_interfaces.msg import Time
from rclpy.node import Node
from std_srvs.srv import SetBool

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.robot.links import LinkTree
from vms_ph_dynamics.simulation import Sample
from vms_ph_io.tasks.payload_use import PayloadUse

from ..messages.frames import inertial_frame, with_prefix
from .engine import Engine
from .held_payload import HeldPayload, Tell
from .mechanism_publisher import MechanismPublisher


class HeldPublishers:
    """The payload or the mechanism of a simulator, as its engine has one, or neither."""

    def __init__(
        self,
        node: Node,
        model: VMSModel,
        home: Array,
        engine: Engine,
        frame_prefix: str,
        tell: Tell,
    ) -> None:
        """Create the topics.

        Args:
            node: of the topics.
            model: the robot.
            home: (nq,) its configuration at the start.
            engine: with the payload or the mechanism.
            frame_prefix: of the frames in /tf.
            tell: see :class:`.HeldPayload`.

        Raises:
            OptionError: the robot cannot take the payload.
        """
        self._engine = engine
        inertial = with_prefix(frame_prefix, inertial_frame(model, LinkTree(model.tree).root))
        self._payload: HeldPayload | None = None
        if engine.payload is not None:
            frames = (inertial, with_prefix(frame_prefix, model.end_effector))
            self._payload = HeldPayload(node, model, home, engine.payload, frames, tell)
        self._mechanism: MechanismPublisher | None = None
        if engine.held is not None:
            self._mechanism = MechanismPublisher(node, model, home, engine.held, inertial)

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
        if self._mechanism is not None and self._engine.held is not None:
            self._mechanism.publish(self._engine.held, stamp)
