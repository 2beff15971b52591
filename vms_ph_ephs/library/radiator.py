# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A radiator: heat by convection and radiation from a warm body to a colder one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Irreversible
from ..patterns import power
from ..quantities import entropy
from .parameters import Parameter, check_all

STEFAN_BOLTZMANN = 5.670374419e-8
"""W/(m^2 K^4)."""

PARAMETERS = (
    Parameter("conductance", "W/K", "by convection", least=0.0),
    Parameter("area", "m^2", "that radiates", least=0.0),
    Parameter("emissivity", "", "of that area", least=0.0, most=1.0),
)


class Radiator(Irreversible):
    """The heat ``h (a - b) + emissivity sigma area (a^4 - b^4)`` from port a to port b.

    It is ``K(a, b) (a - b)`` with K positive, so that the structure is ``N^T K N`` with
    ``N = (sqrt(b/a), -sqrt(a/b))``.

    Args:
        conductance: h, W/K.
        area: m^2.
        emissivity: from 0 to 1.
    """

    def __init__(
        self, conductance: float = 0.0, area: float = 0.0, emissivity: float = 1.0
    ) -> None:
        check_all("radiator", PARAMETERS, locals())
        self.conductance, self.area = float(conductance), float(area)
        self.emissivity = float(emissivity)
        self._radiating = STEFAN_BOLTZMANN * self.area * self.emissivity
        super().__init__({"a": power(entropy), "b": power(entropy)}, self._onsager)

    @property
    def is_lawful(self) -> bool:
        """True: K is positive and N annihilates the temperatures."""
        return True

    def described(self) -> Mapping[str, Any]:
        """Return the coefficients."""
        return {
            "kind": "radiator",
            "conductance": self.conductance,
            "area": self.area,
            "emissivity": self.emissivity,
        }

    def flows(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        """Return the entropy that leaves a, and minus what arrives at b."""
        a, b = theta_0 + float(e[0]), theta_0 + float(e[1])
        heat = self._between(a, b) * (a - b)
        return np.array([heat / a, -heat / b])

    def _between(self, a: float, b: float) -> float:
        return self.conductance + self._radiating * (a * a + b * b) * (a + b)

    def _onsager(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        a, b = theta_0 + float(e[0]), theta_0 + float(e[1])
        return self._between(a, b) * np.array([[b / a, -1.0], [-1.0, a / b]])


def radiator(**values: Any) -> Radiator:
    """Return a :class:`Radiator`."""
    return Radiator(**values)
