# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The isothermal environment [C (7), (30)]."""

from collections.abc import Mapping
from typing import Any

from vms_ph_dynamics.arrays import Array

from ..errors import StructureError
from ..patterns import power
from ..quantities import entropy
from .storage import Storage


class Environment(Storage):
    """Absorbs entropy at the constant temperature theta_0; its exergy, and so its effort, is zero.

    Its energy is ``theta_0 s``, relative to an arbitrary zero.

    Args:
        theta_0: absolute temperature, K.
        port: name of its only port.

    Raises:
        StructureError: the temperature is not above zero.
    """

    def __init__(self, theta_0: float = 298.15, port: str = "s") -> None:
        if not theta_0 > 0.0:
            raise StructureError(
                f"the temperature of the environment must be above 0 K; given: {theta_0}"
            )
        self.theta_0 = float(theta_0)
        super().__init__({port: power(entropy)}, self._heat, self._temperature)

    def _heat(self, s: Array) -> Array:
        return self.theta_0 * s

    def _temperature(self, s: Array) -> Array:
        return 0.0 * s + self.theta_0

    def described(self) -> Mapping[str, Any]:
        """Return its temperature."""
        return {"kind": "heat", "capacity": 0.0, "theta": self.theta_0}

    def hessian(self, *states: Array) -> Array | None:
        """Return zero."""
        return 0.0 * states[0][:, None]
