# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A battery: a voltage that depends on the charge, behind a resistance."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from ..components import Component, Irreversible, Storage
from ..errors import StructureError
from ..multibody.friction import HeatCapacity
from ..patterns import power
from ..quantities import charge, entropy
from ..systems import System, compose
from .parameters import Parameter, check_all

PARAMETERS = (
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
        given = np.asarray(voltage, dtype=object).ravel()
        try:
            v = np.array([float(x) for x in given])
        except (TypeError, ValueError):
            v = np.zeros(0)
        if v.size < 2 or not np.isfinite(v).all() or not (np.diff(v) > 0.0).all() or v[0] <= 0.0:
            raise StructureError(
                "the voltage of a battery must be at least two numbers above zero that increase "
                f"from empty to full, V; given: {voltage!r}"
            )
        check_all("battery", PARAMETERS, {"charge": full})
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
        check_all("battery", PARAMETERS, {"resistance": resistance})
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
    check_all("battery", PARAMETERS, locals())
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
