# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Publishes energy, momentum, port powers, the energy balance, and the load and friction."""

import threading

import numpy as np
from rclpy.node import Node
from vms_ph.msg import Energy, Identification, Momentum, Power

from vms_ph_dynamics import Friction, PositionTask, VMSModel, VmsPhError
from vms_ph_dynamics.energy.audit import EnergyAudit, EnergySample
from vms_ph_dynamics.energy.task_exchange import TaskExchange
from vms_ph_dynamics.evaluation import in_space
from vms_ph_dynamics.identification.live import LiveIdentification, LiveResult
from vms_ph_dynamics.identification.windows import Sample

from .messages.conversions import NS_PER_SEC, from_stamp, to_stamp
from .messages.energy_messages import to_energy, to_momentum, to_power
from .messages.observations import diagnostic_values, to_identification
from .node.health import OK, WARN
from .node.parameters import declare
from .node.process import run
from .topics.robot_motion import MotionNode, RobotMotion


class LiveIdentifier:
    """Identifies load and friction from the motions it is given.

    :meth:`add` keeps a motion and returns at once. A thread updates the estimate, at most once a
    period; it ends with the process.

    Attributes:
        disabled_reason: why nothing is identified now, or empty.
        result: the estimate, with the stamp in ns of the last motion that was used; None before
            there has been enough motion.
        result_frame: frame of a payload in the result.
    """

    def __init__(self, node: Node) -> None:
        """Declare the parameters ``identify.*``."""
        self._enabled: bool = declare(node, "identify.enabled")
        self._period: float = declare(node, "identify.period")
        self._memory_time: float = declare(node, "identify.memory")
        self._payload_frame: str | None = declare(node, "identify.payload_frame") or None
        self.disabled_reason = "" if self._enabled else "switched off by identify.enabled"
        self.result: tuple[int, LiveResult] | None = None
        self.result_frame = ""
        self._estimator: LiveIdentification | None = None
        self._first_stamp: int | None = None
        self._stop, self._failure = threading.Event(), ""

    def begin(self, model: VMSModel) -> None:
        """Begin for a robot; it stays disabled where the estimator does not support the robot."""
        if not self._enabled:
            return
        try:
            self._estimator = LiveIdentification(model, self._payload_frame, self._memory_time)
        except VmsPhError as error:
            self.disabled_reason = str(error)
            return
        self._model, self.result_frame = model, self._estimator.frame
        threading.Thread(target=self._run, name="identification", daemon=True).start()

    def add(self, motion: RobotMotion) -> None:
        """Keep a motion."""
        if self._estimator is None:
            return
        self.disabled_reason = self._disabled_reason(motion)
        if self.disabled_reason:
            return
        stamp = from_stamp(motion.stamp)
        if self._first_stamp is None:
            self._first_stamp = stamp
        wrenches = dict(motion.wrench_tools)
        if motion.wrench is not None:
            wrenches[self._model.end_effector] = motion.wrench
        if motion.wrench_base is not None and self._model.b:
            wrenches["base"] = np.concatenate(in_space(self._model.b, motion.wrench_base))
        # Times since the first one: seconds since 1970 have a resolution of 0.2 us as a float.
        t = (stamp - self._first_stamp) / NS_PER_SEC
        self._estimator.add(Sample(t, motion.d.q, motion.d.v, motion.torque, wrenches))

    def _disabled_reason(self, motion: RobotMotion) -> str:
        """Return why nothing can be identified, such as unknown work; empty if it can."""
        if problem := self._failure or motion.missing_efforts:
            return problem
        if not motion.torque.any():
            return "the joint states have no efforts"
        if self._model.b and motion.wrench_base is None:
            return "no vms_ph/wrench_base: what the base exchanges is unknown"
        return ""

    def end(self) -> None:
        """End the thread."""
        self._stop.set()

    def _run(self) -> None:
        estimator = self._estimator
        while not self._stop.wait(self._period):
            try:
                live_result = estimator.update()
            except Exception as error:  # the thread ends; the diagnostics then say so
                self._failure = f"the estimator failed: {error}"
                return
            if live_result is not None and self._first_stamp is not None:
                self.result = self._first_stamp + round(live_result.t * NS_PER_SEC), live_result


class EnergyMonitor(MotionNode):
    """Publishes vms_ph/energy, vms_ph/momentum and vms_ph/power for every joint state.

    ``vms_ph/identification`` follows at most once a period, while the robot moves.
    """

    PARAMETER_FILE = "energy_monitor"

    def __init__(self) -> None:
        super().__init__("energy_monitor")
        self._has_friction: bool = declare(self, "joint_friction")
        self._unaccounted_tolerance: float = declare(self, "unaccounted_tolerance")
        self._energy_publisher = self.create_publisher(Energy, "vms_ph/energy", 10)
        self._momentum_publisher = self.create_publisher(Momentum, "vms_ph/momentum", 10)
        self._power_publisher = self.create_publisher(Power, "vms_ph/power", 10)
        self._result_publisher = self.create_publisher(Identification, "vms_ph/identification", 10)
        self._identifier = LiveIdentifier(self)
        self._published_stamp = 0
        self.watch()

    def destroy_node(self) -> None:
        """End the identification, then the node."""
        self._identifier.end()
        super().destroy_node()

    def begin(self, model: VMSModel) -> None:
        """Set up for a robot."""
        self._task = PositionTask(model)
        self._task_power_exchange = TaskExchange(model, self._task)
        self._audit = EnergyAudit()
        self._friction_model = Friction.from_model(model) if self._has_friction else None
        self._joint_names = model.joint_names
        self._identifier.begin(model)

    def on_motion(self, motion: RobotMotion) -> None:
        """Publish what a motion of the robot gives."""
        frames = self._frames
        header = frames.header(frames.inertial, motion.stamp)
        energy = to_energy(header, motion.d, self._task)
        self._energy_publisher.publish(energy)
        self._momentum_publisher.publish(to_momentum(header, frames.prefix + frames.root, motion.d))
        self._identifier.add(motion)
        if motion.missing_efforts:
            self._audit = EnergyAudit()
            message = f"{motion.missing_efforts}; powers and their balance are unknown"
            self._health.report(WARN, message, self._identification_values())
            return
        ports, stamp = motion.ports(self._friction_model), from_stamp(motion.stamp)
        power, dissipated_power = ports.supplied(motion.d), ports.dissipated(motion.d)
        sample = EnergySample(stamp, energy.total, power, dissipated_power, motion.port_energies)
        self._audit.add(sample)
        power_exchange = self._task_power_exchange.exchange(motion.d)
        self._power_publisher.publish(to_power(header, sample, self._audit, power_exchange))
        self._publish_identification()
        self._report()

    def _publish_identification(self) -> None:
        result = self._identifier.result
        if result is None or result[0] == self._published_stamp:
            return
        self._published_stamp = result[0]
        header = self._frames.header(self._identifier.result_frame, to_stamp(result[0]))
        self._result_publisher.publish(to_identification(header, self._joint_names, result[1]))

    def _identification_values(self) -> dict[str, str]:
        return diagnostic_values(self._identifier.disabled_reason, self._identifier.result)

    def _report(self) -> None:
        unaccounted_energy = self._audit.unaccounted_energy
        is_balanced = abs(unaccounted_energy) <= self._unaccounted_tolerance
        message = "energy balanced" if is_balanced else f"{unaccounted_energy:.3g} J unaccounted"
        values = {
            "unaccounted energy (J)": f"{unaccounted_energy:.3e}",
            "residual (W)": f"{self._audit.unaccounted_power:.3e}",
            **self._identification_values(),
        }
        self._health.report(OK if is_balanced else WARN, message, values)


def main() -> None:
    """Run the node."""
    run(EnergyMonitor)
