"""Decoupled vehicle-manipulator control: vehicle and shape, each with its own energy."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Evaluation, ModelError, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.effects.allocation import Allocation
from vms_ph_dynamics.groups import SE3

from ..interface import (
    Command,
    ControlEnergy,
    Controller,
    Reference,
    RobotState,
    Status,
    gain,
    usable,
)
from ..potentials.joint_limit_potential import JointLimitPotential
from ..potentials.pose_potential import PosePotential
from ..references.joint_reference import JointReference
from ..references.pose_reference import PoseReference
from ..safety.output_stage import OutputGains, OutputStage

_SE3 = SE3()

# Where the components of a planar base's twist are in a spatial one.
_COMPONENTS = {"planar": np.array([0, 1, 5]), "floating": np.arange(6)}


class DecoupledVMSController(Controller):
    r"""Energy shaping and damping in the inertially decoupled coordinates of [A (59)].

    The law makes ``H_cl = 1/2 e^T M e + V_b(h) + V_m(q)`` of the velocity error ``e`` fall by the
    damping of the error's locked velocity ``e_b + A e_m`` and of its shape part ``e_m``. ``V_b`` is
    a potential of the base's *pose*, not of an integral of the locked velocity, which has none
    [B (3.72)]; its force therefore enters the decoupled equations through ``v = v_hat - A qdot``.
    On a resting reference ``e`` is the velocity and the kinetic energy that of the robot, whose
    inertia is not changed.

    In decoupled terms the law wants ``(w_hat, tau_hat)``. The base makes of ``w_hat`` what it can
    (:class:`OutputStage`), and the joints are told ``tau = tau_hat + A^T w`` with the wrench that
    comes of it: what the base cannot do never disturbs the shape.

    Stiffness is given by frequencies, so that the same gains serve a drone and a satellite: those
    of the locked inertia and of the shape inertia in the pose of the last reset.
    """

    @dataclass(frozen=True)
    class Gains(OutputGains):
        """Gains of the law."""

        frequency_base: float = gain(1.5, "of the base's motion, rad/s", 0.0, 50.0)
        frequency_shape: float = gain(4.0, "of the arm's motion, rad/s", 0.0, 100.0)
        damping_ratio: float = gain(0.8, "of both motions; 1 is critical", 0.0, 10.0)
        base_speed: float = gain(0.3, "of the base's reference, m/s", 1e-3, 20.0)
        base_turn: float = gain(0.5, "of the base's reference, rad/s", 1e-3, 20.0)
        joint_speed: float = gain(0.5, "of the joints' reference, rad/s or m/s", 1e-3, 20.0)

    gains: Gains

    def __init__(
        self,
        model: VMSModel,
        gains: Gains | None = None,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
    ) -> None:
        """Control the pose of the base and the joints of a robot.

        Args:
            model: of the robot.
            gains: of the law.
            allocation: the base's actuators; None: any wrench.
            base_actuated: False for a base that only floats; its pose is then left alone.

        Raises:
            ModelError: a fixed base, or an allocation for another base.
        """
        super().__init__(model)
        if model.base == "fixed":
            raise ModelError(
                f"DecoupledVMSController is for robots on a planar or floating base; "
                f"'{model.name}' has a fixed one"
            )
        self.gains = self._given(gains)
        self._output = OutputStage(model, allocation, base_actuated)
        self._joint_limits = JointLimitPotential(model)
        self._potential = PosePotential()
        self._base, self._joints = PoseReference(), JointReference(model.n)
        self._active = 1.0 if self._output.base_is_actuated else 0.0
        self._components = _COMPONENTS[model.base]
        joints = model.joints
        self._endless = (
            np.isinf(joints.lower) & np.isinf(joints.upper) & ~np.array(joints.prismatic)
        )
        self.set_minimum(model.neutral_configuration())

    def reset(self, state: RobotState) -> None:
        """Hold the present pose; see :meth:`Controller.reset`."""
        self.set_minimum(state.q)

    def set_minimum(self, q: Array) -> None:
        """Put the minimum of the shaped energy at a configuration (nq,), at once.

        Raises:
            StateError: not a configuration of the model.
        """
        d = self.model.evaluate(q, np.zeros(self.model.nv))
        angular = self.model.b - 3 if self.model.base == "floating" else 2
        diagonal = np.diag(d.M_b)
        self._mass = float(diagonal[:angular].mean())
        self._inertia = float(diagonal[angular:].mean())
        self._shape_inertia = np.diag(d.M_hat_m).copy()
        self._base.restart(self.model.base_pose(d.q))
        self._joints.restart(self.model.joint_positions(d.q))
        self._output.restart(d)
        self._begun = False

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the base wrench and the torques for a state; see :meth:`Controller.update`."""
        if not state.is_usable(self.model):
            self.missed_updates()
            return self.safe_output(state.q)
        b, gains = self.model.b, self.gains
        d = Evaluation(self.model, state.q, state.v)
        self._follow(reference, dt)
        error = _SE3.inverse(self._base.pose) @ self.model.base_pose(d.q)
        switched = self._switched(error)
        v_ref, a_ref = self._reference_motion(error, d.v)
        e = d.v - v_ref
        locked = e[:b] + d.A @ e[b:]
        shaped = self._shaped(error, self.model.joint_positions(d.q))
        damping_base = self._active * (
            2.0 * gains.damping_ratio * gains.frequency_base * (d.M_b @ locked)
        )
        damping_shape = 2.0 * gains.damping_ratio * gains.frequency_shape * (d.M_hat_m @ e[b:])

        wanted = d.g.copy() if self._is_resting else d.g + d.M @ a_ref + d.C @ v_ref
        wanted[:b] -= shaped.base + damping_base
        # The damping of the locked motion acts on the joints as well, its potential does not.
        wanted[b:] -= shaped.shape + damping_shape + d.A.T @ damping_base
        if not np.isfinite(wanted.sum()):
            return self._output.refuse(d)
        output = self._output.apply(d, wanted, gains, dt)

        kinetic_base = 0.5 * float(locked @ d.M_b @ locked)
        kinetic_shape = 0.5 * float(e[b:] @ d.M_hat_m @ e[b:])
        energy = ControlEnergy(
            closed_loop_energy=kinetic_base + kinetic_shape + shaped.energy,
            shaped_potential=shaped.energy,
            kinetic_base=kinetic_base,
            kinetic_shape=kinetic_shape,
            damping_base=float(damping_base @ locked),
            damping_shape=float(damping_shape @ e[b:]),
            clipped_power=float((output.force - wanted) @ e),
            tank_level=self._output.tank_level,
        )
        turned = "past half a turn: now the other way round" if switched else ""
        return Command(
            output.force[:b],
            output.force[b:],
            energy,
            Status.SATURATED if output.reason else Status.OK,
            output.reason or turned,
            task_error=float(np.sqrt(error[:3, 3] @ error[:3, 3])),
        )

    @property
    def _is_resting(self) -> bool:
        return self._base.is_resting and self._joints.is_resting

    def _switched(self, error: Array) -> bool:
        if not self._begun:
            self._begun = True
            self._potential.restart(error)
        return self._potential.follow(error)

    def _shaped(self, error: Array, positions: Array) -> "_Shaped":
        gains = self.gains
        k_position = self._active * gains.frequency_base**2 * self._mass
        k_rotation = self._active * gains.frequency_base**2 * self._inertia
        k_shape = gains.frequency_shape**2 * self._shape_inertia
        k_limit = gains.limit_frequency**2 * self._shape_inertia
        away = positions - self._joints.positions
        if self._endless.any():
            turns = np.round(away / (2.0 * np.pi))
            away = away - np.where(self._endless, 2.0 * np.pi * turns, 0.0)
        depth = self._joint_limits.depth(positions, gains.limit_margin)
        energy = self._potential.value(error, k_position, k_rotation)
        energy += 0.5 * float(k_shape @ (away * away))
        energy += 0.5 * float(k_limit @ (depth * depth))
        pull = self._potential.gradient(error, k_position, k_rotation)
        shape = k_shape * away + k_limit * depth
        return _Shaped(energy, pull[self._components], shape)

    def missed_updates(self) -> None:
        """Earn nothing by what is not seen; see :meth:`Controller.missed_updates`."""
        self._output.lose()

    def safe_output(self, q: Array) -> Command:
        """Hold against gravity as well as the base can; see :meth:`Controller.safe_output`."""
        return self._output.safe

    def _follow(self, reference: Reference, dt: float) -> None:
        """Move the references on; what is not finite or of another shape is not taken."""
        gains = self.gains
        pose, joints = usable(reference.pose, (4, 4)), usable(reference.joints, (self.model.n,))
        if pose is not None:
            self._base.go_to(pose)
        if joints is not None:
            self._joints.go_to(joints)
        twist = usable(reference.twist, (6,))
        self._base.advance(twist, gains.base_speed, gains.base_turn, gains.frequency_base, dt)
        self._joints.advance(gains.joint_speed, gains.frequency_shape, dt)

    def _reference_motion(self, error: Array, v: Array) -> tuple[Array, Array]:
        """Return the reference's velocity and acceleration as the robot sees them, (nv,) each."""
        zero = np.zeros(self.model.nv)
        if self._is_resting:
            return zero, zero
        b, rows = self.model.b, self._components
        to_body = _SE3.Ad(_SE3.inverse(error))
        twist = to_body @ self._base.twist
        velocity, acceleration = zero.copy(), zero.copy()
        velocity[:b], velocity[b:] = twist[rows], self._joints.rates
        relative = np.zeros(6)
        relative[rows] = v[:b] - velocity[:b]
        turning = to_body @ self._base.acceleration - _SE3.ad(relative) @ twist
        acceleration[:b], acceleration[b:] = turning[rows], self._joints.accelerations
        return velocity, acceleration


@dataclass(frozen=True, slots=True)
class _Shaped:
    """The shaped potential: its energy, J, and its gradients (b,) and (n,)."""

    energy: float
    base: Array
    shape: Array
