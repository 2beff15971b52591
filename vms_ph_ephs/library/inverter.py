# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An inverter between a supply and a motor: a transformer with a ratio that is commanded."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Component, Reversible, Storage
from ..patterns import power, state
from ..quantities import charge, flux, signal
from ..systems import System, compose
from .parameters import Parameter, check_all

PARAMETERS = (
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
    check_all("inverter", PARAMETERS, locals())
    if duty is not None:
        u = float(duty)
        ports = {"q": power(charge), "phi": power(flux)}
        return Reversible(ports, skew=[[0.0, u], [-u, 0.0]])
    return compose(
        {"bridge": Inverter(), "duty": Signal()},
        {
            "q": ("bridge.q", "q"),
            "phi": ("bridge.phi", "phi"),
            "u": ("bridge.u", "duty.u", "u"),
        },
        ["q", "phi", "u"],
    )
