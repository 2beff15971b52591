# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The winding of a motor: inductance, and a resistance that grows with its temperature."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Component, Irreversible, Quadratic
from ..multibody.friction import HeatCapacity
from ..patterns import power
from ..quantities import entropy, flux
from ..systems import System, compose
from .parameters import Parameter, check_all

COPPER = 0.00393
"""Share by which the resistance of copper grows per kelvin, 1/K."""

PARAMETERS = (
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
            PARAMETERS,
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
    check_all("winding", PARAMETERS, locals())
    boxes: dict[str, System | Component] = {"r": Resistance(resistance, coefficient, reference)}
    junctions: dict[str, tuple[str, ...]] = {"phi": ("r.phi", "phi"), "s": ("r.s", "s")}
    if inductance:
        boxes["l"] = Quadratic({"phi": power(flux)}, 1.0 / inductance)
        junctions["phi"] += ("l.phi",)
    if capacity is not None:
        boxes["th"] = HeatCapacity(capacity, theta)
        junctions["s"] += ("th.s",)
    return compose(boxes, junctions, ["phi", "s"])
