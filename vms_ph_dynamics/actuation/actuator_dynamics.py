# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators in time: allocation, lag, limits and failures, and where their energy goes."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, sqrt

import numpy as np

from ..arrays import Array
from .allocation import Actuators, bounded_least_squares, nearest_inputs

# Added to the squares of the errors of a wrench: those of the forces by which tilts are found, as a
# share of the trace of their map. Each round leaves this share of what it has made wrong.
_REGULARISATION, _ROUNDS = 1e-6, 3


@dataclass(frozen=True, slots=True)
class StepEfforts:
    """What the actuators do over a step; nothing of it is in force before it is committed.

    Attributes:
        commands: (m,) inputs that the allocation asks for.
        inputs: (m,) inputs in force: thrusts with their lag, torques of motors.
        friction_torques: (m,) torques of bearings and rolling.
        end_rates: (m,) of what spins, at the end of the step, rad/s.
        end_tilts: (m,) at the end of the step, rad.
        matrix: (b,m) B during the step.
        wrench: (b,) on the base, without the gyroscopic moment.
        start_momentum: (3,) of what spins, in the base frame, at the start.
        momentum_rate: (3,) by which it changes, N m.
        missing_wrench: (b,) wanted wrench less that of the commands.
    """

    commands: Array
    inputs: Array
    friction_torques: Array
    end_rates: Array
    end_tilts: Array
    matrix: Array
    wrench: Array
    start_momentum: Array
    momentum_rate: Array
    missing_wrench: Array

    def wrench_at(self, time: float, v_base: Array) -> Array:
        """Return the wrench on the base with the gyroscopic moment ``-w x h``, (b,).

        On a planar base that moment is across the axis about which it turns.

        Args:
            time: time since the start of the step, s.
            v_base: (b,) twist of the base.
        """
        wrench = self.wrench.copy()
        if len(wrench) == 6:
            wrench[3:] -= np.cross(v_base[3:], self.start_momentum + time * self.momentum_rate)
        return wrench


class ActuatorDynamics:
    """The state of actuators, advanced step by step with the motion of the base.

    Over a step inputs are constant. Shafts of rotors follow their commands with the exact solution
    of the lag, and their thrust is that of the mean rate. The energy of a step is closed by

        electric = work on the base + change of what spins store + losses

    with the work by the integrator of the robot.

    Args:
        actuators: of the base.
        dt: length of the steps, s.

    Attributes:
        actuators: of the base.
        rates: (m,) of shafts: rotors with a thrust constant and reaction wheels, rad/s.
        thrusts: (m,) of rotors without a thrust constant, N.
        tilts, steering_angles: (m,) of tilting rotors and of casters, rad.
        step_efforts: efforts that act over the present step.
        electric_energy: energy taken from the supply since the last reset, J.
        lost_energies: since then by ``fluid``, ``friction`` and ``winding``, (m,) each, J.
    """

    def __init__(self, actuators: Actuators, dt: float) -> None:
        self.actuators, self._dt = actuators, dt
        self._decay = np.array([exp(-dt / t) if t > 0.0 else 0.0 for t in actuators.time_constant])
        self._is_failed = np.zeros(len(actuators.names), dtype=bool)
        self._is_unreported = self._is_failed.copy()
        self.reset()

    def reset(self) -> None:
        """Return to the start; failures remain."""
        a, m = self.actuators, len(self.actuators.names)
        self.rates: Array = a.start_rates.copy()
        self.thrusts: Array = np.zeros(m)
        self.tilts: Array = np.zeros(m)
        self.steering_angles: Array = a.start_angles.copy()
        self.electric_energy = 0.0
        mechanisms = ("fluid", "friction", "winding")
        self.lost_energies: dict[str, Array] = {name: np.zeros(m) for name in mechanisms}
        zero = np.zeros(len(a.wrench_rows))
        self.step_efforts = self.allocate(zero, zero)

    def settle(self, wrench: Array) -> None:
        """Let rotors and thrusters turn as they do when a wrench (b,) has long been commanded."""
        a, b = self.actuators, len(wrench)
        efforts = self.allocate(wrench, np.zeros(b))
        rotors = a.rotors
        thrusts = np.where(np.abs(efforts.commands) < a.dead_zone, 0.0, efforts.commands)[rotors]
        thrusts[self._is_failed[rotors]] = 0.0
        self.rates, self.thrusts = self.rates.copy(), self.thrusts.copy()
        self.rates[rotors], self.thrusts[rotors] = self._rotor_rates(thrusts), thrusts
        self.allocate(wrench, np.zeros(b))

    def fail(self, name: str, reported: bool = True) -> None:
        """Let an actuator fail: its motor gives no torque any more.

        Args:
            name: of the actuator.
            reported: whether the allocation knows, and does without it.

        Raises:
            ModelError: there is none of that name.
        """
        is_of_actuator = self.actuators.owner_indices == self.actuators.index(name)
        self._is_failed[is_of_actuator] = True
        self._is_unreported[is_of_actuator] = not reported

    def repair(self) -> None:
        """End all failures."""
        self._is_failed[:] = False
        self._is_unreported[:] = False

    @property
    def failed_inputs(self) -> tuple[str, ...]:
        """Names of the inputs that have failed."""
        return tuple(self.actuators.names[k] for k in np.flatnonzero(self._is_failed))

    @property
    def has_momentum(self) -> bool:
        """Whether something has momentum of its own."""
        return bool((self.actuators.inertia > 0.0).any())

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy of what spins, J."""
        return float(0.5 * self.actuators.inertia @ self.rates**2)

    @property
    def momentum(self) -> Array:
        """Angular momentum of what spins, in the base frame, (3,), kg m^2/s."""
        a = self.actuators
        return np.asarray(a.spin_axes(self.tilts) @ (a.inertia * self.rates))

    def allocate(self, wrench: Array, v_base: Array) -> StepEfforts:
        """Allocate a wrench for the next step, and return what then acts; see :meth:`commit`.

        Args:
            wrench: (b,) wrench on the base.
            v_base: (b,) twist of the base.
        """
        a, dt, r = self.actuators, self._dt, self.actuators.reaction_wheels
        matrix = a.matrix(self.tilts, self.steering_angles)
        relative_rates = self._relative_rates(matrix, v_base, self.rates)
        lower, upper = self._input_bounds(relative_rates)
        tilts: Array = self.tilts
        if a.tilting_rotors.size:
            commands, deficit, tilts = self._tilted_commands(wrench, lower, upper)
            matrix = a.matrix(0.5 * (self.tilts + tilts), self.steering_angles)
        else:
            allocated = nearest_inputs(matrix, wrench, lower, upper, a.weights)
            commands, deficit = allocated.inputs, allocated.missing_wrench
        feasible_commands = np.where(np.abs(commands) < a.dead_zone, 0.0, commands)
        feasible_commands[self._is_failed] = 0.0
        inputs, rates = self._lagged_inputs(feasible_commands)
        friction = -a.friction * relative_rates
        rates[r] += dt * (inputs + friction)[r] / a.inertia[r]
        momentum = self.momentum
        moment = (a.spin_axes(tilts) @ (a.inertia * rates) - momentum) / dt
        active_inputs = inputs + friction
        active_inputs[r] = 0.0  # their reaction is the change of their momentum
        output = matrix @ active_inputs + np.concatenate([np.zeros(3), -moment])[a.wrench_rows]
        self.step_efforts = StepEfforts(
            commands, inputs, friction, rates, tilts, matrix, output, momentum, moment, deficit
        )
        return self.step_efforts

    def commit(self, work: float, v_start: Array, v_end: Array) -> None:
        """Advance by the step that was allocated, and enter its energy.

        Args:
            work: work of the wrench on the base during the step, J.
            v_start: (b,) twist of the base at the start.
            v_end: velocity at the end of the step.
        """
        a, dt, efforts = self.actuators, self._dt, self.step_efforts
        mean_twist = 0.5 * (v_start + v_end)
        spin_energy, mean_rates = self.kinetic_energy, 0.5 * (self.rates + efforts.end_rates)
        torques = self.shaft_torques(efforts, mean_rates, mean_twist)
        relative_rates = self._relative_rates(efforts.matrix, mean_twist, mean_rates)
        losses = {
            "fluid": dt * a.loss_ratio * a.thrust_constant * np.abs(mean_rates) ** 3,
            "friction": -dt * efforts.friction_torques * relative_rates,
            "winding": dt * self.winding_losses(torques),
        }
        for name, energies in losses.items():
            self.lost_energies[name] += energies
        self.rates, self.tilts = efforts.end_rates, efforts.end_tilts
        self.thrusts = efforts.inputs
        if (k := a.steered_wheels).size:
            self.steering_angles = self.steering_angles.copy()
            self.steering_angles[k] += dt * (efforts.matrix.T @ mean_twist)[k + 1]
        lost_energy = sum(float(energies.sum()) for energies in losses.values())
        self.electric_energy += work + self.kinetic_energy - spin_energy + lost_energy

    def shaft_rates(self, v_base: Array) -> Array:
        """Return the rates of shafts (m,), rad/s, those of wheels at a twist (b,) of the base."""
        rates, w = self.rates.copy(), self.actuators.wheels
        rates[w] = (self.step_efforts.matrix.T @ v_base)[w]
        return rates

    def shaft_torques(self, efforts: StepEfforts, shaft_rates: Array, v_base: Array) -> Array:
        """Return the torques of all motors, (m,), N m.

        Args:
            efforts: those of the step.
            shaft_rates: (m,) rates of shafts, rad/s.
            v_base: (b,) twist of the base.
        """
        a = self.actuators
        torques: Array = efforts.inputs.copy()
        rotors = a.rotors[a.thrust_constant[a.rotors] > 0.0]
        torques[a.rotors] = 0.0
        speed = np.abs(shaft_rates[rotors])
        drag_square = a.loss_ratio[rotors] * speed * shaft_rates[rotors]
        climb_square = speed * (efforts.matrix.T @ v_base)[rotors]
        spin_up_torques = a.inertia[rotors] * (efforts.end_rates - self.rates)[rotors] / self._dt
        torques[rotors] = a.thrust_constant[rotors] * (drag_square + climb_square) + spin_up_torques
        return torques

    def winding_losses(self, torque: Array) -> Array:
        """Return the heat of the windings at motor torques (m,), (m,), W."""
        a = self.actuators
        current = np.divide(
            torque, a.torque_constant, out=np.zeros_like(torque), where=a.torque_constant > 0.0
        )
        return np.asarray(a.resistance * current * current)

    def losses(self) -> Mapping[str, float]:
        """Return the energy lost since the last reset by ``"actuator/how"``, J."""
        energies: dict[str, float] = {}
        for mechanism, energies_by_input in self.lost_energies.items():
            for name, energy in zip(self.actuators.names, energies_by_input, strict=True):
                if energy:
                    energies[f"{name}/{mechanism}"] = float(energy)
        return energies

    def _relative_rates(self, matrix: Array, v_base: Array, rates: Array) -> Array:
        """Return the rates of wheels, and of reaction wheels relative to the base, (m,)."""
        r, relative_rates = self.actuators.reaction_wheels, matrix.T @ v_base
        relative_rates[r] += rates[r]
        return np.asarray(relative_rates)

    def _rotor_rates(self, thrusts: Array) -> Array:
        """Return the rates at which rotors give thrusts, both of rotors alone; zero for others."""
        k_rotor = self.actuators.thrust_constant[self.actuators.rotors]
        rates = np.sign(thrusts) * np.sqrt(np.abs(thrusts) / np.where(k_rotor > 0.0, k_rotor, 1.0))
        return np.where(k_rotor > 0.0, rates, 0.0)

    def _input_bounds(self, relative_rates: Array) -> tuple[Array, Array]:
        """Return the bounds of the inputs now, (m,) each."""
        a, dt = self.actuators, self._dt
        lower, upper, w, r = a.lower.copy(), a.upper.copy(), a.wheels, a.reaction_wheels
        upper[w] = np.where(relative_rates[w] >= a.largest_rate[w], 0.0, upper[w])
        lower[w] = np.where(relative_rates[w] <= -a.largest_rate[w], 0.0, lower[w])
        # A reaction wheel ends no step beyond its largest spin.
        friction = a.friction[r] * relative_rates[r]
        slope = a.inertia[r] / dt
        upper[r] = np.minimum(upper[r], slope * (a.largest_rate[r] - self.rates[r]) + friction)
        lower[r] = np.maximum(lower[r], slope * (-a.largest_rate[r] - self.rates[r]) + friction)
        upper[r], lower[r] = np.maximum(upper[r], a.lower[r]), np.minimum(lower[r], a.upper[r])
        is_reported = self._is_failed & ~self._is_unreported
        lower[is_reported] = upper[is_reported] = 0.0
        return lower, upper

    def _lagged_inputs(self, commands: Array) -> tuple[Array, Array]:
        """Return the inputs (m,) over a step and the rates (m,) of rotors at its end."""
        a, inputs, shaft_rates = self.actuators, commands.copy(), self.rates.copy()
        r = a.rotors
        k, decay, target = a.thrust_constant[r], self._decay[r], self._rotor_rates(commands[r])
        end_rates = target + decay * (shaft_rates[r] - target)
        mean_rates = 0.5 * (shaft_rates[r] + end_rates)
        lagged_thrusts = commands[r] + decay * (self.thrusts[r] - commands[r])
        inputs[r] = np.where(k > 0.0, k * mean_rates * np.abs(mean_rates), lagged_thrusts)
        shaft_rates[r] = end_rates
        return inputs, shaft_rates

    def _tilted_commands(
        self, wrench: Array, lower: Array, upper: Array
    ) -> tuple[Array, Array, Array]:
        """Return commands (m,), what they miss (b,) and tilts (m,) at the end of the step.

        The forces that a rotor which tilts can give are sums of three that are not negative: at the
        limits of its angle and in the middle between them, where it gives its least thrust at
        least. It is allocated by these, and turns to their sum. What then acts is the wrench of the
        angles that are reached, for which the thrusts are allocated once more.
        """
        a, i, dt = self.actuators, self.actuators.tilting_rotors, self._dt
        m, middle_tilts = len(a.names), 0.5 * (a.tilt_lower + a.tilt_upper)
        tilts_of_columns = middle_tilts, a.tilt_lower, a.tilt_upper
        matrices = [a.matrix(tilts, self.steering_angles) for tilts in tilts_of_columns]
        columns = np.hstack([matrices[0], matrices[1][:, i], matrices[2][:, i]])
        minima, maxima = np.zeros(m + 2 * i.size), np.concatenate([upper, upper[i], upper[i]])
        minima[:m] = lower
        inputs = _least_norm(a.weights[:, None] * columns, a.weights * wrench, minima, maxima)
        lower_forces, upper_forces = inputs[m : m + i.size], inputs[m + i.size :]
        half_range = 0.5 * (a.tilt_upper[i] - a.tilt_lower[i])
        lateral_forces = (upper_forces - lower_forces) * np.sin(half_range)
        axial_forces = inputs[i] + (lower_forces + upper_forces) * np.cos(half_range)
        targets = middle_tilts[i] + np.arctan2(lateral_forces, axial_forces)
        targets = np.where(np.hypot(lateral_forces, axial_forces) > 1e-9, targets, self.tilts[i])
        targets = np.clip(targets, a.tilt_lower[i], a.tilt_upper[i])
        largest_turn = dt * a.tilt_rate[i]
        end_tilts = self.tilts.copy()
        end_tilts[i] = np.clip(targets, self.tilts[i] - largest_turn, self.tilts[i] + largest_turn)
        matrix = a.matrix(0.5 * (self.tilts + end_tilts), self.steering_angles)
        allocated = nearest_inputs(matrix, wrench, lower, upper, a.weights)
        return allocated.inputs, allocated.missing_wrench, end_tilts


def _least_norm(A: Array, b: Array, lower: Array, upper: Array) -> Array:
    """Return the smallest x (m,) within bounds of those with the least ``|A x - b|``.

    There are many more entries than equations; the search within bounds alone leaves open to 1e-7
    which of them have a share.
    """
    unbounded: Array = np.linalg.pinv(A) @ b
    if ((unbounded >= lower) & (unbounded <= upper)).all():
        return unbounded
    m = A.shape[1]
    rows = np.vstack([A, sqrt(_REGULARISATION * float((A * A).sum())) * np.eye(m)])
    right_side, zero = b, np.zeros(m)
    for _ in range(_ROUNDS):
        solution = bounded_least_squares(rows, np.concatenate([right_side, zero]), lower, upper)
        right_side = right_side + (b - A @ solution)
    return solution
