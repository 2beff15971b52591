# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Electric parts: winding, inverter, battery and motor, with the checks of their parameters."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from ..components import Component, Environment, Irreversible, Quadratic, Reversible, Storage
from ..errors import StructureError
from ..multibody.friction import Conduction, HeatCapacity
from ..patterns import power, state
from ..quantities import Quantity, charge, entropy, flux, momentum, signal
from ..systems import System, compose
from .mechanics import DAMPER, Damper
from .parameters import Parameter, check_all

COPPER = 0.00393
"""Share by which the resistance of copper grows per kelvin, 1/K."""

WINDING = (
    Parameter("resistance", "ohm", "at the temperature reference", above=0.0, required=True),
    Parameter("inductance", "H", "0 for a current that follows at once", least=0.0),
    Parameter("coefficient", "1/K", "growth of the resistance with temperature", least=0.0),
    Parameter("reference", "K", "temperature at which the resistance is given", above=0.0),
    Parameter("capacity", "J/K", "heat capacity; without one the port s takes all", above=0.0),
    Parameter("theta", "K", "temperature at zero entropy", above=0.0),
)

# A resistance never falls below this share: far below the reference the linear law ends.
LEAST_GROWTH = 0.01


class Resistance(Irreversible):
    """Ohm's law ``v = R(theta) i`` with ``R = resistance (1 + coefficient (theta - reference))``.

    The port phi has the current as effort; the heat ``R i^2`` leaves through the port s, whose
    temperature is that of the resistance.

    Args:
        resistance: at the reference temperature, ohm.
        coefficient: 1/K.
        reference: K.
    """

    def __init__(
        self, resistance: float, coefficient: float = 0.0, reference: float = 293.15
    ) -> None:
        check_all(
            "resistance",
            WINDING,
            {"resistance": resistance, "coefficient": coefficient, "reference": reference},
        )
        self.resistance, self.coefficient = float(resistance), float(coefficient)
        self.reference = float(reference)
        ports = {"phi": power(flux), "s": power(entropy)}
        super().__init__(ports, rows=self._root, conductance=self.resistance)

    def described(self) -> Mapping[str, Any]:
        """Return the law."""
        return {
            "kind": "resistance",
            "resistance": self.resistance,
            "coefficient": self.coefficient,
            "reference": self.reference,
        }

    def at(self, theta: float) -> float:
        """Return the resistance at a temperature in kelvin, ohm."""
        growth = 1.0 + self.coefficient * (theta - self.reference)
        return self.resistance * max(growth, LEAST_GROWTH)

    def flows(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        """Return the voltage and the heat."""
        i, theta = float(e[0]), theta_0 + float(e[1])
        v = self.at(theta) * i
        return np.array([v, -v * i / theta])

    def _root(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        return np.array([[np.sqrt(self.at(theta_0 + float(e[1])) / self.resistance)]])


def winding(
    resistance: float,
    inductance: float = 0.0,
    coefficient: float = COPPER,
    reference: float = 293.15,
    capacity: float | None = None,
    theta: float = 298.15,
) -> System:
    """Return a winding with the ports phi (flow: voltage, effort: current) and s (its heat).

    Boxes: ``r``; with inductance ``l``, with a heat capacity ``th``.

    Args:
        resistance: ohm.
        inductance: H; without one the current follows from the balance of voltages.
        coefficient: of the resistance with temperature, 1/K; that of copper by default.
        reference: temperature at which the resistance is given, K.
        capacity: heat capacity, J/K; None for heat that leaves at once.
        theta: temperature at zero entropy, K.

    Raises:
        StructureError: a parameter is not accepted.
    """
    check_all("winding", WINDING, locals())
    boxes: dict[str, System | Component] = {"r": Resistance(resistance, coefficient, reference)}
    junctions: dict[str, tuple[str, ...]] = {"phi": ("r.phi", "phi"), "s": ("r.s", "s")}
    if inductance:
        boxes["l"] = Quadratic({"phi": power(flux)}, 1.0 / inductance)
        junctions["phi"] += ("l.phi",)
    if capacity is not None:
        boxes["th"] = HeatCapacity(capacity, theta)
        junctions["s"] += ("th.s",)
    return compose(boxes, junctions, ["phi", "s"])


INVERTER = (
    Parameter("duty", "", "motor voltage by supply voltage; a state without", least=-1.0, most=1.0),
)


class Signal(Storage):
    """A state without energy, as a command: its effort is zero, so that setting it takes no power.

    Between steps it may be set in the state vector; the flow into its port is its rate.
    """

    def __init__(self) -> None:
        super().__init__(
            {"u": power(signal)},
            lambda u: 0.0,
            lambda u: np.zeros(1),
            lambda u: np.zeros((1, 1)),
            lower_bound=0.0,
        )

    def described(self) -> Mapping[str, Any]:
        """Return nothing further."""
        return {"kind": "signal"}


class Inverter(Reversible):
    """A transformer whose ratio is a state u: the motor gets ``u v`` and the supply gives ``u i``.

    Ports: q of the supply, phi of the motor, u of the state.
    """

    def __init__(self) -> None:
        ports = {"q": power(charge), "phi": power(flux), "u": state(signal)}
        super().__init__(ports, skew=self._matrix, reads=("u",))

    @property
    def is_lawful(self) -> bool:
        """True: the matrix is skew for every ratio."""
        return True

    def described(self) -> Mapping[str, Any]:
        """Return nothing further."""
        return {"kind": "inverter_bridge"}

    def _matrix(self, u: Array) -> Array:
        return np.array([[0.0, u[0]], [-u[0], 0.0]])

    def bracket(self, states: tuple[Array, ...], e: Array) -> Array:
        """Return the current from the supply, and minus the voltage of the motor."""
        u = float(states[0][0])
        return np.array([u * e[1], -u * e[0]])


def inverter(duty: float | None = None) -> System | Component:
    """Return an inverter with the ports q (supply) and phi (motor); losses are resistances.

    Args:
        duty: a constant ratio; None for a state ``duty.u`` with the port u, whose flow is its rate.

    Raises:
        StructureError: the ratio is not between -1 and 1.
    """
    check_all("inverter", INVERTER, locals())
    if duty is not None:
        u = float(duty)
        ports = {"q": power(charge), "phi": power(flux)}
        return Reversible(ports, skew=[[0.0, u], [-u, 0.0]])
    return compose(
        {"bridge": Inverter(), "duty": Signal()},
        {"q": ("bridge.q", "q"), "phi": ("bridge.phi", "phi"), "u": ("bridge.u", "duty.u", "u")},
        ["q", "phi", "u"],
    )


BATTERY = (
    Parameter("charge", "C", "when full; 1 A h is 3600 C", above=0.0, required=True),
    Parameter("voltage", "V", "from empty to full", number=False, required=True),
    Parameter("resistance", "ohm", "internal", above=0.0, required=True),
    Parameter("capacity", "J/K", "heat capacity; without one the port s takes all", above=0.0),
    Parameter("theta", "K", "temperature at zero entropy", above=0.0),
)


class Battery(Storage):
    """Stores charge q: ``E(q)`` is the integral of the open-circuit voltage from 0 to q.

    The voltage is linear between its values at equal steps from empty (q = 0) to full, and beyond
    them with the slope of the next step. It grows with the charge, so that the energy is convex;
    the lower bound is where the voltage would reach zero, below empty.

    Args:
        full: charge when full, C.
        voltage: (n,) increasing, at least two values, V.

    Raises:
        StructureError: the charge is not above zero, or the voltages are not above zero and
            increasing.
    """

    def __init__(self, full: float, voltage: Sequence[float]) -> None:
        coefficients = np.asarray(voltage, dtype=object).ravel()
        try:
            v = np.array([float(x) for x in coefficients])
        except (TypeError, ValueError):
            v = np.zeros(0)
        if v.size < 2 or not np.isfinite(v).all() or not (np.diff(v) > 0.0).all() or v[0] <= 0.0:
            raise StructureError(
                "the voltage of a battery must be at least two numbers above zero that increase "
                f"from empty to full, V; given: {voltage!r}"
            )
        check_all("battery", BATTERY, {"charge": full})
        self.full, self.voltage = float(full), frozen(v)
        self._step = self.full / (v.size - 1)
        self._slope_of = np.diff(v) / self._step
        areas = 0.5 * (v[:-1] + v[1:]) * self._step
        self._below = np.concatenate([[0.0], np.cumsum(areas)])
        lowest = -0.5 * v[0] ** 2 / self._slope_of[0]
        super().__init__(
            {"q": power(charge)}, self._value, self._differ, self._curve, lower_bound=lowest
        )

    def described(self) -> Mapping[str, Any]:
        """Return charge and voltages."""
        return {"kind": "battery_cell", "charge": self.full, "voltage": self.voltage}

    def _interval(self, q: Array) -> tuple[int, float]:
        k = int(np.clip(np.floor(q[0] / self._step), 0, self._slope_of.size - 1))
        return k, float(q[0]) - k * self._step

    def _value(self, q: Array) -> float:
        k, d = self._interval(q)
        return float(self._below[k] + self.voltage[k] * d + 0.5 * self._slope_of[k] * d * d)

    def _differ(self, q: Array) -> Array:
        k, d = self._interval(q)
        return np.array([self.voltage[k] + self._slope_of[k] * d])

    def _curve(self, q: Array) -> Array:
        return np.array([[self._slope_of[self._interval(q)[0]]]])


class SeriesResistance(Irreversible):
    """A resistance between two voltages: the current ``(v_a - v_b) / R`` from a to b, with heat.

    Args:
        resistance: ohm.
    """

    def __init__(self, resistance: float) -> None:
        check_all("battery", BATTERY, {"resistance": resistance})
        self.resistance = float(resistance)
        ports = {"a": power(charge), "b": power(charge), "s": power(entropy)}
        super().__init__(ports, rows=self._rows_of, conductance=1.0 / self.resistance)

    def described(self) -> Mapping[str, Any]:
        """Return the resistance."""
        return {"kind": "series_resistance", "resistance": self.resistance}

    def flows(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        """Return the current and the heat."""
        v = float(e[0]) - float(e[1])
        i = v / self.resistance
        return np.array([i, -i, -v * i / (theta_0 + float(e[2]))])

    def _rows_of(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        return np.array([[1.0, -1.0]])


def battery(
    charge: float,
    voltage: Sequence[float],
    resistance: float,
    capacity: float | None = None,
    theta: float = 298.15,
) -> System:
    """Return a battery with the ports q (effort: voltage, flow: current into it) and s (heat).

    The state ``cell.q`` is its charge. Boxes: ``cell``, ``r``; with a heat capacity ``th``.

    Args:
        charge: when full, C.
        voltage: at equal steps of charge from empty to full, increasing, V.
        resistance: internal, ohm.
        capacity: heat capacity, J/K; None for heat that leaves at once.
        theta: temperature at zero entropy, K.

    Raises:
        StructureError: a parameter is not accepted.
    """
    check_all("battery", BATTERY, locals())
    boxes: dict[str, System | Component] = {
        "cell": Battery(charge, voltage),
        "r": SeriesResistance(resistance),
    }
    junctions: dict[str, tuple[str, ...]] = {
        "cell": ("cell.q", "r.a"),
        "q": ("r.b", "q"),
        "s": ("r.s", "s"),
    }
    if capacity is not None:
        boxes["th"] = HeatCapacity(capacity, theta)
        junctions["s"] += ("th.s",)
    return compose(boxes, junctions, ["q", "s"])


MOTOR = (
    Parameter("torque_constant", "N m/A", "equal to that of the voltage in V s/rad", required=True),
    Parameter("inertia", "kg m^2", "of the rotor; without one that of what it drives", above=0.0),
    *(p for p in DAMPER if p.name in ("viscous", "dry", "slip")),
    *WINDING,
    Parameter("conductance", "W/K", "to the environment", least=0.0),
    Parameter("theta_0", "K", "temperature of the environment", above=0.0),
    Parameter("shaft", "", "quantity of the port p", number=False),
)


def motor(
    torque_constant: float,
    resistance: float,
    inductance: float = 0.0,
    *,
    inertia: float | None = None,
    viscous: float = 0.0,
    dry: float = 0.0,
    slip: float = 0.01,
    coefficient: float = COPPER,
    reference: float = 293.15,
    capacity: float | None = None,
    theta: float | None = None,
    conductance: float | None = None,
    theta_0: float = 298.15,
    shaft: Quantity = momentum,
) -> System:
    """Return a motor with the ports phi (flow: voltage), p (shaft) and, if open, s (heat).

    The torque is ``torque_constant * i`` and the voltage of rotation ``torque_constant * w``: a
    gyrator, which makes no power. Resistance and bearing heat the winding, whose resistance grows.

    Boxes: ``coil``, ``emf``; with bearing friction ``bearing``, with inertia ``rotor``, with a
    conductance ``cooling`` and ``env``. Without a conductance the port s stays open.

    Args:
        torque_constant: N m/A; negative for a motor that turns the other way.
        resistance: of the winding, ohm.
        inductance: H; 0 for a current that follows at once.
        inertia: of the rotor, kg m^2; None where the shaft's storage is elsewhere.
        viscous: friction of the bearing, N m s/rad.
        dry: friction of the bearing, N m.
        slip: rad/s, as for :class:`.Damper`.
        coefficient: of the resistance with temperature, 1/K; that of copper by default.
        reference: temperature at which the resistance is given, K.
        capacity: heat capacity of the winding, J/K.
        theta: its temperature at zero entropy, K; that of the environment when None.
        conductance: to the environment, W/K; None for an open port s.
        theta_0: temperature of the environment, K.
        shaft: quantity of the port p, as ``momentum_of(pair)`` for a joint.

    Raises:
        StructureError: a parameter is not accepted.
    """
    check_all("motor", MOTOR, locals())
    coil = winding(
        resistance,
        inductance,
        coefficient,
        reference,
        capacity,
        theta_0 if theta is None else theta,
    )
    k = float(torque_constant)
    ports = {"phi": power(flux), "p": power(shaft)}
    boxes: dict[str, System | Component] = {
        "coil": coil,
        "emf": Reversible(ports, skew=np.array([[0.0, k], [-k, 0.0]])),
    }
    junctions: dict[str, tuple[str, ...]] = {
        "phi": ("coil.phi", "emf.phi", "phi"),
        "p": ("emf.p", "p"),
        "s": ("coil.s",),
    }
    if viscous or dry:
        boxes["bearing"] = Damper(viscous, dry, slip, shaft)
        junctions["p"] += ("bearing.p",)
        junctions["s"] += ("bearing.s",)
    if inertia is not None:
        boxes["rotor"] = Quadratic({"p": power(shaft)}, 1.0 / inertia)
        junctions["p"] += ("rotor.p",)
    outer = ["phi", "p"]
    if conductance is None:
        junctions["s"] += ("s",)
        outer.append("s")
    elif capacity is None:
        boxes["env"] = Environment(theta_0)
        junctions["s"] += ("env.s",)
    else:
        junctions["env"] = ("env.s",)
        boxes["env"] = Environment(theta_0)
        if conductance:
            boxes["cooling"] = Conduction(conductance)
            junctions["s"] += ("cooling.a",)
            junctions["env"] += ("cooling.b",)
    return compose(boxes, junctions, outer)
