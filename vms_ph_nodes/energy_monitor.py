"""Watches the energy of the robot, the power at every port, and whether the two agree."""

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from vms_ph.msg import Energy, PortWork, Power

from vms_ph_dynamics import Evaluation, StateError, VMSModel
from vms_ph_dynamics.friction import Friction
from vms_ph_dynamics.links import LinkTree
from vms_ph_dynamics.structure import Ports, TaskSpaceForm
from vms_ph_dynamics.tasks import PositionTask

from .conversions import from_joint_state, from_stamp, from_wrench
from .energy_audit import EnergyAudit, Flow
from .health import OK, WARN, Health
from .pairing import StampPairing
from .parameters import declare
from .process import run
from .robot_parameters import RobotParameters

# Below this smallest singular value the task inertia, and with it the split, loses its meaning.
_SINGULAR = 1e-3


class EnergyMonitor(Node):
    """Publishes vms_ph/energy and vms_ph/power for every joint state."""

    def __init__(self) -> None:
        super().__init__("energy_monitor")
        robot = RobotParameters(self)
        self._friction: bool = declare(
            self, "joint_friction", True, "the viscous friction of the URDF dissipates"
        )
        self._tolerance: float = declare(
            self,
            "drift_tolerance",
            1e-3,
            "energy from nowhere that is reported as a warning, J",
            0.0,
            1e6,
            read_only=False,
        )
        self._energies = self.create_publisher(Energy, "vms_ph/energy", 10)
        self._powers = self.create_publisher(Power, "vms_ph/power", 10)
        self._health = Health(self)
        self._health.report(WARN, "no joint states yet")
        robot.when_known(self._watch)

    def destroy_node(self) -> None:
        """End, telling the other nodes."""
        self._health.farewell()
        super().destroy_node()

    def _watch(self, model: VMSModel) -> None:
        self._model = model
        self._inertial_frame = LinkTree(model).root
        self._form = TaskSpaceForm(model, PositionTask(model))
        self._audit = EnergyAudit()
        self._pairing = StampPairing(("wrench", "work"), self._account)
        companions = (
            (WrenchStamped, "vms_ph/external_wrench", "wrench"),
            (PortWork, "vms_ph/port_work", "work"),
        )
        for kind, topic, name in companions:
            self.create_subscription(
                kind,
                topic,
                lambda m, name=name: self._pairing.accompany(name, from_stamp(m.header.stamp), m),
                10,
            )
        self.create_subscription(
            JointState,
            "joint_states",
            lambda m: self._pairing.lead(from_stamp(m.header.stamp), m),
            qos_profile_sensor_data,
        )

        def expect() -> None:
            self._pairing.expect({n for _, t, n in companions if self.count_publishers(t)})

        expect()
        self.create_timer(0.5, expect)

    def _account(
        self, message: JointState, wrench: WrenchStamped | None, work: PortWork | None
    ) -> None:
        model = self._model
        try:
            q, v, torque = from_joint_state(model, message)
            force = None if wrench is None else from_wrench(wrench.wrench)
        except StateError as error:
            self._health.report(WARN, f"ignored: {error}")
            return
        header = Header(stamp=message.header.stamp, frame_id=self._inertial_frame)
        d = model.evaluate(q, v)
        energy = self._energy(header, d)
        self._energies.publish(energy)
        friction = Friction.of(model) if self._friction else None
        ports = Ports(torque, None, force, friction=friction)
        told = None
        if work is not None:
            told = {
                "joint_torque": work.joint_torque,
                "end_effector": work.end_effector,
                "base": work.base,
                "dissipated": work.dissipated,
            }
        flow = Flow(
            from_stamp(header.stamp),
            energy.total,
            ports.supplied(d),
            ports.dissipated(d),
            told,
            0 if work is None else work.resets,
        )
        self._audit.add(flow)
        self._publish_power(header, flow)

    def _energy(self, header: Header, d: Evaluation) -> Energy:
        t = self._form.terms(d)
        kinetic, potential = d.kinetic_energy, d.potential_energy
        # The null-space part needs no inverse that a singular task would spoil.
        regular = np.linalg.svd(t.J, compute_uv=False)[-1] > _SINGULAR
        null = t.kinetic_null if regular else np.nan
        return Energy(
            header=header,
            total=kinetic + potential,
            kinetic=kinetic,
            potential=potential,
            kinetic_base=0.0,
            kinetic_shape=kinetic,
            kinetic_task=kinetic - null,
            kinetic_null=null,
        )

    def _publish_power(self, header: Header, flow: Flow) -> None:
        audit = self._audit
        self._powers.publish(
            Power(
                header=header,
                joint_torque=flow.power["joint_torque"],
                end_effector=flow.power["end_effector"],
                base=flow.power["base"],
                dissipated=flow.dissipated,
                joint_torque_work=audit.work["joint_torque"],
                end_effector_work=audit.work["end_effector"],
                base_work=audit.work["base"],
                dissipated_work=audit.work["dissipated"],
                stored=audit.stored,
                drift=audit.drift,
                residual=audit.residual,
                exact_work=audit.exact,
            )
        )
        balanced = abs(audit.drift) <= self._tolerance
        message = "energy balanced" if balanced else f"{audit.drift:.3g} J from nowhere"
        values = {"drift (J)": f"{audit.drift:.3e}", "residual (W)": f"{audit.residual:.3e}"}
        self._health.report(OK if balanced else WARN, message, values)


def main() -> None:
    """Run the node."""
    run(EnergyMonitor)


if __name__ == "__main__":
    main()
