# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Electric parts: winding, inverter, battery and motor, with the checks of their parameters."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen

from ..components import (
    BracketLaw,
    Component,
    Dissipation,
    Environment,
    NumberSpec,
    Quadratic,
    Reversible,
    StorageLaw,
    ZeroEnergy,
    kind,
)
from ..errors import StructureError
from ..multibody.friction import Conduction, Dry, HeatCapacity, Slip, Viscous, is_zero
from ..patterns import power, state
from ..quantities import Quantity, charge, entropy, flux, momentum, signal
from ..systems import System, compose
from .mechanics import Damper

COPPER = 0.00393
"""Share by which the resistance of copper grows per kelvin, 1/K."""

Ohms = Annotated[float, NumberSpec("ohm", "at the temperature reference", above=0.0)]
Henrys = Annotated[float, NumberSpec("H", "0 for a current that follows at once", least=0.0)]
Growth = Annotated[float, NumberSpec("1/K", "growth of the resistance with temperature", least=0.0)]
ReferenceTheta = Annotated[
    float, NumberSpec("K", "temperature at which the resistance is given", above=0.0)
]
Capacity = Annotated[
    float | None, NumberSpec("J/K", "heat capacity; without one the port s takes all", above=0.0)
]
InitialTheta = Annotated[float, NumberSpec("K", "temperature at zero entropy", above=0.0)]

# A resistance never falls below this share: far below the reference the linear law ends.
MIN_GROWTH = 0.01


@kind("resistance", "electric resistance of a winding")
class Resistance(Dissipation):
    """Ohm's law ``v = R(theta) i`` with ``R = resistance (1 + coefficient (theta - reference))``.

    The port phi has the current as effort; the heat ``R i^2`` leaves through the port s, whose
    temperature is that of the resistance.

    Args:
        resistance: at the reference temperature, ohm.
        coefficient: 1/K.
        reference: K.
    """

    def __init__(
        self, resistance: Ohms, coefficient: Growth = 0.0, reference: ReferenceTheta = 293.15
    ) -> None:
        self.resistance, self.coefficient = float(resistance), float(coefficient)
        self.reference = float(reference)
        super().__init__({"phi": power(flux), "s": power(entropy)})

    def forces(self, ops: Any, states: Any, u: Any, theta: Any) -> list[Any]:
        """Return the voltage."""
        growth = 1 + self.coefficient * (theta - self.reference)
        if not is_zero(self.coefficient):
            growth = ops.choose([(growth - MIN_GROWTH, growth)], MIN_GROWTH)
        return [self.resistance * growth * u[0]]


@kind("winding", "inductance and resistance with heat; ports phi, s")
def winding(
    resistance: Ohms,
    inductance: Henrys = 0.0,
    coefficient: Growth = COPPER,
    reference: ReferenceTheta = 293.15,
    capacity: Capacity = None,
    theta: InitialTheta = 298.15,
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
    boxes: dict[str, System | Component] = {"r": Resistance(resistance, coefficient, reference)}
    junctions: dict[str, tuple[str, ...]] = {"phi": ("r.phi", "phi"), "s": ("r.s", "s")}
    if inductance:
        boxes["l"] = Quadratic({"phi": power(flux)}, 1.0 / inductance)
        junctions["phi"] += ("l.phi",)
    if capacity is not None:
        boxes["th"] = HeatCapacity(capacity, theta)
        junctions["s"] += ("th.s",)
    return compose(boxes, junctions, ["phi", "s"])


@kind("signal", "a state without energy")
class Signal(ZeroEnergy):
    """A state without energy, as a command: its effort is zero, so that setting it takes no power.

    Between steps it may be set in the state vector; the flow into its port is its rate.
    """

    def __init__(self) -> None:
        super().__init__({"u": power(signal)})


@kind("inverter_bridge", "a transformer that reads its ratio")
class Inverter(BracketLaw):
    """A transformer whose ratio is a state u: the motor gets ``u v`` and the supply gives ``u i``.

    Ports: q of the supply, phi of the motor, u of the state.
    """

    def __init__(self) -> None:
        ports = {"q": power(charge), "phi": power(flux), "u": state(signal)}
        super().__init__(ports, reads=("u",))

    def law(self, ops: Any, states: Any, e: Any) -> list[Any]:
        """Return the current from the supply, and minus the voltage of the motor."""
        u = states[0][0]
        return [u * e[1], -u * e[0]]


Duty = Annotated[
    float | None, NumberSpec("", "motor by supply voltage; a state if absent", least=-1.0, most=1.0)
]


@kind("inverter", "a supply to a motor, at a commanded ratio; ports q, phi")
def inverter(duty: Duty = None) -> System | Component:
    """Return an inverter with the ports q (supply) and phi (motor); losses are resistances.

    Args:
        duty: a constant ratio; None for a state ``duty.u`` with the port u, whose flow is its rate.

    Raises:
        StructureError: the ratio is not between -1 and 1.
    """
    if duty is not None:
        u = float(duty)
        ports = {"q": power(charge), "phi": power(flux)}
        return Reversible(ports, skew=[[0.0, u], [-u, 0.0]])
    return compose(
        {"bridge": Inverter(), "duty": Signal()},
        {"q": ("bridge.q", "q"), "phi": ("bridge.phi", "phi"), "u": ("bridge.u", "duty.u", "u")},
        ["q", "phi", "u"],
    )


FullCharge = Annotated[float, NumberSpec("C", "when full; 1 A h is 3600 C", above=0.0)]
VoltageCurve = Annotated[Sequence[float], NumberSpec("V", "from empty to full")]
InternalResistance = Annotated[float, NumberSpec("ohm", "internal", above=0.0)]


@kind("battery_cell", "energy")
class Battery(StorageLaw):
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

    def __init__(self, full: FullCharge, voltage: VoltageCurve) -> None:
        entries = np.asarray(voltage, dtype=object).ravel()
        try:
            v = np.array([float(entry) for entry in entries])
        except (TypeError, ValueError):
            v = np.zeros(0)
        if v.size < 2 or not np.isfinite(v).all() or not (np.diff(v) > 0.0).all() or v[0] <= 0.0:
            raise StructureError(
                "the voltage of a battery must be at least two numbers above zero that increase "
                f"from empty to full, V; given: {voltage!r}"
            )
        self.full, self.voltage = float(full), frozen(v)
        self._step = self.full / (v.size - 1)
        self._slopes = np.diff(v) / self._step
        step_energies = 0.5 * (v[:-1] + v[1:]) * self._step
        self._energies = np.concatenate([[0.0], np.cumsum(step_energies)])
        lower_bound = -0.5 * v[0] ** 2 / self._slopes[0]
        super().__init__({"q": power(charge)}, lower_bound=lower_bound)

    def _interval(self, q: Array) -> tuple[int, float]:
        k = int(np.clip(np.floor(q[0] / self._step), 0, self._slopes.size - 1))
        return k, float(q[0]) - k * self._step

    def _energy_at(self, q: Array) -> float:
        k, d = self._interval(q)
        return float(self._energies[k] + self.voltage[k] * d + 0.5 * self._slopes[k] * d * d)

    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return the open-circuit voltage."""
        q, v, step_count = states[0][0], self.voltage, self.voltage.shape[0] - 1
        step = self.full / step_count
        segments = [v[k] + (v[k + 1] - v[k]) / step * (q - k * step) for k in range(step_count)]
        guards = [(k + 1) * step - q for k in range(step_count - 1)]
        return [ops.choose(list(zip(guards, segments, strict=False)), segments[-1])]

    def hessian(self, *states: Array) -> Array:
        """Return its slope."""
        return np.array([[self._slopes[self._interval(states[0])[0]]]])


@kind("series_resistance", "between voltages")
class SeriesResistance(Dissipation):
    """A resistance between two voltages: the current ``(v_a - v_b) / R`` from a to b, with heat.

    Args:
        resistance: ohm.
    """

    def __init__(self, resistance: InternalResistance) -> None:
        self.resistance = float(resistance)
        super().__init__({"a": power(charge), "b": power(charge), "s": power(entropy)})

    def forces(self, ops: Any, states: Any, u: Any, theta: Any) -> list[Any]:
        """Return the current."""
        i = (u[0] - u[1]) / self.resistance
        return [i, -i]

    def mu(self, states: tuple[Array, ...], u: Array, theta: float) -> Array:
        """Return the conductances, (2,2)."""
        return np.array([[1.0, -1.0], [-1.0, 1.0]]) / self.resistance


@kind("battery", "stores charge, behind a resistance; ports q, s")
def battery(
    charge: FullCharge,
    voltage: VoltageCurve,
    resistance: InternalResistance,
    capacity: Capacity = None,
    theta: InitialTheta = 298.15,
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


TorqueConstant = Annotated[float, NumberSpec("N m/A", "equal to that of the voltage in V s/rad")]
RotorInertia = Annotated[
    float | None,
    NumberSpec("kg m^2", "of the rotor; without one that of what it drives", above=0.0),
]


@kind("motor", "winding, gyrator, bearing, rotor; ports phi, p, perhaps s")
def motor(
    torque_constant: TorqueConstant,
    resistance: Ohms,
    inductance: Henrys = 0.0,
    *,
    inertia: RotorInertia = None,
    viscous: Viscous = 0.0,
    dry: Dry = 0.0,
    slip: Slip = 0.01,
    coefficient: Growth = COPPER,
    reference: ReferenceTheta = 293.15,
    capacity: Capacity = None,
    theta: InitialTheta | None = None,
    conductance: Annotated[float | None, NumberSpec("W/K", "to the environment", least=0.0)] = None,
    theta_0: Annotated[
        float, NumberSpec("K", "temperature of the environment", above=0.0)
    ] = 298.15,
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
    outer_ports = ["phi", "p"]
    if conductance is None:
        junctions["s"] += ("s",)
        outer_ports.append("s")
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
    return compose(boxes, junctions, outer_ports)
