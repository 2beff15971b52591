# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Cartesian impedance with null space, for arms and for robots on any base."""

from dataclasses import dataclass, replace
from math import hypot
from typing import Any, ClassVar

import numpy as np

from vms_ph_dynamics import Array, Evaluation, ModelError, VMSModel
from vms_ph_dynamics.arrays import is_finite
from vms_ph_dynamics.groups import SE3

from ..controller import Command, Reference, gain, limit, switch
from ..potentials.pose_potential import BaseSpring, PosePotential
from ..potentials.shaped_potential import SpringForce
from ..references.pose_reference import JointReference, PoseReference
from .gain_ramp import RAMP_DURATION, SwitchRamp
from .pose_effort import AxisGains, NullSpaceImpedance, Push, ToolGains, ToolImpedance, pose_effort
from .sampled_impedance import horizon
from .staged_controller import StagedController
from .task_space_ida_pbc import TaskSpaceIDAPBC
from .wrench_feedback import WrenchFeedback

_SE3 = SE3()

# Damping ratio of an attitude of the base that is held by itself.
_DAMPING_RATIO = 0.9

# Share of the energy for the posture below which its spring fades, and the least energy, J.
_RESERVE_SHARE, _MIN_RESERVE = 0.1, 1e-3

# Speed over which the compensated Coulomb friction changes its sign, rad/s or m/s.
_SLIP_SPEED = 0.05

# Largest power at which stiffnesses and limits that grow load the springs, W.
_GAIN_POWER = 4.0

_AXIS_NAMES = ("x", "y", "z", "rx", "ry", "rz")


class CartesianImpedance(StagedController):
    r"""Spring and damper of an end effector, and a posture in its null space.

    ``f = g - J^T (dV_e + D_t e) - (M - J^T Lambda J) d v - N^T K_n (q - q_n) - dV_b - dV_q`` with
    the potential ``V_e`` of the end effector's pose (:class:`PosePotential`), its velocity error
    ``e``, the inertia of the null space ``M - J^T Lambda J``, whose motion is damped at the rate
    ``d``, and ``N = 1 - M^-1 J^T Lambda J``, so that the posture does not accelerate the end
    effector. It is the shaped energy and split damping of source D for the robots of source A.

    - **Axes**: along the axis i, the stiffness is ``stiffness`` (``stiffness_rotation``) times
      ``stiffness_share_i``, the damping ``damping`` (``damping_rotation``) times
      ``damping_share_i``. The axes are those of the frame that the reference is given in, with
      ``tool_axes`` those of the reference itself. With a ``stiffness`` of zero the arm is guided
      by hand, and held where it is left when the stiffness comes back.
    - **Posture**: ``null_stiffness`` holds the joints at ``Reference.joints``, or at those of the
      reset, each with its share :attr:`null_weights`; on a moving base by ``N^T K_n N (q - q_n)``.
      A projected spring has no potential. What it gives, and has not taken, is taken from a tank:
      at most ``null_energy``, what moving the posture adds, and what the damping of the null space
      takes out. Below a tenth of ``null_energy`` the spring fades.
    - **Bounds**: the springs pull with at most ``force_limit`` and ``moment_limit``, and keep a
      potential. A stiffness or a limit that is raised loads them with at most 4 W: where the end
      effector is displaced, it comes into force later.
    - **Singular postures**: spring and damper stay in force. Where the smallest singular value of
      the Jacobian is below 0.1, damping and posture of the null space act on the direction that is
      being lost too. No limit acts, so ``Command.reason`` is silent;
      ``Command.smallest_singular_value`` tells, as does ``run.control`` of a simulation.
    - **Friction**: the share ``friction_compensation`` of the friction in the description is added
      to the torques. A share below one leaves the friction dissipative.
    - **Inertia**: with a force-torque sensor, that is with ``RobotState.wrench``, the end effector
      moves as if its inertia were the share ``inertia_share`` of what it is; stiffness and damping
      remain. Spring and damper are multiplied by ``1 + k = 1 / inertia_share`` and k times the
      wrench is added, see :class:`.WrenchFeedback`. What is not of the end effector, as posture and
      joint limits, is divided by ``1 + k``. A wrench that is not measured is faded out, and so it
      is for a push, and where a wall is so stiff that feedback would add energy.
    - ``relative_to_base`` off: the end effector is held in the inertial frame. On: it is held in
      the frame of the base and moves with it. Its reference is ``Reference.pose``, or
      ``Reference.position`` where no pose is given.
    - ``hold_base`` on: a potential of its own holds the base at its pose of the reset. Off: the
      base belongs to the null space and moves under the spring and damping of the end effector.
    - ``hold_attitude`` on: the attitude of the base is held and damped even where its place is
      not. A base that carries its weight by rotors can push sideways only so far, which bounds
      the tilt at which it can hover; nothing else in this law bounds its tilt.

    With a reference at rest the energy ``H_cl = 1/2 v^T M v + V_e + V_b + V_q`` decreases by the
    damping; the power supplied by a moving reference, by gains that change, by the posture, by the
    compensation of friction and by a wrench that is fed back is ``ControlEnergy.reference_power``.
    With the latter, ``V_e`` is ``1 + k`` times that of the stiffness.

    Examples:
        >>> from vms_ph_controllers import Reference, RobotState
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> law = CartesianImpedance(panda, CartesianImpedance.Gains(stiffness=300.0))
        >>> state = RobotState(panda.home, np.zeros(panda.nv))
        >>> law.reset(state)
        >>> law.update(state, Reference(), 1e-3).status
        <Status.OK: 0>
    """

    IGNORES: ClassVar[tuple[str, ...]] = ("twist", "wrench")

    @dataclass(frozen=True)
    class Gains(ToolGains):
        """Gains of the law."""

        hold_attitude: bool = switch(False, "hold the attitude of the base even if not its place")
        relative_to_base: bool = switch(False, "hold the end effector in the frame of the base")
        stiffness_share_x: float = gain(1.0, "share of the stiffness along x", 0.0, 1.0)
        stiffness_share_y: float = gain(1.0, "share of the stiffness along y", 0.0, 1.0)
        stiffness_share_z: float = gain(1.0, "share of the stiffness along z", 0.0, 1.0)
        stiffness_share_rx: float = gain(1.0, "share of the stiffness about x", 0.0, 1.0)
        stiffness_share_ry: float = gain(1.0, "share of the stiffness about y", 0.0, 1.0)
        stiffness_share_rz: float = gain(1.0, "share of the stiffness about z", 0.0, 1.0)
        damping_share_x: float = gain(1.0, "share of the damping along x", 0.0, 1.0)
        damping_share_y: float = gain(1.0, "share of the damping along y", 0.0, 1.0)
        damping_share_z: float = gain(1.0, "share of the damping along z", 0.0, 1.0)
        damping_share_rx: float = gain(1.0, "share of the damping about x", 0.0, 1.0)
        damping_share_ry: float = gain(1.0, "share of the damping about y", 0.0, 1.0)
        damping_share_rz: float = gain(1.0, "share of the damping about z", 0.0, 1.0)
        tool_axes: bool = switch(False, "the axes of the shares are those of the reference")
        force_limit: float = limit(0.0, "largest force of the spring, N; 0: no limit", 1e4)
        moment_limit: float = limit(0.0, "largest moment of the spring, N m; 0: no limit", 1e3)
        null_stiffness: float = gain(0.0, "null-space stiffness of posture, N m/rad", 0.0, 500.0)
        null_energy: float = gain(1.0, "energy the posture may give beyond its own, J", 0.0, 1e2)
        posture_speed: float = gain(0.5, "largest speed of the posture, rad/s", 1e-3, 20.0)
        friction_compensation: float = gain(0.0, "compensated share of the friction", 0.0, 0.95)
        inertia_share: float = gain(1.0, "share of its inertia felt with a force sensor", 0.55, 1.0)

    gains: Gains
    _is_of_source_d = False  # the null space is that of the position alone

    @classmethod
    def of_source_d(cls, model: VMSModel, gains: Any = None) -> "CartesianImpedance":
        """Return the law whose torques are those of :class:`TaskSpaceIDAPBC` at rest, [D (37)].

        The posture is ``q*``: the potential ``1/2 (q - q*)^T W (q - q*)`` holds the end effector
        too. Springs at joint limits, which both have in units of their own, are left out. It runs
        in Python.

        Args:
            model: an arm on a fixed base.
            gains: ``TaskSpaceIDAPBC.Gains``; None for the defaults.
        """
        source_gains = gains or TaskSpaceIDAPBC.Gains()
        same = ("torque_rate", "power", "delay", "damping_null")
        zero = ("limit_frequency", "stiffness", "stiffness_rotation", "damping_rotation")
        values = {name: getattr(source_gains, name) for name in same} | dict.fromkeys(zero, 0.0)
        values |= {"damping": source_gains.damping_task, "null_stiffness": source_gains.stiffness}
        law = cls(model, cls.Gains(**values))
        law.twin, law._is_of_source_d = None, True
        law._python_reason = "the law in C++ has no null space of the position alone"
        return law

    def _prepare(self) -> None:
        model = self.model
        self._tool_potential, self._base_spring = PosePotential(), BaseSpring(model)
        self._tool_ref = PoseReference()
        self._posture = JointReference(model.joints.continuous)
        self._null_weights = np.ones(model.n)

    @property
    def null_weights(self) -> Array:
        """Shares (n,) of ``null_stiffness`` in which it holds each joint, in [0, 1]."""
        return self._null_weights

    @null_weights.setter
    def null_weights(self, weights: Any) -> None:
        """Set the shares; they are followed like gains.

        Raises:
            ModelError: there is not one for each joint, or one is not in [0, 1].
        """
        shares = np.array(weights, dtype=float)
        if shares.shape != (self.model.n,) or not ((shares >= 0.0) & (shares <= 1.0)).all():
            raise ModelError(
                f"null_weights are {self.model.n} numbers in [0, 1], one for each joint; "
                f"given: {weights!r}"
            )
        self._null_weights = shares
        if self.twin is not None:
            self._set_weights(self.twin)

    @property
    def null_level(self) -> float:
        """Energy that the posture may still give, J."""
        return self._null_level if self.twin is None else float(self.synchronise().null_level)

    def _set_gains(self, twin: Any) -> bool:
        return super()._set_gains(twin) and self._set_weights(twin)

    def _set_weights(self, twin: Any) -> bool:
        names = (f"null_weight.{joint}" for joint in self.model.joint_names)
        return all(map(twin.set_gain, names, self._null_weights.tolist()))

    def _start_holding(self, d: Evaluation) -> None:
        self._is_relative = self.gains.relative_to_base
        self._tool_ref.restart(self._tool_pose(d))
        self._tool_potential.restart(np.eye(4))
        self._base_spring.restart(d)
        self._posture.restart(self.model.joint_positions(d.q))
        self._last_effort = np.array(d.g)
        self._base_power = 0.0  # with which the base's reference moves the minimum, W
        self._hold_ramp, self._frame_ramp = SwitchRamp(), SwitchRamp()
        self._attitude_ramp, self._axes_ramp = SwitchRamp(), SwitchRamp()
        self._wrench_feedback = WrenchFeedback()
        self._ramped_weights = self._null_weights
        self._last_axis_gains: AxisGains | None = None
        self._null_level = self.gains.null_energy
        self._last_stiffness: Array | None = None
        self._last_posture = self._posture.positions
        self._posture_sample: tuple[Array, Array, float] | None = None

    def _note_missed_updates(self) -> None:
        super()._note_missed_updates()
        self._posture_sample = None

    def _control(self, d: Evaluation, reference: Reference, dt: float, age: float) -> Command:
        gains = self._ramp.gains
        h = horizon(dt, gains.delay, age)
        # Spring and damping fade out before the frame is changed, and in again.
        if gains.relative_to_base != self._is_relative and self._frame_ramp.share == 0.0:
            self._is_relative = gains.relative_to_base
            self._tool_ref.restart(self._tool_pose(d))
        frame_share = self._frame_ramp.follow(gains.relative_to_base == self._is_relative, dt)
        if gains.stiffness == 0.0:  # guided by hand: the reference goes along
            pose = self._tool_pose(d).copy()
            if gains.stiffness_rotation > 0.0:
                pose[:3, :3] = self._tool_ref.pose[:3, :3]
            self._tool_ref.restart(pose)
        # The reference lags by 0.9 D / K: less than the arm would behind an unfiltered one.
        bandwidth = 2.2 * gains.stiffness / max(gains.damping, 1e-3)
        self._tool_ref.follow(self._tool_target(reference), gains.speed, gains.turn, bandwidth, dt)
        push = self._update_push(d, reference, dt, h)
        error = _SE3.inverse(self._tool_ref.pose) @ self._tool_pose(d)
        self._tool_potential.follow(error)
        springs = self._base_springs(d, dt).with_joints(self._limit_springs(d, gains, h))
        jacobian, k = ToolImpedance.jacobian(d, self._is_relative), 1.0 / gains.inertia_share - 1.0
        wrench = self._measured_wrench if push is None else None
        feedback = self._wrench_feedback.follow(wrench, k, jacobian @ d.v, h, dt)
        axis_gains = self._axis_gains(frame_share, 1.0 + feedback, dt)
        last_gains = self._last_axis_gains or axis_gains
        # Secants approach the bound of the energy, which a limit makes concave in the stiffness.
        for step in range(12):
            tool = ToolImpedance(
                self._tool_potential, self._tool_ref, error, self._is_relative, push, axis_gains
            )
            spring_energy, *_, limited = tool.springs(axis_gains)
            added_energy = spring_energy - tool.springs(last_gains)[0]
            if added_energy <= _GAIN_POWER * dt or step == 11:
                break
            axis_gains = last_gains.towards(axis_gains, _GAIN_POWER * dt / added_energy)
        self._last_axis_gains = axis_gains
        self._ramp.limited |= zip(("force_limit", "moment_limit"), limited.tolist(), strict=True)
        # Of an attitude of the base that is held by itself.
        attitude_share = max(self._attitude_ramp.share - self._hold_ramp.share, 0.0)
        posture_offset, posture_stiffness = self._hold_posture(d, reference, dt)
        effort, posture_force = pose_effort(
            d,
            tool,
            NullSpaceImpedance(
                springs,
                gains.damping_null,
                2.0 * _DAMPING_RATIO * attitude_share * gains.frequency_base,
                posture_offset,
                posture_stiffness,
                self._is_of_source_d,
            ),
            h,
        )
        continuous, sampled, ref_power = effort.continuous, effort.sampled, 0.0
        additions = [] if push is None else [d.J_end_effector.T @ push.wrench]
        if gains.friction_compensation > 0.0:
            additions.append(self._friction_compensation(d, h))
        if feedback > 0.0:
            additions.append(feedback * (jacobian.T @ self._wrench_feedback.wrench))
        for addition in additions:
            continuous, sampled = continuous + addition, sampled + addition
            ref_power += float(addition @ d.v)
        if not is_finite(continuous):
            return self._output.reject_effort(d)
        output = self._output.apply(d, sampled, gains, dt)
        self._last_effort = output.effort
        self._wrench_feedback.damping_power = effort.energy.damping_task
        if self._is_of_source_d:  # the posture has a potential
            added_energy += self._posture_work
        else:
            self._posture_sample = (d.q, posture_force, effort.energy.damping_null)
            ref_power += float(posture_force @ d.v)
        ref_power += self._base_power + (added_energy / dt if dt > 0.0 else 0.0)
        energy = replace(
            effort.energy,
            reference_power=ref_power + effort.energy.reference_power,
            clipped_power=float((output.effort - continuous) @ d.v),
        )
        return self._command(
            output,
            energy,
            effort.reason,
            self._wrench_feedback.reason if push is None else push.reason,
            task_error=hypot(*error[:3, 3].tolist()),
            smallest_singular_value=effort.smallest_singular_value,
            authority=1.0 if push is None else push.authority,
        )

    def _axis_gains(self, frame_share: float, scale: float, dt: float) -> AxisGains:
        """Return stiffness and damping in force, for a share and a scale of those set."""
        gains, share = self._ramp.gains, scale * frame_share

        def by_axis(name: str) -> Array:
            values = [getattr(gains, name)] * 3 + [getattr(gains, f"{name}_rotation")] * 3
            axis_shares = [getattr(gains, f"{name}_share_{axis}") for axis in _AXIS_NAMES]
            return share * np.array(values) * axis_shares

        # Limits act also where the sensor is blind.
        limits = np.array([gains.force_limit, gains.moment_limit])
        inverse_limits = (limits > 0.0) / np.maximum(limits, 1e-9)
        tool_share = self._axes_ramp.follow(gains.tool_axes, dt)
        return AxisGains(by_axis("stiffness"), by_axis("damping"), tool_share, inverse_limits)

    def _hold_posture(self, d: Evaluation, reference: Reference, dt: float) -> tuple[Array, Array]:
        """Move the posture and account for its spring.

        Returns the offset (n,) of the joints and the stiffness (n,) in force.
        """
        gains = self._ramp.gains
        self._posture.set_target(reference)
        self._posture.advance(gains.posture_speed, gains.posture_speed / 0.05, dt)
        step = min(dt / RAMP_DURATION, 1.0)
        change = np.clip(self._null_weights - self._ramped_weights, -step, step)
        self._ramped_weights = self._ramped_weights + change
        offset = self._posture.error_of(self.model.joint_positions(d.q))
        last_offset = offset + (self._posture.positions - self._last_posture)
        stiffness = gains.null_stiffness * self._ramped_weights
        energy = 0.5 * float(stiffness @ (offset * offset))
        last_stiffness = stiffness if self._last_stiffness is None else self._last_stiffness
        # Energy that moving posture and stiffness adds.
        self._posture_work = energy - 0.5 * float(last_stiffness @ (last_offset * last_offset))
        level = self._null_level + self._posture_work + energy * (self._last_stiffness is None)
        self._last_posture, self._last_stiffness = self._posture.positions, stiffness
        if self._posture_sample is not None:
            q, force, damping_power = self._posture_sample
            level -= float(force @ self.model.difference(q, d.q)) - max(damping_power, 0.0) * dt
        self._null_level = min(level, gains.null_energy + energy)
        reserve = _RESERVE_SHARE * max(gains.null_energy, _MIN_RESERVE)
        share = 1.0 if self._is_of_source_d else min(max(self._null_level / reserve, 0.0), 1.0)
        return offset, share * stiffness

    def _friction_compensation(self, d: Evaluation, h: float) -> Array:
        """Return the effort (nv,) that compensates a share of the friction in the joints."""
        joints, b = self.model.joints, self.model.b
        rates = d.v[b:]
        # Less and slower where a held effort would turn the motion round.
        max_damping = self._shape_inertia / (4.0 * h) if h > 0.0 else np.inf
        slip_speed = np.maximum(_SLIP_SPEED, joints.friction / max_damping)
        compensation = np.minimum(joints.damping, max_damping) * rates
        compensation += joints.friction * np.tanh(rates / slip_speed)
        return np.concatenate([np.zeros(b), self._ramp.gains.friction_compensation * compensation])

    def _tool_target(self, reference: Reference) -> Reference:
        """Return the reference of the end effector."""
        return reference

    def _update_push(self, d: Evaluation, reference: Reference, dt: float, h: float) -> Push | None:
        """Return what replaces the impedance along one direction; None where nothing does."""
        return None

    def _tool_pose(self, d: Evaluation) -> Array:
        """Return the pose of the end effector in the frame that it is held in, (4,4)."""
        pose = d.placement(self.model.end_effector_id)
        return _SE3.inverse(self.model.base_pose(d.q)) @ pose if self._is_relative else pose

    def _base_springs(self, d: Evaluation, dt: float) -> SpringForce:
        """Return the potential that holds the base."""
        gains = self._ramp.gains
        is_actuated = self._output.base_is_actuated
        hold_share = self._hold_ramp.follow(gains.hold_base and is_actuated, dt)
        holds_attitude = gains.hold_base or gains.hold_attitude
        attitude_share = self._attitude_ramp.follow(holds_attitude and is_actuated, dt)
        pose = self.model.base_pose(d.q)
        return self._base_spring.at(pose, gains.frequency_base, hold_share, attitude_share)
