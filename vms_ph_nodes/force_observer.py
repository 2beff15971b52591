# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Publishes external wrenches, contacts and the payload, observed from the robot's motion."""

from dataclasses import fields

import numpy as np
from geometry_msgs.msg import WrenchStamped
from vms_ph.msg import Contact, Payload

from vms_ph_controllers import RobotState
from vms_ph_controllers.observers import (
    ContactDetector,
    ContactReport,
    ImpulseBalance,
    MomentumObserver,
    NoiseModel,
    PayloadObserver,
    WrenchEstimate,
    WrenchMap,
)
from vms_ph_dynamics import Array, Friction, VMSModel
from vms_ph_dynamics.capture import Body, with_body
from vms_ph_io import drivers

from .messages.conversions import NS_PER_SEC, from_stamp, to_wrench_base
from .messages.observations import to_contact, to_payload
from .node.health import OK, WARN
from .node.parameters import declare
from .node.process import run
from .topics.payload_sender import PayloadSender
from .topics.robot_motion import MotionNode, RobotMotion


class ForceObserver(MotionNode):
    """Publishes vms_ph/estimated_wrench, vms_ph/contact and vms_ph/payload.

    Each wrench has a topic of its standard deviations; a moving base has both of its own. The
    efforts of a sample are the mean of those at its ends, as JointState gives them [R3].
    """

    PARAMETER_FILE = "force_observer"

    def __init__(self) -> None:
        super().__init__("force_observer")
        noise_names = [noise_field.name for noise_field in fields(NoiseModel)]
        self._noise = NoiseModel(
            **{n: declare(self, n if n.endswith("_error") else f"{n}_noise") for n in noise_names}
        )
        self._is_decoupled: bool = declare(self, "decoupled")
        self._has_friction: bool = declare(self, "joint_friction")
        self._bandwidth: float = declare(self, "bandwidth")
        self._false_alarm_rate: float = declare(self, "false_alarms")
        self._wind: tuple[float, float] = declare(self, "wind_force"), declare(self, "wind_moment")
        driver_name: str = declare(self, "driver")
        self._driver = drivers.get(driver_name) if driver_name else None
        self._payload_driver: str = declare(self, "payload_driver")
        self._payload_sender: PayloadSender | None = None
        self.watch()

    def begin(self, model: VMSModel) -> None:
        """Set up for a robot."""
        self._set_up_observers(model)
        if self._payload_driver:
            driver = self._payload_driver
            self._payload_sender = PayloadSender(self, model, driver, self._carry_payload)
        wrench_topics = ["vms_ph/estimated_wrench"]
        wrench_topics += ["vms_ph/estimated_wrench_base"] if model.b else []
        self._wrench_publishers = [
            self.create_publisher(WrenchStamped, topic + suffix, 10)
            for topic in wrench_topics
            for suffix in ("", "_deviation")
        ]
        self._contact_publisher = self.create_publisher(Contact, "vms_ph/contact", 10)
        self._payload_publisher = self.create_publisher(Payload, "vms_ph/payload", 10)
        self._last_effort: tuple[int, Array] | None = None
        self._contact_count = 0

    def _set_up_observers(self, model: VMSModel) -> None:
        """Begin to observe a robot."""
        friction = Friction.from_model(model) if self._has_friction else None
        if self._driver is not None:
            friction = self._driver.observed_friction(model)
        coordinates = "decoupled" if self._is_decoupled else "standard"
        self._balance = ImpulseBalance(model, self._noise, coordinates, friction)
        self._momentum_observer = MomentumObserver(model, self._bandwidth)
        self._map = WrenchMap(self._balance, wind_force=self._wind[0], wind_moment=self._wind[1])
        self._detector = ContactDetector(self._balance, self._false_alarm_rate)
        # Its regressor is that of the standard coordinates.
        self._payload_balance = ImpulseBalance(model, self._noise, "standard", friction)
        self._payload_observer = PayloadObserver(self._payload_balance)

    def _carry_payload(self) -> None:
        """Observe the robot with the payload that its driver has taken, or without one."""
        load, model = self._payload_sender.load, self._model
        body = Body(load.mass, load.lever, load.inertia)
        self._set_up_observers(with_body(model, body) if load.mass else model)

    def on_motion(self, motion: RobotMotion) -> None:
        """Take a motion of the robot."""
        if motion.missing_efforts:
            self._last_effort = None
            self._restart()
            self._health.report(WARN, f"{motion.missing_efforts}; nothing is observed without them")
            return
        model = self._model
        base_wrench = np.zeros(model.b) if motion.wrench_base is None else motion.wrench_base
        stamp, effort = from_stamp(motion.stamp), np.concatenate([base_wrench, motion.torque])
        last_effort, self._last_effort = self._last_effort, (stamp, effort)
        state = RobotState(motion.d.q, motion.d.v)
        dt = 0.0 if last_effort is None else (stamp - last_effort[0]) / NS_PER_SEC
        mean_effort = effort if last_effort is None else 0.5 * (last_effort[1] + effort)
        if dt < 0.0:
            self._restart()
        # At the first state any positive time step will do.
        time_step = dt if dt > 0.0 else 1e-3
        impulse = self._balance.add(state, mean_effort, time_step)
        standard_impulse = self._payload_balance.add(state, mean_effort, time_step)
        if impulse is None or standard_impulse is None:
            return
        estimate = self._map.estimate(self._momentum_observer.add(impulse))
        contact, payload = self._detector.add(impulse), self._payload_observer.add(standard_impulse)
        if self._payload_sender is not None:
            self._payload_sender.observe(payload, motion.d)
        self._publish_wrenches(motion, estimate)
        header = self._frames.header(self._frames.end_effector, motion.stamp)
        self._contact_publisher.publish(to_contact(header, model, contact))
        self._payload_publisher.publish(to_payload(header, payload))
        self._report(contact, model.b > 0 and motion.wrench_base is None)

    def _restart(self) -> None:
        balances = (self._balance, self._payload_balance)
        for part in (*balances, self._momentum_observer, self._detector, self._payload_observer):
            part.restart()

    def _publish_wrenches(self, motion: RobotMotion, estimate: WrenchEstimate) -> None:
        tool_header = self._frames.header(self._frames.end_effector, motion.stamp)
        base = self._frames.header(self._frames.root, motion.stamp)
        wrenches = [(tool_header, estimate.end_effector), (tool_header, estimate.deviation)]
        if self._model.b:
            wrenches += [(base, estimate.base), (base, np.sqrt(np.diag(estimate.covariance_base)))]
        for publisher, (header, wrench) in zip(self._wrench_publishers, wrenches, strict=True):
            publisher.publish(to_wrench_base(header, wrench))

    def _report(self, contact: ContactReport, without_base_wrench: bool) -> None:
        self._contact_count += contact.has_begun
        message = "in contact" if contact.contact else "no contact"
        if without_base_wrench:
            message += "; without vms_ph/wrench_base, the actuators of the base count as external"
        self._health.report(
            WARN if without_base_wrench else OK,
            message,
            {
                "contacts": str(self._contact_count),
                "momentum over threshold": f"{contact.by_momentum:.2g}",
                "energy over threshold": f"{contact.by_energy:.2g}",
            },
        )


def main() -> None:
    """Run the node."""
    run(ForceObserver)
