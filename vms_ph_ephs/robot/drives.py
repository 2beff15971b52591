# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The drives of a robot, and the heat capacities that exchange heat with the environment."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from vms_ph_dynamics import Array, ModelError
from vms_ph_dynamics.arrays import frozen


class Conductor(NamedTuple):
    """A heat path between two capacities; ``None`` is the environment."""

    first: int
    second: int | None
    conductance: float


class HeatStep(NamedTuple):
    """The result of one step.

    Attributes:
        theta: (m,) temperatures after it, K.
        mean_theta: (m,) energy over entropy that each capacity took, K.
        heat: (k,) that flowed along each conductor, J.
        destroyed: (k,) exergy that this destroyed, J; never negative.
    """

    theta: Array
    mean_theta: Array
    heat: Array
    destroyed: Array


class ThermalNetwork:
    """The system of :class:`.HeatCapacity` and :class:`.Conduction` boxes on one environment.

    A step is that of discrete gradients: heat flows by the mean temperatures ``dU / dS`` of the
    step, at which energy is conserved and entropy produced exactly, however long the step is.

    Args:
        capacities: (m,) J/K.
        conductors: the heat paths.
        theta_0: temperature of the environment, K.
        dt: length of the steps, s.
    """

    def __init__(
        self, capacities: Array, conductors: Sequence[Conductor], theta_0: float, dt: float
    ) -> None:
        m, k = capacities.size, len(conductors)
        self._capacities, self._theta_0, self._dt = capacities, theta_0, dt
        # Rows give the difference of temperatures along each conductor, last column theta_0.
        self._incidence = np.zeros((k, m + 1))
        for row, conductor in zip(self._incidence, conductors, strict=True):
            row[conductor.first] = 1.0
            row[m if conductor.second is None else conductor.second] -= 1.0
        self._conductances = np.array([conductor.conductance for conductor in conductors])
        self._heat_per_kelvin = dt * self._conductances[:, None] * self._incidence
        laplacian = self._incidence[:, :m].T @ self._heat_per_kelvin
        implicit_matrix = np.diag(capacities) + 0.5 * laplacian[:, :m]
        self._propagator = np.linalg.solve(
            implicit_matrix,
            np.hstack([np.diag(capacities) - 0.5 * laplacian[:, :m], -laplacian[:, m:], np.eye(m)]),
        )
        self._incidence_t = np.ascontiguousarray(self._incidence[:, :m].T)
        self._first = np.array([conductor.first for conductor in conductors], dtype=np.intp)
        self._second = np.array(
            [m if conductor.second is None else conductor.second for conductor in conductors],
            dtype=np.intp,
        )

    def step(self, theta: Array, heat: Array) -> HeatStep:
        """Return the step from temperatures (m,) while heat (m,), J, enters the capacities."""
        m, c = theta.size, self._capacities
        mean_theta = np.empty(m + 1)
        mean_theta[m] = self._theta_0
        end_theta = self._propagator @ np.concatenate([theta, mean_theta[m:], heat])
        mean_theta[:m] = 0.5 * (theta + end_theta)
        for _ in range(2):
            heats = self._heat_per_kelvin @ mean_theta
            change = (heat - self._incidence_t @ heats) / c
            mean_theta[:m] = _mean_temperature(theta, change)
        inverse = 1.0 / mean_theta
        destruction = self._theta_0 * heats * (inverse[self._second] - inverse[self._first])
        return HeatStep(theta + change, mean_theta[:m], heats, destruction)


def _mean_temperature(theta: Array, change: Array) -> Array:
    """Return energy over entropy of a capacity whose temperature changes, K."""
    x = change / theta
    is_small = np.abs(x) < 1e-5
    # x / log(1 + x), whose series is exact to rounding where the quotient loses digits.
    nonzero_x = np.where(is_small, 1.0, x)
    ratio = np.where(is_small, 1.0 + x * (0.5 - x / 12.0), nonzero_x / np.log1p(nonzero_x))
    return np.asarray(theta * ratio)


_ZERO_CELSIUS = 273.15


@dataclass(frozen=True)
class Motors:
    """The motors of the n joints, each with its gear; arrays of size n.

    Attributes:
        torque_constant: joint torque per current, and voltage per joint rate, N m/A or N/A.
        resistance: of the winding at the temperature of the environment, ohm.
        temperature_coefficient: its relative growth, 1/K.
        largest_current: of the drive, A.
        winding_capacity: heat capacity of the winding, J/K.
        winding_conductance: from the winding to the housing of the joint, W/K.
        housing_capacity: heat capacity of the housing, which friction heats, J/K.
        housing_conductance: from the housing to the environment, W/K.

    Raises:
        ModelError: a number is not finite or not positive; the message names it.
    """

    torque_constant: Array
    resistance: Array
    temperature_coefficient: Array
    largest_current: Array
    winding_capacity: Array
    winding_conductance: Array
    housing_capacity: Array
    housing_conductance: Array

    def __post_init__(self) -> None:
        """Check the numbers."""
        for field in fields(self):
            object.__setattr__(self, field.name, _positive(self, field.name, "of every motor"))


@dataclass(frozen=True)
class Rotors:
    """The m rotors of a flying base, each with a motor without gear; arrays of size m but B.

    A rotor of thrust T turns at the speed ``sqrt(T / thrust_constant)`` and needs the torque
    ``drag_ratio T``; what the base does not receive of the power is left in the air.

    Attributes:
        matrix: B, (b,m), from thrusts to the wrench on the base.
        drag_ratio: torque over thrust, m.
        thrust_constant: thrust over the square of the speed, N s^2/rad^2.
        figure_of_merit: share of that power which induces the wake; the rest is drag of the blades.
        torque_constant: of the motor, N m/A and V s/rad.
        resistance: of the winding at the temperature of the environment, ohm.
        temperature_coefficient: its relative growth, 1/K.
        winding_capacity: J/K.
        winding_conductance: to the air, W/K.

    Raises:
        ModelError: a number is not finite or not positive, or a figure of merit is above one.
    """

    matrix: Array
    drag_ratio: Array
    thrust_constant: Array
    figure_of_merit: Array
    torque_constant: Array
    resistance: Array
    temperature_coefficient: Array
    winding_capacity: Array
    winding_conductance: Array

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "matrix", frozen(np.array(self.matrix, dtype=np.float64)))
        for field in fields(self):
            if field.name != "matrix":
                object.__setattr__(self, field.name, _positive(self, field.name, "of every rotor"))
        if (self.figure_of_merit > 1.0).any():
            raise ModelError(
                f"the figure of merit of a rotor is at most 1; given: {self.figure_of_merit}"
            )

    def largest_thrust(self, voltage: float, resistance: Array) -> Array:
        """Return the thrusts at which the voltage is used up, (m,), N."""
        # V = k w + R Q / k with Q = drag_ratio T and T = c w^2.
        a = resistance * self.drag_ratio * self.thrust_constant / self.torque_constant
        k = self.torque_constant
        speed = (np.sqrt(k * k + 4.0 * a * max(voltage, 0.0)) - k) / (2.0 * a)
        return np.asarray(self.thrust_constant * speed**2)


@dataclass(frozen=True)
class Battery:
    """A battery whose open voltage falls linearly with its charge.

    Attributes:
        full, empty: open voltages, V.
        charge: between the two, C.
        resistance: inside, ohm.
        level: charge at the start as a share of all.
        heat_capacity: J/K.
        conductance: to the environment, W/K.

    Raises:
        ModelError: a number is not accepted; the message names it.
    """

    full: float = 50.4
    empty: float = 39.6
    charge: float = 36000.0
    resistance: float = 0.05
    level: float = 0.9
    heat_capacity: float = 2000.0
    conductance: float = 0.5

    def __post_init__(self) -> None:
        """Check the numbers."""
        for field in fields(self):
            _positive(self, field.name, "of the battery")
        if not (self.empty < self.full and self.level <= 1.0):
            raise ModelError(
                "a battery has a higher voltage when it is full, and a level of at most 1; given: "
                f"{self.full} V full, {self.empty} V empty, level {self.level}"
            )

    @property
    def slope(self) -> float:
        """Rise of the open voltage with the charge, V/C."""
        return (self.full - self.empty) / self.charge

    def voltage(self, charge: float) -> float:
        """Return the open voltage at a charge, V."""
        return self.empty + self.slope * charge

    def energy(self, charge: float) -> float:
        """Return the stored energy above that of the empty battery, J."""
        return (self.empty + 0.5 * self.slope * charge) * charge


@dataclass(frozen=True)
class Drives:
    """Everything beside the bodies and joints of a robot.

    Attributes:
        motors: of its joints.
        battery: that supplies them.
        rotors: of a flying base; None where the base has ideal actuators or none.
        softening: share by which viscous friction falls per kelvin, 1/K.
        idle: power of the electronics, W.
        theta_0: temperature of the environment, and of everything at the start, K.

    Raises:
        ModelError: a number is not accepted; the message names it.
    """

    motors: Motors
    battery: Battery
    rotors: Rotors | None = None
    softening: float = 0.01
    idle: float = 5.0
    theta_0: float = _ZERO_CELSIUS + 25.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("softening", "idle"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ModelError(
                    f"{name} must be finite and not negative; given: {getattr(self, name)}"
                )
        _positive(self, "theta_0", "of the environment")


def resistances(actuators: Motors | Rotors, theta: Array, theta_0: float) -> Array:
    """Return the resistances of windings at their temperatures, ohm."""
    growth = 1.0 + actuators.temperature_coefficient * (theta - theta_0)
    # Far below the environment the linear law would end at zero.
    return np.asarray(actuators.resistance * np.maximum(growth, 0.1))


def _positive(owner: object, name: str, whose: str) -> Array:
    value = np.array(getattr(owner, name), dtype=np.float64)
    if not (np.isfinite(value).all() and (value > 0.0).all()):
        raise ModelError(f"{name} {whose} must be finite and above zero; given: {value.tolist()}")
    return frozen(value)
