# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topic of the exergy map of a robot with drives or actuators."""

from typing import Any

from builtin_interfaces.msg import Time
from rclpy.node import Node
from std_msgs.msg import Header
from vms_ph.msg import Exergy

from vms_ph_dynamics.simulation import HeldMechanism
from vms_ph_io.tasks.payload_use import PayloadUse
from vms_ph_io.tasks.task_energy import with_held

from ..messages.exergy_message import ExergyMessages
from .engine import Engine


class ExergyPublisher:
    """Publishes ``vms_ph/exergy`` at every fourth sample."""

    _EVERY = 4

    def __init__(self, node: Node) -> None:
        """Create the topic."""
        self._publisher = node.create_publisher(Exergy, "vms_ph/exergy", 10)
        self._messages, self._count = ExergyMessages(), 0

    @classmethod
    def of(cls, node: Node, engine: Engine) -> "ExergyPublisher | None":
        """Return the publisher where the engine knows exergy, else None."""
        return cls(node) if engine.is_ephs or engine.actuators is not None else None

    def publish(
        self, simulation: Any, stamp: Time, held: HeldMechanism | None, payload: PayloadUse | None
    ) -> None:
        """Publish the map of a simulation, with what its end effector holds or takes."""
        if self._count % self._EVERY == 0:
            header, found = Header(stamp=stamp), with_held(simulation.exergy_map(), held, payload)
            self._publisher.publish(self._messages.next(header, found, simulation.resets))
        self._count += 1
