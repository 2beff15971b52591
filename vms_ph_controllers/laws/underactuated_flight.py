# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Flight on thrust along one axis of the base, with an arm that moves."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Evaluation, ModelError, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.effects.allocation import Allocation
from vms_ph_dynamics.groups import SE3, SO3

from ..interface import (
    Command,
    ControlEnergy,
    Controller,
    Reference,
    RobotState,
    Status,
    gain,
    is_usable_step,
    usable,
)
from ..potentials.joint_limit_potential import JointLimitPotential
from ..potentials.pose_potential import PosePotential
from ..references.joint_reference import JointReference
from ..references.pose_reference import PoseReference
from ..safety.output_stage import OutputGains, OutputStage
from ..safety.prioritised_actuation import PrioritisedActuation
from .gain_ramp import GainRamp
from .held_impedance import HeldImpedance, brake, horizon
from .thrust_direction import ThrustDirection, single_axis

_SE3, _SO3 = SE3(), SO3()


class UnderactuatedFlight(Controller):
    r"""Geometric flight with a thrust along one axis, in the inertially decoupled coordinates.

    In the locked momenta of [A (59)] the arm does not appear in the motion of the centre of mass,
    ``m cddot = f R a - m g``, and the momentum about it changes by the moment alone. The law wants
    the force

        F_d = m (g + cddot_d - w_x^2 c_e - 2 zeta w_x cdot_e),

    bounded to a cone around the vertical, thrusts by ``f = F_d . R a``, and turns the base such
    that the thrust points along ``F_d``, by a potential of the attitude error without undesired
    equilibria (:class:`PosePotential`), damping of the locked angular velocity, and the rate of the
    wanted attitude. The joints are held by a potential and damping of the shape. Its storage
    function ``H_cl`` is the sum of all of these energies; it decreases by the damping and changes
    by the power of the force that the thrust does not have, ``cdot_e . (f R a - F_d)``, which
    vanishes as the attitude settles and is recorded as clipped power, and by that with which the
    arm moves the centre of mass in the base, recorded as reference power. These are all powers
    while the wanted attitude rests; its acceleration is not compensated.

    Upside down the thrust is the least that the rotors have, and the base turns over by the
    shorter way; at exactly half a turn by the one that the potential's sign names.

    The law is sampled as :class:`HeldImpedance` describes.
    """

    @dataclass(frozen=True)
    class Gains(OutputGains):
        """Gains of the law."""

        frequency_position: float = gain(
            1.2, "natural frequency of the motion of the centre of mass, rad/s", 0.0, 10.0
        )
        frequency_attitude: float = gain(7.0, "natural frequency of the attitude, rad/s", 0.0, 50.0)
        frequency_shape: float = gain(
            10.0, "natural frequency of the joint motion, rad/s", 0.0, 100.0
        )
        damping_ratio: float = gain(
            0.9, "damping ratio of all motions; 1 is critical damping", 0.0, 10.0
        )
        largest_tilt: float = gain(
            0.6, "largest angle of the wanted thrust from the vertical, rad", 0.0, 1.2
        )
        base_speed: float = gain(0.5, "largest linear speed of the base reference, m/s", 1e-3, 20.0)
        base_turn: float = gain(
            0.5, "largest angular speed of the base reference, rad/s", 1e-3, 20.0
        )
        joint_speed: float = gain(
            0.5, "largest speed of the joint reference, rad/s or m/s", 1e-3, 20.0
        )

    gains: Gains
    FOLLOWS_JOINTS = True

    def __init__(
        self,
        model: VMSModel,
        gains: Gains | None = None,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
    ) -> None:
        """Control position and heading of the base and the joints of a robot.

        Args:
            model: the robot.
            gains: the gains; None for the defaults.
            allocation: its rotors, whose thrusts all have one axis.
            base_actuated: must be true.

        Raises:
            ModelError: the base does not float, is in a fluid, or has no rotors; or the rotors
                push along several axes, or cannot turn the base about all axes.
        """
        super().__init__(model)
        if model.base != "floating" or model.fluid is not None:
            raise ModelError(
                f"UnderactuatedFlight is for flying robots; the base of '{model.name}' is "
                f"{model.base}" + (", in a fluid" if model.fluid is not None else "")
            )
        if allocation is None or not base_actuated:
            raise ModelError(
                f"UnderactuatedFlight needs the rotors of '{model.name}'; give their allocation, "
                "as actuators:=own does"
            )
        self._axis, self._least, self._most = single_axis(allocation, model.name)
        self.gains = self._checked_gains(gains)
        actuation = PrioritisedActuation(allocation)
        self._output = OutputStage(model, allocation, True, actuation)
        self._joint_limits = JointLimitPotential(model)
        self._potential, self._ramp = PosePotential(), GainRamp(self.gains)
        self._base, self._joints = PoseReference(), JointReference(model.n)
        self._direction = ThrustDirection(self._axis)
        self._strength = float(np.linalg.norm(model.tree.gravity))
        self._up = -model.tree.gravity / max(self._strength, 1e-12)
        self.set_minimum(model.neutral_configuration())

    def reset(self, state: RobotState) -> None:
        """Hold the present position, heading and joints; see :meth:`Controller.reset`."""
        self.set_minimum(state.q)

    def resume(self, state: RobotState) -> None:
        """Hold what is present with the energy left; see :meth:`Controller.resume`."""
        self._output.resume(self._hold(state.q))

    def set_minimum(self, q: Array) -> None:
        """Set position, heading and joints that are held to those of a configuration (nq,).

        Raises:
            StateError: it is not a configuration of the model.
        """
        self._output.restart(self._hold(q))

    def _hold(self, q: Array) -> Evaluation:
        d = self.model.evaluate(q, np.zeros(self.model.nv))
        self._inertia = float(np.diag(d.M_b)[3:].mean())
        self._shape_inertia = np.diag(d.M_hat_m).copy()
        pose = self.model.base_pose(d.q).copy()
        pose[:3, :3] = self._direction.attitude(self._up, pose[:3, :3])
        self._base.restart(pose)
        self._joints.restart(self.model.joint_positions(d.q))
        self._ramp.restart(self.gains)
        self._begun = False
        return d

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the base wrench and the torques for a state; see :meth:`Controller.update`."""
        if not (state.is_usable(self.model) and is_usable_step(dt)):
            self.missed_updates()
            return self._output.safe
        b, gains = 6, self._ramp.follow(self.gains, dt)
        d = Evaluation(self.model, state.q, state.v)
        h = horizon(dt, gains.delay)
        self._follow(reference, dt)
        flight = self._flight(d, gains, h)
        error = np.eye(4)
        error[:3, :3] = flight.attitude.T @ flight.rotation
        switched = self._switched(error)
        e = d.v.copy()
        e[3:6] -= flight.turning
        e[b:] -= self._joints.rates
        positions = self.model.joint_positions(d.q)
        k_turn = gains.frequency_attitude**2 * self._inertia
        k_shape = gains.frequency_shape**2 * self._shape_inertia
        k_limit = gains.limit_frequency**2 * self._shape_inertia
        offset = positions - self._joints.positions
        depth = self._joint_limits.depth(positions, gains.limit_margin)
        gradient = np.zeros(self.model.nv)
        gradient[3:6] = self._potential.gradient(error, 0.0, k_turn)[3:]
        gradient[b:] = k_shape * offset + k_limit * depth
        stiffness = np.zeros(self.model.nv)
        stiffness[3:6] = k_turn
        stiffness[b:] = k_shape + np.where(depth != 0.0, k_limit, 0.0)
        rate_turn = 2.0 * gains.damping_ratio * gains.frequency_attitude
        rate_shape = 2.0 * gains.damping_ratio * gains.frequency_shape
        locked = np.hstack([np.zeros((3, 3)), np.eye(3), d.A[3:]])  # to the angular velocity
        damping = rate_turn * (locked.T @ flight.inertia @ locked)
        damping[b:, b:] += rate_shape * d.M_hat_m
        held = HeldImpedance.at(d, damping, np.diag(stiffness), gradient, e, h)
        spring = held.spring + held.ahead
        turn_lost = rate_turn * (flight.inertia @ (locked @ held.velocity))
        shape_lost = rate_shape * (d.M_hat_m @ held.velocity[b:])
        spin = flight.inertia @ flight.turning
        moment = np.cross(d.v_hat[3:], spin) - spring[3:6] - turn_lost
        shape = d.A[3:].T @ spring[3:6] - spring[b:] - shape_lost

        wanted = np.empty(self.model.nv)
        wanted[:3] = flight.thrust * self._axis
        wanted[3:6] = moment + np.cross(flight.centre, wanted[:3])
        wanted[b:] = d.g[b:] + shape + d.A.T @ (wanted[:b] - d.g[:b]) + brake(d, h)[b:]
        if not np.isfinite(wanted.sum()):
            return self._output.refuse(d)
        output = self._output.apply(d, wanted, gains, dt)

        slip = locked @ e
        kinetic_base = 0.5 * float(slip @ flight.inertia @ slip) + flight.kinetic
        kinetic_shape = 0.5 * float(e[b:] @ d.M_hat_m @ e[b:])
        shaped = flight.potential + self._potential.value(error, 0.0, k_turn)
        shaped += 0.5 * float(k_shape @ (offset * offset)) + 0.5 * float(k_limit @ depth**2)
        energy = ControlEnergy(
            closed_loop_energy=kinetic_base + kinetic_shape + shaped,
            shaped_potential=shaped,
            kinetic_base=kinetic_base,
            kinetic_shape=kinetic_shape,
            damping_base=float(turn_lost @ slip) + flight.damping,
            damping_shape=float(shape_lost @ e[b:]),
            reference_power=flight.carried,
            clipped_power=flight.astray + float((output.force - wanted) @ e),
            tank_level=self._output.tank_level,
        )
        turned = "attitude error past half a turn: its correction is reversed" if switched else ""
        over = "" if flight.is_upright else "turning over: the least thrust"
        place = self.model.base_pose(d.q)[:3, 3] - self._base.pose[:3, 3]
        return Command(
            output.force[:b],
            output.force[b:],
            energy,
            Status.SATURATED if output.reason else Status.OK,
            "; ".join(filter(None, (output.reason, held.reason, turned, over))),
            task_error=float(np.sqrt(place @ place)),
        )

    def _flight(self, d: Evaluation, gains: "UnderactuatedFlight.Gains", h: float) -> "_Flight":
        """Return the wanted thrust and attitude, and what the centre of mass does."""
        b, mass, momentum = 6, float(d.M_b[0, 0]), d.M_b @ d.v_hat
        pose = self.model.base_pose(d.q)
        rotation = pose[:3, :3]
        # M_b has m [c]x in its corner, with the centre of mass c in the frame of the base.
        corner = d.M_b[3:, :3] / mass
        centre = np.array([corner[2, 1], corner[0, 2], corner[1, 0]])
        inertia = d.M_b[3:, 3:] + mass * (corner @ corner)
        # The centre of mass belongs above the reference of the base, wherever the arm is.
        level = self._base.pose[:3, :3]
        sway = level @ (d.M_bm[:3] @ d.v[b:]) / mass
        place = pose[:3, 3] + rotation @ centre - (self._base.pose[:3, 3] + level @ centre)
        leading = level @ self._base.twist[:3]
        speed = rotation @ momentum[:3] / mass - leading
        turn = level @ self._base.twist[3:]
        sway = sway + np.cross(turn, level @ centre)
        ahead = level @ self._base.acceleration[:3] + np.cross(turn, leading)
        stiffness = gains.frequency_position**2
        rate = 2.0 * gains.damping_ratio * gains.frequency_position
        # Damping of the velocity that it leaves.
        rate = (rate + h * stiffness) / (1.0 + h * (rate + h * stiffness))
        weight = self._strength * self._up

        def wanted_acceleration(at: Array, velocity: Array) -> Array:
            pull = weight + ahead - stiffness * at - rate * velocity
            return self._direction.within(pull, self._up, self._strength, gains.largest_tilt)

        push = mass * wanted_acceleration(place, speed)
        attitude = self._direction.attitude(push, level)
        along = float(push @ (rotation @ self._axis))
        thrust = min(max(along, self._least), self._most)
        force = thrust * (rotation @ self._axis)
        gained = force / mass - weight - ahead
        step = 1e-3
        later = wanted_acceleration(place + step * (speed - sway), speed + step * gained)
        frame = level @ _SO3.exp(step * self._base.twist[3:])
        after = self._direction.attitude(later, frame)
        turning = rotation.T @ attitude @ _SO3.log(attitude.T @ after) / step
        return _Flight(
            thrust=thrust,
            rotation=rotation,
            attitude=attitude,
            turning=turning,
            centre=centre,
            inertia=inertia,
            kinetic=0.5 * mass * float(speed @ speed),
            potential=0.5 * mass * stiffness * float(place @ place),
            damping=mass * rate * float(speed @ speed),
            astray=float(speed @ (force - push)),
            carried=-mass * stiffness * float(place @ sway),
            is_upright=along > self._least,
        )

    def _switched(self, error: Array) -> bool:
        if not self._begun:
            self._begun = True
            self._potential.restart(error)
        return self._potential.follow(error)

    def missed_updates(self) -> None:
        """Credit nothing to the tank for the motion; see :meth:`Controller.missed_updates`."""
        self._output.missed_updates()

    def safe_output(self, q: Array) -> Command:
        """Compensate gravity as far as the rotors can; see :meth:`Controller.safe_output`."""
        return self._output.safe_at(q)

    def _follow(self, reference: Reference, dt: float) -> None:
        """Advance the references; of a wanted attitude the heading is taken."""
        gains = self._ramp.now
        pose, joints = usable(reference.pose, (4, 4)), usable(reference.joints, (self.model.n,))
        if pose is not None:
            level = pose.copy()
            level[:3, :3] = self._direction.attitude(self._up, pose[:3, :3])
            self._base.go_to(level)
        if joints is not None:
            self._joints.go_to(joints)
        twist = usable(reference.twist, (6,))
        if twist is not None:  # the reference stays level
            up = self._base.pose[:3, :3].T @ self._up
            twist = np.concatenate([twist[:3], up * float(up @ twist[3:])])
        bandwidth = gains.frequency_position
        self._base.advance(twist, gains.base_speed, gains.base_turn, bandwidth, dt)
        self._joints.advance(gains.joint_speed, gains.frequency_shape, dt)


@dataclass(frozen=True, slots=True)
class _Flight:
    """What the law wants of the base; moments and inertia (3,3) are about the centre of mass."""

    thrust: float
    rotation: Array
    attitude: Array
    turning: Array
    centre: Array
    inertia: Array
    kinetic: float
    potential: float
    damping: float
    astray: float
    carried: float
    is_upright: bool
