# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Guards of energy before servos: commands of position or velocity instead of efforts."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array, OptionError, VMSModel
from vms_ph_dynamics.arrays import summary

from ..controller import Status
from ..safety.energy_tank import EnergyTank
from .certificate import Certificate, SampleCounts
from .motion_limits import EnergyGuardSettings, checked_delay, settings_with_budget

# Halvings by which the share of a command is found; what is granted lies on the safe side.
_HALVINGS = 24

# Positions farther from the last ones than this multiple of what the velocity limits allow, plus a
# distance (rad or m), are not believed.
_VELOCITY_FACTOR, _STEP_TOLERANCE = 5.0, 0.05


@dataclass(frozen=True, slots=True)
class GuardedCommand:
    """What a guard sends to servos.

    Attributes:
        command: (n,) positions (rad, m) or velocities (rad/s, m/s); the wanted one itself where the
            tank covers it.
        status: OK where the wanted command passes unchanged, SATURATED where a part of it passes,
            HOLDING where there is no position or no command of this robot.
        reason: what was changed and why, in words; empty for a command that passes unchanged.
        level: energy in the tank, J.
    """

    command: Array
    status: Status
    reason: str
    level: float


@dataclass(frozen=True, slots=True, repr=False)
class ServoCertificate(Certificate):
    """What a guard before servos saw; energy that springs hold counts as given."""

    @property
    def not_seen(self) -> tuple[str, ...]:
        """What such a guard cannot see, in sentences."""
        sentences = (
            "servos of another kind than declared: stiffness or damping beyond their bounds, an "
            "integrator, a feed-forward, commands that act at other times",
            "energy at other ports: contacts, people, other actuators, and the weight, which the "
            "servos carry",
        )
        lost_samples = f"{self.lost} samples without plausible positions, in which the servos held"
        return (*sentences, lost_samples) if self.lost else sentences

    def rows(self) -> Iterable[tuple[str, str]]:
        """Return what was observed; the energy given is the bound of the guard."""
        for name, text in super(ServoCertificate, self).rows():
            if name == "given":
                text = f"no more than {self.given:.6g} J now, {self.largest_given:.6g} J ever"
            if name != "weight":
                yield name, text


class ServoGuard(ABC):
    """Bounds the energy that commands give to a robot through the servos of its joints.

    The tank holds the energy that may still be given. A command is paid for before it is sent, with
    the most that it can give; what is then not given, or comes back, is deposited once the
    positions are measured. A command that the tank does not cover is sent in part.

    Attributes:
        settings: of which ``tank_capacity``, ``tank_initial``, ``refill_power`` and ``freeze``
            apply; replace the whole record to change them.
        tank: the tank, with the sums of what went in and out.

    Args:
        model: the robot.
        budget: energy that the commands may give, J; None for that of the settings.
        settings: the tank; the defaults when None.
        delay: number of samples from a measurement to the moment from which the command that
            follows from it acts, 0 to 5.
        joints: names of the n joints that have these servos; None for all.

    Raises:
        OptionError: the delay or the budget is out of range.
        ModelError: there is no such joint.
    """

    def __init__(
        self,
        model: VMSModel,
        *,
        budget: float | None = None,
        settings: EnergyGuardSettings | None = None,
        delay: int = 0,
        joints: Sequence[str] | None = None,
    ) -> None:
        self.settings, self.delay = settings_with_budget(settings, budget), checked_delay(delay)
        self._model = model
        self._joint_names = tuple(model.joint_names if joints is None else joints)
        self._n, limits = len(self._joint_names), model.joints
        indices = [model.joint_index(name) for name in self._joint_names]
        self._max_speed = limits.velocity[indices]
        self._max_force = np.minimum(limits.effort[indices], _NO_LIMIT)

    def _await_engagement(self) -> None:
        """Prepare for a first update that engages; called at the end of a constructor."""
        self.engage(np.zeros(self._n))
        self._is_engaged = False

    def __repr__(self) -> str:
        """Return robot and tank, in one line."""
        return summary(self, f"'{self._model.name}'", repr(self.tank))

    def engage(self, positions: npt.ArrayLike, command: npt.ArrayLike | None = None) -> None:
        """Begin at measured positions, with a tank at its initial level.

        Args:
            positions: (n,) of the joints, rad or m.
            command: (n,) that the servos follow now; None for one that moves nothing.
        """
        self.tank = EnergyTank(self.settings.tank_capacity, self.settings.tank_initial)
        self._counts, self._is_engaged = SampleCounts(), True
        self._positions = np.array(positions, float)
        initial_command = self._idle_command() if command is None else np.array(command, float)
        # What acts since the last measurement, then what is under way.
        self._commands: deque[Array] = deque([initial_command] * (self.delay + 1))
        self._time_since_measurement, self._committed_energy = 0.0, 0.0
        self._restart(initial_command)
        self._withdraw_energy(self._energy_bound(initial_command, initial_command, 0.0))

    def update(self, positions: npt.ArrayLike, command: npt.ArrayLike, dt: float) -> GuardedCommand:
        """Return the command to send in place of a wanted one; never raises.

        A guard that was not engaged engages at the first measured positions. Before them there is
        no command that holds the robot: it is NaN.

        Args:
            positions: (n,) of the joints as measured, rad or m.
            command: (n,) wanted positions (rad, m) or velocities (rad/s, m/s).
            dt: time since the last update, s.
        """
        measured_positions = np.asarray(positions, float)
        if not self._is_engaged and self._is_valid(measured_positions):
            self.engage(measured_positions)
        tank, settings, counts = self.tank, self.settings, self._counts
        dt = dt if 0.0 <= dt < np.inf else 0.0
        counts.samples += 1
        counts.duration += dt
        self._time_since_measurement += dt
        tank.capacity = settings.tank_capacity
        if settings.refill_power > 0.0 and not settings.freeze:
            tank.refill(settings.refill_power * dt)
        last_command, fault = self._commands[-1], self._fault(measured_positions)
        safe_command = self._safe_command(last_command)
        if fault:
            counts.lost += 1
            counts.first_loss = counts.first_loss or fault
            self._record_command(last_command, safe_command, dt)
            sent_command = safe_command if self._is_engaged else np.full(self._n, np.nan)
            return GuardedCommand(sent_command, Status.HOLDING, fault, tank.level)
        ended_commands = [self._commands.popleft() for _ in range(len(self._commands) - self.delay)]
        self._count_energy(ended_commands, measured_positions, self._time_since_measurement)
        self._positions, self._time_since_measurement = measured_positions.copy(), 0.0
        is_valid = self._is_valid(np.asarray(command, float))
        desired_command = np.asarray(command, float) if is_valid else safe_command
        covered_command, share, energy_bound = self._grant(last_command, desired_command, dt)
        self._withdraw_energy(energy_bound)
        self._record_command(last_command, covered_command, dt)
        if not is_valid:
            counts.reflexes += 1
            reason = "the command is not finite or not of this robot"
            return GuardedCommand(covered_command, Status.HOLDING, reason, tank.level)
        if share == 1.0:
            return GuardedCommand(covered_command, Status.OK, "", tank.level)
        counts.scaled += share > 0.0
        counts.braked += share <= 0.0
        reason = f"the energy tank covers {100.0 * share:.0f}% of the change of the command"
        return GuardedCommand(covered_command, Status.SATURATED, reason, tank.level)

    @property
    def certificate(self) -> Certificate:
        """What was given since the engagement: energy given or still held by the servos, J."""
        return replace(
            ServoCertificate.from_guard(self._model, self.tank, self._counts, self.delay, False),
            ports=self._joint_names,
        )

    def _grant(self, last_command: Array, command: Array, dt: float) -> tuple[Array, float, float]:
        """Return the command that the tank covers, its share of the change, and its bound, J."""
        level = self.tank.level
        bound_limit = self._committed_energy + (min(level, 0.0) if self.settings.freeze else level)
        max_energy = self._energy_bound(last_command, command, dt)
        if max_energy <= bound_limit:
            return command, 1.0, max_energy
        start, max_energy = last_command, self._energy_bound(last_command, last_command, dt)
        step = command - last_command
        can_hold_last = max_energy <= bound_limit
        if not can_hold_last:
            start = self._retracted_command(last_command, dt)
            step, max_energy = last_command - start, self._energy_bound(last_command, start, dt)
        # The bound is convex in the share: the largest one within the limit is found by halving.
        covered_command, low_share, high_share = start, 0.0, 1.0
        for _ in range(_HALVINGS):
            share = 0.5 * (low_share + high_share)
            trial_command = start + share * step
            trial_bound = self._energy_bound(last_command, trial_command, dt)
            if trial_bound <= bound_limit:
                covered_command, low_share, max_energy = trial_command, share, trial_bound
            else:
                high_share = share
        return covered_command, low_share if can_hold_last else 0.0, max_energy

    def _withdraw_energy(self, energy_bound: float) -> None:
        """Withdraw the most that the commands sent so far can give, less what was withdrawn."""
        self.tank.withdraw(energy_bound - self._committed_energy)
        self._committed_energy = energy_bound

    def _is_valid(self, array: Array) -> bool:
        return array.shape == (self._n,) and bool(np.isfinite(array).all())

    def _fault(self, measured_positions: Array) -> str:
        """Say why measured positions are not believed; empty if they are."""
        if not self._is_valid(measured_positions):
            return "no positions of this robot were measured"
        # An infinite limit times zero is no number.
        elapsed_time = max(self._time_since_measurement, np.finfo(float).tiny)
        largest_jump = _VELOCITY_FACTOR * self._max_speed * elapsed_time + _STEP_TOLERANCE
        jumps = np.abs(measured_positions - self._positions)
        if not (jumps > largest_jump).any():
            return ""
        joint = int(np.argmax(jumps > largest_jump))
        name = self._joint_names[joint]
        return f"{name} jumped by {jumps[joint]:.4g}, farther than its velocity limit allows"

    @abstractmethod
    def _restart(self, initial_command: Array) -> None:
        """Begin with the command (n,) that acts."""

    def _idle_command(self) -> Array:
        """Return the command (n,) that moves nothing at the present positions: of rates, zero."""
        return np.zeros(self._n)

    def _safe_command(self, last_command: Array) -> Array:
        """Return the command (n,) that gives nothing more after the last one."""
        return self._idle_command()

    def _retracted_command(self, last_command: Array, dt: float) -> Array:
        """Return the command (n,) towards which the last one is taken back within a sample."""
        return self._idle_command()

    @abstractmethod
    def _count_energy(self, commands: Sequence[Array], positions: Array, dt: float) -> None:
        """Count what was given until now.

        Args:
            commands: commands that acted since the last measurement, each for one sample; several
                where samples were lost.
            positions: (n,) positions at their end.
            dt: time since the last measurement, s.
        """

    @abstractmethod
    def _energy_bound(self, last_command: Array, command: Array, dt: float) -> float:
        """Return the most energy given since the engagement if a command follows the last one, J.

        Energy that servos then hold, and can give without another command, is part of it.
        """

    def _record_command(self, last_command: Array, command: Array, dt: float) -> None:
        """Let a command follow the last one."""
        self._commands.append(command)


def _gain_bounds(
    n: int, name: str, gains: npt.ArrayLike, uncertainty: float, minimum: float = 1e-12
) -> Array:
    """Return the least and the largest constants of the servos, (2, n).

    Args:
        n: number of servos.
        name: of the constants, for the error.
        gains: (n,) or one number.
        uncertainty: bound of their relative errors, 0 to below 1.
        minimum: smallest number that is accepted.

    Raises:
        OptionError: they are out of range, or not as many as the servos.
    """
    if not 0.0 <= uncertainty < 1.0:
        raise OptionError(f"uncertainty must be from 0 to below 1; given: {uncertainty!r}")
    nominal_gains = np.asarray(gains, float)
    is_accepted = np.isfinite(nominal_gains) & (nominal_gains >= minimum)
    if nominal_gains.shape not in ((), (1,), (n,)) or not is_accepted.all():
        raise OptionError(
            f"{name} must be one number or {n}, {'positive' if minimum else 'not negative'}; "
            f"given: {gains!r}"
        )
    return np.outer((1.0 - uncertainty, 1.0 + uncertainty), nominal_gains * np.ones(n))


def spring_positions(model: VMSModel, q: Array, torque: Array, stiffness: npt.ArrayLike) -> Array:
    """Return the positions (n,) with which servos that are springs give torques.

    Within the joint limits is the position beside the offset that carries the weight, and that
    offset may go beyond, by 0.1 rad or m. A joint beyond a limit is not pulled in by this.

    Args:
        model: the robot, with its weight.
        q: (nq,) measured configuration, from which the springs are stretched.
        torque: (n,) of a law that carries the weight, N m or N.
        stiffness: of the servos, (n,) or one number, N m/rad or N/m.
    """
    limits, positions = model.joints, model.joint_positions(q)
    weight = model.evaluate(q, np.zeros(model.nv)).g[model.b :]
    compliance = 1.0 / np.asarray(stiffness, float)
    offset = compliance * np.clip(weight, -limits.effort, limits.effort)
    lower, upper = np.minimum(limits.lower, positions), np.maximum(limits.upper, positions)
    commanded = np.clip(positions + compliance * torque - offset, lower, upper) + offset
    return np.clip(commanded, lower - _MAX_SERVO_OFFSET, upper + _MAX_SERVO_OFFSET)


# Force of a joint without a limit in its description, N m or N; a damping that is none.
_NO_LIMIT, _TINY = 1e9, 1e-200

# Largest distance beyond a joint limit at which a servo is held for the weight, rad or m.
_MAX_SERVO_OFFSET = 0.1


class PositionGuard(ServoGuard):
    r"""Bounds the energy that position commands give to a robot through its servos.

    A servo with a fixed command is a spring and damper, and gives at most what its spring holds:
    with a force :math:`K (c - q) - D \dot q` up to the limit of the joint, the energy given and the
    energy in the spring do not grow together. Only a change of the command adds to them, by the
    spring energy after it less that before. So this sum is known from the measured positions, with
    a spring whose stiffness is constant within its bounds, whatever contacts or people do.

    The damper takes at least :math:`D s (2 r - s) \Delta t` in a sample in which the joint moves at
    the mean rate r, with :math:`s = \min(r, m / 2 D)`, a convex bound of
    :math:`\min(D r^2, m r)`; m is the smaller force margin at the sample's two ends. Beyond it a
    limit of the whole force may hide the damper.

    Assumption: every servo is such a spring and damper (no feed-forward, no integrator; what it
    adds against the weight does no work on the whole), its stiffness lies within the stated bounds,
    and, with a delay, joints move no faster than their velocity limits.

    Args:
        model: the robot; of its joints the limits of effort and velocity are used.
        stiffness: of the servos, (n,) or one number, N m/rad or N/m.
        damping: of the servos, (n,) or one number, N m s/rad or N s/m; 0 where it is not known.
        uncertainty: bound of the relative errors of stiffness and damping, 0 to below 1.
        options: budget, settings, delay and joints of :class:`ServoGuard`.

    Raises:
        OptionError: an argument is out of range, or a joint has no velocity limit and the delay is
            not zero.
    """

    def __init__(
        self,
        model: VMSModel,
        stiffness: npt.ArrayLike,
        damping: npt.ArrayLike = 0.0,
        *,
        uncertainty: float = 0.2,
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self._stiffness = _gain_bounds(self._n, "stiffness", stiffness, uncertainty)
        self._damping = _gain_bounds(self._n, "damping", damping, uncertainty, 0.0)[0]
        self._linear_range = self._max_force / self._stiffness[1]  # longest spring below the limit
        if self.delay and not np.isfinite(self._max_speed).all():
            raise OptionError("with a delay every joint needs a velocity limit in the description")
        self._await_engagement()

    def _restart(self, initial_command: Array) -> None:
        # What changes of commands add at most to the energy given and stored, for the least and the
        # largest stiffness, (2, n) J: those that took place, and those under way.
        self._added_energy = self._energy_change(self._positions, initial_command, 0.0)
        self._pending_energy: deque[Array] = deque([np.zeros((2, self._n))] * self.delay)
        self._damped_energy = 0.0  # by the dampers, J

    def _idle_command(self) -> Array:
        return self._positions.copy()

    def _safe_command(self, last_command: Array) -> Array:
        return last_command

    def _retracted_command(self, last_command: Array, dt: float) -> Array:
        max_step = self._max_speed * dt if dt > 0.0 else np.zeros(self._n)
        return last_command + np.clip(self._positions - last_command, -max_step, max_step)

    def _count_energy(self, commands: Sequence[Array], positions: Array, dt: float) -> None:
        if dt > 0.0 and len(commands) == 1:  # a force at its limit hides the damper
            stretch = np.abs(commands[0] - np.array([self._positions, positions])).max(0)
            force_margin = np.maximum(self._max_force - self._stiffness[1] * stretch, 0.0)
            rate = np.abs(positions - self._positions) / dt
            capped = np.minimum(rate, force_margin / np.maximum(2.0 * self._damping, _TINY))
            self._damped_energy += dt * float(sum(self._damping * capped * (2.0 * rate - capped)))
        self._positions = positions
        if self.delay:
            for _ in commands[1:]:  # in lost samples, at positions that are not known
                self._added_energy = self._added_energy + self._pending_energy.popleft()
            self._pending_energy.popleft()
            self._added_energy += self._energy_change(commands[-1], self._commands[0], 0.0)

    def _energy_bound(self, last_command: Array, command: Array, dt: float) -> float:
        energy = self._added_energy + self._energy_change(last_command, command, self.delay * dt)
        return float(sum(self._pending_energy, energy).max(0).sum()) - self._damped_energy

    def _record_command(self, last_command: Array, command: Array, dt: float) -> None:
        super()._record_command(last_command, command, dt)
        energy_change = self._energy_change(last_command, command, self.delay * dt)
        if self.delay:
            self._pending_energy.append(energy_change)
        else:
            self._added_energy = self._added_energy + energy_change

    def _energy_change(self, last_command: Array, command: Array, travel_time: float) -> Array:
        """Return what a change of the command adds at most to the springs, (2, n) J.

        Until the change acts, joints may travel for ``travel_time`` s. In the linear range the two
        rows are for the least and the largest stiffness; beyond it they are equal.
        """
        travel = self._max_speed * travel_time if travel_time > 0.0 else np.zeros(self._n)
        last_stretch, stretch = last_command - self._positions, command - self._positions
        energy_increase = np.maximum(
            self._spring_energy(stretch - travel) - self._spring_energy(last_stretch - travel),
            self._spring_energy(stretch + travel) - self._spring_energy(last_stretch + travel),
        )
        is_linear = np.maximum(np.abs(last_stretch), np.abs(stretch)) + travel <= self._linear_range
        return np.where(is_linear, energy_increase, energy_increase.max(0))

    def _spring_energy(self, stretch: Array) -> Array:
        """Return the energy of springs of the least and the largest stiffness, J."""
        k, force_limit, length = self._stiffness, self._max_force, np.abs(stretch)
        knee = force_limit / k  # stretch at which the force is at its limit
        return np.where(length <= knee, 0.5 * k * length**2, force_limit * (length - 0.5 * knee))


class VelocityGuard(ServoGuard):
    r"""Bounds the energy that velocity commands give to a robot through its servos.

    A servo with a force :math:`D (c - \dot q)` gives at most :math:`D c^2 \Delta t / 4` within a
    sample, however the joint moves, and :math:`D (c\,\Delta q - \Delta q^2 / \Delta t)` once its
    displacement is known; beyond the limit of the force its tangent. A command of zero gives
    nothing.

    Assumption: every servo is such a damper, and its damping lies within the stated bounds.

    Args:
        model: the robot.
        damping: of the servos, (n,) or one number, N m s/rad or N s/m.
        uncertainty: bound of its relative error, 0 to below 1.
        options: budget, settings, delay and joints of :class:`ServoGuard`.

    Raises:
        OptionError: an argument is out of range.
    """

    def __init__(
        self, model: VMSModel, damping: npt.ArrayLike, *, uncertainty: float = 0.2, **options: Any
    ) -> None:
        super().__init__(model, **options)
        self._damping = _gain_bounds(self._n, "damping", damping, uncertainty)
        # Velocity errors at which the force is at its limit.
        self._error_range = self._max_force / self._damping[1]
        self._await_engagement()

    def _restart(self, initial_command: Array) -> None:
        self._unit_energy = np.zeros(self._n)  # energy given by a damping of one, J

    def _count_energy(self, commands: Sequence[Array], positions: Array, dt: float) -> None:
        if len(commands) > 1:  # samples were lost: the positions at these changes are not known
            self._unit_energy += 0.25 * dt / len(commands) * np.square(commands).sum(0)
        elif dt > 0.0:
            command, rate, band = commands[0], (positions - self._positions) / dt, self._error_range
            capped = np.clip(rate, 0.5 * (command - band), 0.5 * (command + band))
            self._unit_energy += dt * (capped * (command - capped) - band * np.abs(rate - capped))

    def _energy_bound(self, last_command: Array, command: Array, dt: float) -> float:
        commands = np.array([*self._commands, command])
        unit_bound = self._unit_energy + 0.25 * dt * np.square(commands).sum(0)
        return float((self._damping * unit_bound).max(0).sum())
