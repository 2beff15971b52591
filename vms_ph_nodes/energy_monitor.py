# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Publishes energy, momentum, port powers, the energy balance, and what it tells of the robot."""

from vms_ph.msg import Energy, Identification, Momentum, Power

from vms_ph_dynamics import Friction, PositionTask, VMSModel
from vms_ph_dynamics.energy.audit import EnergyAudit, Flow
from vms_ph_dynamics.energy.task_exchange import TaskExchange

from .messages.conversions import from_stamp, to_stamp
from .messages.energy_messages import to_energy, to_momentum, to_power
from .messages.observations import diagnostic_values, to_identification
from .node.health import OK, WARN
from .node.parameters import declare
from .node.process import run
from .topics.live_identification import LiveIdentifier
from .topics.robot_motion import MotionNode, RobotMotion


class EnergyMonitor(MotionNode):
    """Publishes vms_ph/energy, vms_ph/momentum and vms_ph/power for every joint state.

    ``vms_ph/identification`` follows at most once a period, while the robot moves.
    """

    PARAMETERS = "energy_monitor"

    def __init__(self) -> None:
        super().__init__("energy_monitor")
        self._friction: bool = declare(self, "joint_friction")
        self._tolerance: float = declare(self, "unaccounted_tolerance")
        self._energies = self.create_publisher(Energy, "vms_ph/energy", 10)
        self._momenta = self.create_publisher(Momentum, "vms_ph/momentum", 10)
        self._powers = self.create_publisher(Power, "vms_ph/power", 10)
        self._identifications = self.create_publisher(Identification, "vms_ph/identification", 10)
        self._identifier = LiveIdentifier(self)
        self._published = 0
        self.watch()

    def destroy_node(self) -> None:
        """End the identification, then the node."""
        self._identifier.end()
        super().destroy_node()

    def begin(self, model: VMSModel) -> None:
        """Take the robot."""
        self._task = PositionTask(model)
        self._exchange = TaskExchange(model, self._task)
        self._audit = EnergyAudit()
        self._damping = Friction.of(model) if self._friction else None
        self._joints = model.joint_names
        self._identifier.begin(model)

    def on_motion(self, motion: RobotMotion) -> None:
        """Take a motion of the robot."""
        frames = self._frames
        header = frames.header(frames.inertial, motion.stamp)
        energy = to_energy(header, motion.d, self._task)
        self._energies.publish(energy)
        self._momenta.publish(to_momentum(header, frames.prefix + frames.root, motion.d))
        self._identifier.add(motion)
        if motion.unknown:
            self._audit = EnergyAudit()
            why = f"{motion.unknown}; powers and their balance are unknown"
            self._health.report(WARN, why, self._identified())
            return
        ports, time = motion.ports(self._damping), from_stamp(motion.stamp)
        power, dissipated = ports.supplied(motion.d), ports.dissipated(motion.d)
        flow = Flow(time, energy.total, power, dissipated, motion.port_energies)
        self._audit.add(flow)
        exchange = self._exchange.at(motion.d)
        self._powers.publish(to_power(header, flow, self._audit, exchange))
        self._publish_identification()
        self._report()

    def _publish_identification(self) -> None:
        result = self._identifier.result
        if result is None or result[0] == self._published:
            return
        self._published = result[0]
        header = self._frames.header(self._identifier.frame, to_stamp(result[0]))
        self._identifications.publish(to_identification(header, self._joints, result[1]))

    def _identified(self) -> dict[str, str]:
        return diagnostic_values(self._identifier.disabled, self._identifier.result)

    def _report(self) -> None:
        audit = self._audit
        balanced = abs(audit.unaccounted_energy) <= self._tolerance
        message = "energy balanced" if balanced else f"{audit.unaccounted_energy:.3g} J unaccounted"
        values = {
            "unaccounted energy (J)": f"{audit.unaccounted_energy:.3e}",
            "residual (W)": f"{audit.residual:.3e}",
            **self._identified(),
        }
        self._health.report(OK if balanced else WARN, message, values)


def main() -> None:
    """Run the node."""
    run(EnergyMonitor)
