# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction of one degree of freedom, with its heat [C (6)]."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Irreversible
from ..patterns import power
from ..quantities import Quantity, entropy, momentum
from .parameters import Parameter, check_all

PARAMETERS = (
    Parameter("viscous", "N s/m or N m s/rad", "force per velocity", least=0.0),
    Parameter("dry", "N or N m", "force of sliding, smoothed", least=0.0),
    Parameter("slip", "m/s or rad/s", "velocity at which dry friction is reached", above=0.0),
    Parameter("shaft", "", "quantity of the port p", number=False),
)


class Damper(Irreversible):
    """The force ``viscous v + dry tanh(v / slip)`` at the port p, with its heat at the port s.

    Args:
        viscous: N s/m or N m s/rad.
        dry: N or N m.
        slip: m/s or rad/s.
        shaft: quantity of the port p, a momentum of one degree of freedom.
    """

    def __init__(
        self,
        viscous: float = 0.0,
        dry: float = 0.0,
        slip: float = 0.01,
        shaft: Quantity = momentum,
    ) -> None:
        check_all("damper", PARAMETERS, {"viscous": viscous, "dry": dry, "slip": slip})
        self.viscous, self.dry, self.slip = float(viscous), float(dry), float(slip)
        ports = {"p": power(shaft), "s": power(entropy)}
        super().__init__(ports, rows=self._root, conductance=1.0)

    def described(self) -> Mapping[str, Any]:
        """Return the coefficients."""
        return {
            "kind": "damper",
            "viscous": self.viscous,
            "dry": self.dry,
            "slip": self.slip,
            "shaft": self.interface["p"].quantity,
        }

    def flows(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        """Return the force and the heat."""
        v = float(e[0])
        force = self.viscous * v + self.dry * np.tanh(v / self.slip)
        return np.array([force, -v * force / (theta_0 + float(e[1]))])

    def _root(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        slope = self.viscous + self.dry / self.slip * tanh_ratio(float(e[0]) / self.slip)
        return np.array([[np.sqrt(slope)]])


def damper(**values: Any) -> Damper:
    """Return a :class:`Damper`."""
    return Damper(**values)


def tanh_ratio(x: float) -> float:
    """Return ``tanh(x) / x``, one at zero."""
    return float(np.tanh(x) / x) if abs(x) > 1e-4 else 1.0 - x * x / 3.0
