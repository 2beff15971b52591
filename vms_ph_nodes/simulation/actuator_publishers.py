# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The topics of the actuators of a simulated base and of exergy, and how actuators fail."""

from collections.abc import Mapping
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from vms_ph.msg import Exergy

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.energy.audit import ExergyMap
from vms_ph_dynamics.simulation import HeldMechanism
from vms_ph_io.tasks.payload_use import PayloadUse, with_held

from ..node.parameters import declare


class ActuatorPublisher:
    """Publishes ``vms_ph/actuator_states``, and lets actuators fail.

    Attributes:
        failed: names of those that have failed.
    """

    def __init__(self, node: Node, simulation: Any) -> None:
        """Declare the parameter, and create the topic where the base has actuators.

        Raises:
            VmsPhError: an actuator that has failed does not exist.
        """
        self.failed: str = declare(node, "failed_actuators")
        self._publisher = None
        if getattr(simulation, "actuation", None) is not None:
            self._publisher = node.create_publisher(JointState, "vms_ph/actuator_states", 10)
        if refusal := self.fail(simulation, self.failed):
            raise VmsPhError(refusal)

    def fail(self, simulation: Any, names: str) -> str:
        """Let the named actuators have failed, and no others; return why not, or nothing."""
        if getattr(simulation, "actuation", None) is None:
            return "" if not names else "failed_actuators: the base has no actuators; set actuators"
        words = names.replace(",", " ").split()
        try:
            for word in words:
                simulation.actuation.actuators.index(word.removesuffix("?"))
        except VmsPhError as error:
            return f"failed_actuators: {error}"
        simulation.actuation.repair()
        for word in words:
            simulation.actuation.fail(word.removesuffix("?"), reported=not word.endswith("?"))
        self.failed = names
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
                position=(actuation.tilts + actuation.angles).tolist(),
                velocity=actuation.shaft_rates(simulation.twist).tolist(),
                effort=actuation.step_efforts.inputs.tolist(),
            )
        )


class ExergyMessages:
    """Makes messages of successive maps, with the powers between them."""

    def __init__(self) -> None:
        self._last: tuple[int, float, Mapping[str, float]] | None = None

    def next(self, header: Header, exergy: ExergyMap, resets: int) -> Exergy:
        """Return the message of a map."""
        powers = dict.fromkeys(exergy.destroyed, 0.0)
        if self._last is not None and self._last[0] == resets and exergy.time > self._last[1]:
            passed, before = exergy.time - self._last[1], self._last[2]
            # What is not named before has destroyed nothing before: a thruster that starts to turn.
            powers = {
                name: (e - before.get(name, 0.0)) / passed for name, e in exergy.destroyed.items()
            }
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

    _EVERY = 4

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
        if self._count % self._EVERY == 0:
            exergy = with_held(simulation.exergy_map(), mechanism, payload)
            message = self._messages.next(Header(stamp=stamp), exergy, simulation.resets)
            self._publisher.publish(message)
        self._count += 1
