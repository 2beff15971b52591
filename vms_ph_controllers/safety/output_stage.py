# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The output stage, which every effort passes before it leaves a law, and the safe output."""

from dataclasses import dataclass, replace

import numpy as np

from vms_ph_dynamics import Allocation, Array, Evaluation, VMSModel

from ..controller import EFFORT_NOT_FINITE, STATE_UNUSABLE, Command, RobotState, Status, gain
from .base_actuation import BaseActuation, PrioritisedActuation, check_allocation, step_share
from .energy_tank import SampledTank
from .limits import LimitedEfforts, LimitGains, TorqueLimits, join
from .plausibility import braking_rate
from .sample_grant import strongest_brake


@dataclass(frozen=True)
class OutputGains(LimitGains):
    """The gains of the output stage."""

    limit_margin: float = gain(0.05, "range of the joint-limit springs, rad or m", 0.0, 1.0)
    limit_frequency: float = gain(10.0, "joint-limit natural frequency, rad/s", 0.0, 100.0)
    tank_capacity: float = gain(0.0, "tank capacity, J; 0: no tank", 0.0, 1e6, "none")
    tank_initial: float = gain(1.0, "level of the tank after a reset, J", 0.0, 1e6, "none")


def base_limited_efforts(
    actuation: BaseActuation | PrioritisedActuation, d: Evaluation, effort: Array, holding: Array
) -> LimitedEfforts:
    """Return the efforts (nv,) that a base can apply for desired ones (nv,).

    The shape force is the desired one, whatever wrench the base applies.

    Args:
        actuation: map from base wrenches to those that can be applied.
        d: the state.
        effort: (nv,) base wrench and torques.
        holding: (nv,) efforts that hold the robot, beyond which the base scales down.
    """
    b = d.model.b
    wrench = effort[:b]
    applied_wrench = actuation.apply(wrench, holding[:b])
    if applied_wrench.effort is wrench:
        return LimitedEfforts(effort, applied_wrench.reason)
    torque = effort[b:] + d.A.T @ (applied_wrench.effort - wrench)
    return LimitedEfforts(np.concatenate([applied_wrench.effort, torque]), applied_wrench.reason)


class OutputStage:
    """Maps the generalised force computed by a law to one that the robot can apply.

    It passes the energy tank, the actuators of the base and the limits of the joints. An error of
    the base wrench does not disturb the shape: the joints receive ``tau = tau_hat + A^T w`` with
    the desired shape force ``tau_hat`` [A (73)] and the wrench w that the base applies.

    Attributes:
        base_is_actuated: whether the base has actuators.
        load: further weight (nv,), such as of a payload, that is held within all limits.
        limited: see :class:`.TorqueLimits`.
    """

    _last_safe_command: Command | None

    def __init__(
        self,
        model: VMSModel,
        allocation: Allocation | None,
        base_actuated: bool,
        actuation: PrioritisedActuation | None = None,
    ) -> None:
        """Serve a robot with the actuators of its base; see :class:`BaseActuation`.

        Args:
            model: the robot.
            allocation: the actuators of the base; None for a base that can apply any wrench.
            base_actuated: False for a base without actuators.
            actuation: what maps wrenches to those that the base can apply; None for the map of
                these arguments.

        Raises:
            ModelError: the allocation is for another kind of base.
        """
        self._model = model
        check_allocation(model, allocation)
        self._actuation = actuation or BaseActuation(model, allocation, base_actuated)
        self._limits, self._tank = TorqueLimits(model), SampledTank(model)
        self.limited = self._limits.limited
        self.base_is_actuated = self._actuation.is_actuated
        self._zero_velocity: Array = np.zeros(model.nv)
        self.load: Array = self._zero_velocity

    def carry(self, load: Array) -> None:
        """Hold a further weight (nv,) from now on."""
        self.load, self._last_safe_command = load, None

    @property
    def safe_output(self) -> Command:
        """The safe output at the last state."""
        if self._last_safe_command is None:
            self._last_safe_command = self._gravity_compensation(
                Evaluation(self._model, self._last_q, self._zero_velocity)
            )
        return self._last_safe_command

    @property
    def tank_level(self) -> float:
        """Energy in the tank, J; zero without a tank."""
        return self._tank.level

    def restart(self, d: Evaluation) -> None:
        """Restart: torques may jump, the tank is at its initial level."""
        self._tank.restart()
        self.resume(d)

    def resume(self, d: Evaluation) -> None:
        """Continue at another pose: torques may jump, the tank keeps its level."""
        self._limits.restart()
        self._tank.discard_sample()
        self._store_state(d)

    def safe_output_at(self, q: Array) -> Command:
        """Return the safe output at a configuration (nq,); at the last one if it is no state."""
        state = RobotState(q, self._zero_velocity)
        if np.array_equal(q, self._last_q) or not state.is_usable(self._model):
            return self.safe_output
        return self._gravity_compensation(Evaluation(self._model, q, self._zero_velocity))

    def note_missed_updates(self) -> None:
        """Note that the safe output has acted since the last update."""
        self._tank.note_missed_updates(self._weight)

    def reject_effort(self, d: Evaluation) -> Command:
        """Return the safe output at a state for which the law computed no finite effort."""
        self._store_state(d)
        self.note_missed_updates()
        return replace(self.safe_output, reason=EFFORT_NOT_FINITE)

    def apply(self, d: Evaluation, effort: Array, gains: OutputGains, dt: float) -> LimitedEfforts:
        """Return the efforts sent to the robot for a desired force (nv,), without :attr:`load`."""
        stored_energy = -d.potential_energy if gains.tank_capacity > 0.0 else 0.0
        self._tank.settle_sample(d, stored_energy, gains.tank_capacity, gains.tank_initial, dt)
        self._store_state(d)
        load, weight = self.load, self._weight
        base_limited = self._base_limited_efforts(d, effort + load)
        b, force = self._model.b, base_limited.effort
        torque = force[b:]
        limited_torque = self._limits.apply(
            torque, weight[b:], d.v[b:], gains.torque_rate, gains.power, dt
        )
        if limited_torque.effort is not torque:
            force = np.concatenate([force[:b], limited_torque.effort])
        if self._tank.tank is None:
            return LimitedEfforts(force - load, join(base_limited.reason, limited_torque.reason))
        compensation = np.concatenate([self.safe_output.wrench_base, self.safe_output.torque])
        # The motion of the robot is predicted without the load and what holds it.
        unloaded_compensation = compensation - load

        def brake() -> Array:
            strongest_effort = self._base_limited_efforts(d, strongest_brake(d, dt) + load).effort
            return self._limits.scale(compensation, strongest_effort) - load

        grant = self._tank.grant(d, force - load, unloaded_compensation, 0.0, dt, brake)
        if grant.reason:
            force = grant.force + load
            self._limits.replace_torque(force[b:])
        # Gravity that the resting effort leaves is not counted.
        self._tank.hold_effort(d, force - (compensation - d.g), -d.potential_energy)
        reason = join(grant.reason, base_limited.reason, limited_torque.reason)
        return LimitedEfforts(force - load, reason)

    def _store_state(self, d: Evaluation) -> None:
        # A copy: a host may measure into the same array again.
        self._last_q, self._weight, self._last_safe_command = np.array(d.q), d.g + self.load, None

    def _base_limited_efforts(self, d: Evaluation, desired_effort: Array) -> LimitedEfforts:
        """Return the efforts (nv,) within the limits of the base for desired ones (nv,)."""
        return base_limited_efforts(self._actuation, d, desired_effort, d.g + self.load)

    def _gravity_compensation(self, d: Evaluation) -> Command:
        """Return the efforts that compensate gravity as far as the base can."""
        b, torque_bound = self._model.b, self._model.joints.effort
        force = self._base_limited_efforts(d, d.g + self.load).effort
        torque = np.minimum(np.maximum(force[b:], -torque_bound), torque_bound)
        return Command(force[:b], torque, status=Status.HOLDING, reason=STATE_UNUSABLE)


class SafeOutput:
    """Gravity compensation plus damping, within the limits of joints and base actuators.

    The damping ``-k M v`` of locked motion and shape has the rate of :func:`.braking_rate`. What
    exceeds a limit is scaled down as a whole, so that it always takes energy out of the robot.
    """

    def __init__(
        self, model: VMSModel, allocation: Allocation | None = None, base_actuated: bool = True
    ) -> None:
        """Serve a robot with the actuators of its base; see :class:`BaseActuation`.

        Raises:
            ModelError: the allocation is for another kind of base.
        """
        self._model = model
        self._actuation = BaseActuation(model, allocation, base_actuated)

    def command(
        self, q: Array, v: Array, dt: float, compensation: Command | None = None, age: float = 0.0
    ) -> Command:
        """Return the safe output.

        Args:
            q: (nq,), finite.
            v: (nv,), finite.
            dt: time for which the output is held, s.
            compensation: efforts that hold the robot at rest; None for those of gravity.
            age: age of the state, s.
        """
        d, b = Evaluation(self._model, q, v), self._model.b
        effort_limits = self._model.joints.effort
        if compensation is None:
            holding_effort = base_limited_efforts(self._actuation, d, d.g, d.g).effort
        else:
            holding_effort = np.concatenate([compensation.wrench_base, compensation.torque])
        holding_torque = np.clip(holding_effort[b:], -effort_limits, effort_limits)
        braking_effort = -braking_rate(dt, age) * (d.M @ v)
        braking_effort[:b] += holding_effort[:b]
        # What the base does not apply must not act on the shape either.
        force = base_limited_efforts(self._actuation, d, braking_effort, holding_effort).effort
        share = step_share(holding_torque, force[b:], -effort_limits, effort_limits)
        torque = np.clip(holding_torque + share * force[b:], -effort_limits, effort_limits)
        return Command(force[:b], torque, status=Status.HOLDING, reason="holding and damping")
