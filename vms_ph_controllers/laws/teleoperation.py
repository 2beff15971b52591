# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms that are coupled by springs over a network: one leads, the other follows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array, Evaluation, ModelError, VMSModel

from ..controller import Command, ControlEnergy, Controller, Reference, RobotState, gain
from ..guard.motion_limits import EnergyGuardSettings
from ..guard.servo_guard import PositionGuard
from ..guard.teleoperation import TeleoperationPacket, TeleoperationSide

_PERIOD = 5e-3  # of packets and of commands of the servos, s
_TANK_CAPACITY = 50.0  # J, unless the budget is larger
_RESERVE_SHARE = 0.1  # of the budget, which no packet hands over


class _Arm:
    """One of the two arms.

    Attributes:
        joints: (m,) their indices among those of the robot.
        side: its side of the coupling: guard, tank and packets.
        packets: on the way to it, with the time of their arrival, s.
        start: (m,) its positions at the reset, rad or m.
        offset: (m,) these less those of the other arm, rad or m.
        command: (m,) of its servos, rad or m.
    """

    def __init__(self, joints: npt.NDArray[np.intp], guard: PositionGuard) -> None:
        self.joints = joints
        self.start: Array = np.zeros(len(joints))
        self.offset: Array = self.start
        self.command: Array = self.start
        self.packets: list[tuple[float, TeleoperationPacket]] = []
        self.side = TeleoperationSide(guard, mapping=lambda positions: positions + self.offset)


class Teleoperation(Controller):
    r"""Couples two arms of a robot over a network, as if they were two robots.

    The joints that move the end effector lead, as many others follow, and the leader feels what
    they meet. Both have servos, :math:`K (c - q) - D \dot q` within their torque limits, and their
    weight compensated. The command c is what was last heard of the other arm, as far as the tank of
    a :class:`.TeleoperationSide` covers it: the port-Hamiltonian systems of both arms are connected
    by springs, and what their commands give to them is bounded for any delay, jitter and loss.

    Assumption: weight and servos together stay within the torque limits, and the law is called so
    often that sampled servos damp.

    Args:
        model: the robot, on a fixed base, with torque limits.
        gains: the gains; None for the defaults.
        stiffness: of the servos, (n,) or one number, N m/rad or N/m; None for one that reaches the
            torque limit at 0.5 rad or m.
        damping: of the servos, (n,) or one number, N m s/rad or N s/m; None for 0.1 s of the
            stiffness.

    Raises:
        ModelError: the base moves, the arms have not equally many joints, or the gains are none.
        OptionError: stiffness or damping are out of range.
    """

    IGNORES = ("position", "velocity", "pose", "twist", "joints", "wrench")

    @dataclass(frozen=True)
    class Gains:
        """Gains of the law."""

        delay: float = gain(0.1, "mean delay of a packet, s", 0.0, 2.0)
        jitter: float = gain(0.2, "largest change of the delay, as a share of it", 0.0, 1.0)
        loss: float = gain(0.05, "share of the packets that are lost", 0.0, 1.0)
        budget: float = gain(2.0, "energy in each arm's tank at reset, J; 1e6: no bound", 0.0, 1e6)
        centring: float = gain(0.0, "pull of leader to its start, share of its servos", 0.0, 1.0)

    gains: Gains

    def __init__(
        self,
        model: VMSModel,
        gains: Gains | None = None,
        *,
        stiffness: npt.ArrayLike | None = None,
        damping: npt.ArrayLike | None = None,
    ) -> None:
        super().__init__(model)
        self.gains = self._checked_gains(gains)
        q = model.neutral_configuration()
        J = model.evaluate(q, np.zeros(model.nv)).J_end_effector
        leader = np.abs(J[:, model.b :]).max(0) > 0.0
        if model.b or 2 * leader.sum() != model.n:
            raise ModelError(
                f"Teleoperation is for two arms with equally many joints on a fixed base; of the "
                f"{model.n} joints of '{model.name}', {leader.sum()} move the end effector "
                f"'{model.end_effector}'; lock the others"
            )
        self._max_torque = model.joints.effort
        stiffness = 2.0 * self._max_torque if stiffness is None else stiffness
        self._stiffness = np.ones(model.n) * stiffness
        self._damping = np.ones(model.n) * (0.1 * self._stiffness if damping is None else damping)
        self._leader, self._follower = (self._arm(np.flatnonzero(x)) for x in (leader, ~leader))
        self.reset(RobotState(q, np.zeros(model.nv)))

    def _arm(self, joints: npt.NDArray[np.intp]) -> _Arm:
        names = [self.model.joint_names[joint] for joint in joints]
        stiffness, damping = self._stiffness[joints], self._damping[joints]
        guard = PositionGuard(self.model, stiffness, damping, uncertainty=0.0, joints=names)
        return _Arm(joints, guard)

    @property
    def sides(self) -> tuple[TeleoperationSide, TeleoperationSide]:
        """Those of leader and follower, with their guards and certificates."""
        return self._leader.side, self._follower.side

    def reset(self, state: RobotState) -> None:
        """Begin with both arms where they are, full tanks and no packet on the way."""
        self._last_q = self.model.checked_configuration(state.q)
        positions, budget = self.model.joint_positions(self._last_q), self.gains.budget
        for arm, other_arm in self._arm_pairs():
            arm.start = arm.command = positions[arm.joints]
            arm.packets, arm.offset = [], arm.start - positions[other_arm.joints]
            arm.side.reserve = _RESERVE_SHARE * budget
            arm.side.guard.settings = EnergyGuardSettings(
                tank_capacity=max(_TANK_CAPACITY, budget), tank_initial=budget
            )
            arm.side.engage(arm.command)
        self._time = self._last_exchange_time = 0.0
        self._rng, self._reason = np.random.default_rng(0), ""

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return torques of the servos; packets pass every 5 ms."""
        if not state.is_usable(self.model, dt):
            return self.safe_output(self._last_q)
        d = Evaluation(self.model, state.q, state.v)
        positions, self._last_q = self.model.joint_positions(d.q), d.q
        self._time += dt
        if self._time - self._last_exchange_time >= _PERIOD * (1.0 - 1e-9):
            self._exchange(positions)
        servo_positions = np.empty(self.model.n)
        for arm, _ in self._arm_pairs():
            servo_positions[arm.joints] = arm.command
        stretch, leader = servo_positions - positions, self._leader
        servo_torque = self._stiffness * stretch - self._damping * d.v
        torque = np.clip(servo_torque, -self._max_torque, self._max_torque) + d.g
        centring = self.gains.centring * self._stiffness[leader.joints]
        displacement = positions[leader.joints] - leader.start
        torque[leader.joints] -= centring * displacement
        spring_energy = 0.5 * float(self._stiffness @ stretch**2 + centring @ displacement**2)
        energy = ControlEnergy(
            closed_loop_energy=spring_energy + d.kinetic_energy,
            shaped_potential=spring_energy,
            kinetic_shape=d.kinetic_energy,
            damping_shape=float(self._damping @ d.v**2),
            tank_level=sum(side.guard.tank.level for side in self.sides),
        )
        command = Command(np.zeros(0), torque, energy).with_reason(self._reason)
        return command.clip(self._max_torque, "torques at their limits")

    def _arm_pairs(self) -> tuple[tuple[_Arm, _Arm], ...]:
        """Return each arm, and the other one."""
        return (self._leader, self._follower), (self._follower, self._leader)

    def _exchange(self, positions: Array) -> None:
        """Deliver the packets that arrive, command the servos, and send a packet each way."""
        gains, interval = self.gains, self._time - self._last_exchange_time
        self._last_exchange_time, reasons = self._time, []
        for name, (arm, other_arm) in zip(("leader", "follower"), self._arm_pairs(), strict=True):
            for arrival, packet in arm.packets:
                if arrival <= self._time:
                    arm.side.receive(packet)
            arm.packets = [pair for pair in arm.packets if pair[0] > self._time]
            guarded_command = arm.side.update(positions[arm.joints], interval)
            arm.command = guarded_command.command
            if guarded_command.reason:
                reasons.append(f"{name}: {guarded_command.reason}")
            packet = arm.side.send()
            delay = gains.delay * (1.0 + gains.jitter * self._rng.uniform(-1.0, 1.0))
            if self._rng.random() >= gains.loss:
                other_arm.packets.append((self._time + delay, packet))
        self._reason = "; ".join(reasons)
