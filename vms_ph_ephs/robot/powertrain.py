# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The battery, motors and heat paths of a robot, advanced beside its motion step by step."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from vms_ph_dynamics import Array, StateError

from .drives import Conductor, Drives, ThermalNetwork, resistances

# Share of the power at which the voltage of a battery would collapse that the drives may ask for.
_MAX_POWER_SHARE = 0.9


@dataclass(frozen=True)
class Limits:
    """What the battery allows: torques (n,) between two bounds, and the share of the base wrench.

    Attributes:
        lower, upper: (n,) N m or N.
        wrench_share: in [0, 1].
    """

    lower: Array
    upper: Array
    wrench_share: float


class Powertrain:
    """The boxes of a robot beside its bodies and joints, with ports to shafts, bus and air.

    Currents are held over a step, as digital drives do. The electric energy of a step is the work
    of the shafts plus all losses, each with the name under which :attr:`destroyed` counts it; the
    battery gives it at the current that its voltage and resistance allow. Losses heat the windings,
    windings heat the housings of the joints, those the environment.

    Args:
        names: of the joints.
        drives: what drives them.
        dt: length of the steps, s.
        in_fluid: whether the robot is in a fluid, whose drag is counted beside the rest.

    Attributes:
        theta: temperatures of windings (n), housings (n), battery (1), windings of rotors (m), K.
        voltage: of the bus in the last step, V.
        current: out of the battery in the last step, A.
        destroyed: exergy destroyed since the beginning, J, by name; arrays are by joint or rotor.
        supplied: electric energy given by the battery since then, J.
    """

    def __init__(
        self, names: tuple[str, ...], drives: Drives, dt: float, in_fluid: bool = False
    ) -> None:
        self.names, self._drives, self._dt, self._in_fluid = names, drives, dt, in_fluid
        n, motors, battery, rotors = len(names), drives.motors, drives.battery, drives.rotors
        m = 0 if rotors is None else rotors.drag_ratio.size
        self._n, self._m = n, m
        battery_capacity = np.array([battery.heat_capacity])
        capacities = [motors.winding_capacity, motors.housing_capacity, battery_capacity]
        conductors = [
            *(Conductor(k, n + k, h) for k, h in enumerate(motors.winding_conductance)),
            *(Conductor(n + k, None, h) for k, h in enumerate(motors.housing_conductance)),
            Conductor(2 * n, None, battery.conductance),
        ]
        self._thrusts_per_wrench: Array = np.zeros((0, 0))
        if rotors is not None:
            capacities.append(rotors.winding_capacity)
            conductances = enumerate(rotors.winding_conductance)
            conductors += [Conductor(2 * n + 1 + k, None, h) for k, h in conductances]
            self._thrusts_per_wrench = np.linalg.pinv(rotors.matrix)
        self._capacities: Array = np.concatenate(capacities)
        self._network = ThermalNetwork(self._capacities, conductors, drives.theta_0, dt)
        self.reset()

    def reset(self) -> None:
        """Return to the start: everything at theta_0, the battery at its level."""
        battery, n, m = self._drives.battery, self._n, self._m
        self.theta = np.full(self._capacities.size, self._drives.theta_0)
        self._used_charge, self._initial_charge = 0.0, battery.level * battery.charge
        self.voltage, self.current, self.supplied = battery.voltage(self.charge), 0.0, 0.0
        self.destroyed: dict[str, Array] = {
            "winding": np.zeros(n),
            "winding_to_housing": np.zeros(n),
            "housing_to_air": np.zeros(n),
            "friction": np.zeros(n),
            "joint_stops": np.zeros(n),
            "battery": np.zeros(1),
            "battery_to_air": np.zeros(1),
            "electronics": np.zeros(1),
            "brake_resistor": np.zeros(1),
        }
        if self._in_fluid:
            self.destroyed["fluid_drag"] = np.zeros(1)
        if m:
            for name in ("rotor_winding", "rotor_to_air", "rotor_wake", "rotor_drag"):
                self.destroyed[name] = np.zeros(m)

    @property
    def housing_temperatures(self) -> Array:
        """Temperatures of the housings of the joints, (n,), K."""
        return self.theta[self._n : 2 * self._n]

    @housing_temperatures.setter
    def housing_temperatures(self, theta: Array) -> None:
        self.theta[self._n : 2 * self._n] = theta

    @property
    def charge(self) -> float:
        """Charge of the battery, C."""
        return self._initial_charge - self._used_charge

    @property
    def level(self) -> float:
        """Charge of the battery as a share of all."""
        return self.charge / self._drives.battery.charge

    def temperatures(self) -> dict[str, float]:
        """Return all temperatures by name, K."""
        n = self._n
        temperatures = {f"{name}/winding": self.theta[k] for k, name in enumerate(self.names)}
        temperatures |= {f"{name}/housing": self.theta[n + k] for k, name in enumerate(self.names)}
        temperatures["battery"] = self.theta[2 * n]
        temperatures |= {f"rotor_{k}/winding": self.theta[2 * n + 1 + k] for k in range(self._m)}
        return {name: float(theta) for name, theta in temperatures.items()}

    def stored_energies(self) -> dict[str, float]:
        """Return the exergy stored as heat and in the battery, by name, J.

        That of the battery is what it has more than at the start, negative while it discharges: the
        rounding of megajoules would hide the balance.
        """
        theta_0, n, battery = self._drives.theta_0, self._n, self._drives.battery
        relative_rise = (self.theta - theta_0) / theta_0
        exergy = self._capacities * theta_0 * (relative_rise - np.log1p(relative_rise))
        # The voltage falls linearly, so that its mean is the one at the middle.
        mean_voltage = battery.voltage(self._initial_charge - 0.5 * self._used_charge)
        exergies = {
            "battery": -mean_voltage * self._used_charge,
            "heat_windings": float(exergy[:n].sum()),
            "heat_housings": float(exergy[n : 2 * n].sum()),
            "heat_battery": float(exergy[2 * n]),
        }
        if self._m:
            exergies["heat_rotors"] = float(exergy[2 * n + 1 :].sum())
        return exergies

    def limits(self, rates: Array, wrench_base: Array) -> Limits:
        """Return the torques that voltage and drives allow at joint rates (n,).

        The bus has the voltage of the last step; an empty battery gives nothing.
        """
        motors, n = self._drives.motors, self._n
        voltage = self.voltage if self.charge > 0.0 else 0.0
        k, theta_0 = motors.torque_constant, self._drives.theta_0
        R = resistances(motors, self.theta[:n], theta_0)
        back_emf = k * rates
        max_current = motors.largest_current * (voltage > 0.0)
        upper = k * np.clip((voltage - back_emf) / R, 0.0, max_current)
        lower = k * np.clip((-voltage - back_emf) / R, -max_current, 0.0)
        wrench_share, rotors = 1.0, self._drives.rotors
        if rotors is not None and wrench_base.size:
            R = resistances(rotors, self.theta[2 * n + 1 :], theta_0)
            max_thrusts = rotors.largest_thrust(voltage, R)
            thrusts = np.maximum(np.abs(self._thrusts_per_wrench @ wrench_base), 1e-12)
            wrench_share = float(min(1.0, np.min(max_thrusts / thrusts)))
        return Limits(lower, upper, wrench_share)

    def step(self, torque: Array, work: Array, base_wrench: Array, base_work: float) -> Array:
        """Advance by one step, and return the temperatures of the housings after it, (n,), K.

        Args:
            torque: (n,) of the motors during the step; their temperatures are :attr:`theta`.
            work: (n,) of these torques, J.
            base_wrench: (b,) of the actuators of the base; ideal ones where there are no rotors.
            base_work: its work, J.

        Raises:
            StateError: the battery cannot give the energy.
        """
        drives, n, dt = self._drives, self._n, self._dt
        motors, theta_0 = drives.motors, drives.theta_0
        heat = np.zeros(self._capacities.size)
        motor_current = torque / motors.torque_constant
        heat[:n] = dt * resistances(motors, self.theta[:n], theta_0) * motor_current * motor_current
        air_energy = self._heat_rotors(base_wrench, heat) if self._m and base_wrench.size else 0.0
        idle_energy = dt * drives.idle if self.charge > 0.0 else 0.0
        energy = float(work.sum()) + base_work + float(heat.sum()) + air_energy + idle_energy
        heat[2 * n] = self._discharge(energy)
        heat_step = self._network.step(self.theta, heat)
        source_destruction = theta_0 * heat / heat_step.mean_theta
        destroyed_exergy = self.destroyed
        destroyed_exergy["winding"] += source_destruction[:n]
        destroyed_exergy["winding_to_housing"] += heat_step.destroyed[:n]
        destroyed_exergy["housing_to_air"] += heat_step.destroyed[n : 2 * n]
        destroyed_exergy["battery"] += source_destruction[2 * n]
        destroyed_exergy["battery_to_air"] += heat_step.destroyed[2 * n]
        destroyed_exergy["electronics"] += idle_energy
        if self._m:
            destroyed_exergy["rotor_winding"] += source_destruction[2 * n + 1 :]
            destroyed_exergy["rotor_to_air"] += heat_step.destroyed[2 * n + 1 :]
        self.theta = heat_step.theta
        return self.housing_temperatures

    def _heat_rotors(self, base_wrench: Array, heat: Array) -> float:
        """Enter the heat of the rotors' windings, and return the energy left in the air, J."""
        rotors, dt = self._drives.rotors, self._dt
        assert rotors is not None  # there are m of them
        thrusts = np.abs(self._thrusts_per_wrench @ base_wrench)
        speed = np.sqrt(thrusts / rotors.thrust_constant)
        torque = rotors.drag_ratio * thrusts
        rotor_current = torque / rotors.torque_constant
        first_rotor = 2 * self._n + 1
        R = resistances(rotors, self.theta[first_rotor:], self._drives.theta_0)
        heat[first_rotor:] = dt * R * rotor_current * rotor_current
        air_energy = dt * torque * speed
        self.destroyed["rotor_wake"] += rotors.figure_of_merit * air_energy
        self.destroyed["rotor_drag"] += (1.0 - rotors.figure_of_merit) * air_energy
        return float(air_energy.sum())

    def _discharge(self, energy: float) -> float:
        """Take an energy out of the battery, J, and return the heat of its resistance, J."""
        battery, dt = self._drives.battery, self._dt
        if energy < 0.0 and self.charge >= battery.charge:
            self.destroyed["brake_resistor"] -= energy
            energy = 0.0
        # E = (V - (R + slope dt / 2) I) I dt, with the open voltage at the middle of the step.
        v, R = battery.voltage(self.charge), battery.resistance
        effective_resistance = R + 0.5 * battery.slope * dt
        discriminant = v * v - 4.0 * effective_resistance * energy / dt
        if discriminant < 0.0:
            raise StateError(
                f"the battery cannot give {energy / dt:.4g} W; at {v:.4g} V and {R:g} ohm it gives "
                f"at most {v * v / (4.0 * effective_resistance):.4g} W; give it less "
                "resistance, or the drives less torque"
            )
        self.current = 2.0 * energy / dt / (v + sqrt(discriminant))
        self._used_charge += self.current * dt
        self.voltage = battery.voltage(self.charge) - R * self.current
        self.supplied += energy
        return R * self.current * self.current * dt

    def power_share(self, torque: Array, rates: Array, base_wrench: Array, twist: Array) -> float:
        """Return the share of efforts at which the battery's power suffices, in [0, 1]."""
        drives, n, battery = self._drives, self._n, self._drives.battery
        open_voltage = battery.voltage(self.charge)
        max_power = _MAX_POWER_SHARE * open_voltage**2 / (4.0 * battery.resistance) - drives.idle
        current = torque / drives.motors.torque_constant
        R = resistances(drives.motors, self.theta[:n], drives.theta_0)
        power = float(torque @ rates + R @ (current * current)) + float(base_wrench @ twist)
        if (rotors := drives.rotors) is not None and base_wrench.size:
            thrusts = np.abs(self._thrusts_per_wrench @ base_wrench)
            air_power = rotors.drag_ratio * thrusts * np.sqrt(thrusts / rotors.thrust_constant)
            power += 1.2 * float(air_power.sum())
        return 1.0 if power <= max_power else max(max_power, 0.0) / power


def destruction_by_part(destroyed: Mapping[str, Array], names: tuple[str, ...]) -> dict[str, float]:
    """Return exergy destroyed by ``"where/how"``, J, from arrays by joint or rotor."""
    exergies: dict[str, float] = {}
    for cause, values in destroyed.items():
        if cause in _JOINT_CAUSES:
            exergies |= {f"{name}/{cause}": float(v) for name, v in zip(names, values, strict=True)}
        elif cause.startswith("rotor_"):
            process = cause.removeprefix("rotor_")
            exergies |= {f"rotor_{k}/{process}": float(value) for k, value in enumerate(values)}
        else:
            exergies[cause] = float(values[0])
    return exergies


_JOINT_CAUSES = ("winding", "winding_to_housing", "housing_to_air", "friction", "joint_stops")
