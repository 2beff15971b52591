# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""How far a run uses the limits of its actuators and joints."""

from typing import Any

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.actuation import Actuators
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.simulation import ActuatedSimulation

# Rounding of a share of a limit.
_ROUNDING = 1e-9


class ActuatorUse:
    """The largest shares of limits that inputs of actuators, their rates and torques reach."""

    def __init__(self, model: VMSModel, actuators: Actuators | None) -> None:
        self._effort = model.joints.effort
        self._actuators = actuators
        self._inputs = self._rates = self._torques = 0.0

    def see(self, simulation: Any) -> None:
        """Take what the actuators did over the last step."""
        a = self._actuators
        if a is None or not isinstance(simulation, ActuatedSimulation):
            return
        actuation = simulation.actuation
        self.take(actuation.held.inputs, actuation.shaft_rates(simulation.twist))

    def take(self, inputs: Array, rates: Array) -> None:
        """Take the inputs (k,) of the actuators, N or N m, and the rates (k,) of their shafts."""
        a = self._actuators
        assert a is not None
        middle, half = 0.5 * (a.upper + a.lower), 0.5 * (a.upper - a.lower)
        # A rotor below its least thrust has failed, or its shaft begins to turn.
        share = np.abs(inputs - middle) / np.where(half > 0.0, half, np.inf)
        self._inputs = max(self._inputs, float(share.max()))
        self._rates = max(self._rates, float((np.abs(rates) / a.largest_rate).max()))

    def command(self, torque: Array) -> None:
        """Take the torques (n,) of a command."""
        limited = np.isfinite(self._effort) & (self._effort > 0.0)
        if limited.any():
            share = float((np.abs(torque[limited]) / self._effort[limited]).max())
            self._torques = max(self._torques, share)

    def goals(self) -> dict[str, dict[str, Any]]:
        """Return the shares as goals, which are met up to 1."""
        found = {"torques": ("joint torques, share of their limits", self._torques)}
        if self._actuators is not None:
            found["actuators"] = ("inputs of actuators, share of their limits", self._inputs)
        if self._actuators is not None and np.isfinite(self._actuators.largest_rate).any():
            found["rates"] = ("rates of wheels, share of their limits", self._rates)
        return {
            name: {"what": what, "wanted": 1.0, "obtained": share, "met": share <= 1.0 + _ROUNDING}
            for name, (what, share) in found.items()
        }
