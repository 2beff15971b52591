# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""How much of a measured wrench a law may feed back without adding energy."""

import numpy as np

from vms_ph_dynamics import Array

from .gain_ramp import SwitchRamp

# Energy that feedback of a late wrench may add before it is switched off, J, and share of that
# taken out by damping which it may add besides. A component that is larger was not measured, N. A
# wrench that is lost fades out in this time, s.
_ALLOWANCE, _DAMPING_SHARE, _LARGEST, _FADING = 0.05, 0.5, 1e6, 0.1

_OFF = "feedback of the measured wrench is off: it would add energy"


class WrenchFeedback:
    """The gain k of a wrench that is measured at an end effector and fed back to it.

    With the measured wrench F and k F, the end effector moves as if its inertia were divided by
    1 + k. If both act at the same time, nothing is gained. What acts ``h / 2`` later, as commands
    do on average, adds the power ``-k h/2 dF/dt . e`` with the twist e of the end effector; at a
    stiff wall this is more than the damping takes out, whatever k is. It is taken from an
    allowance, to which half of what the damping takes out is added. Where the allowance is used up,
    feedback fades out and stays off until k is zero, or the law restarts. A constant error of the
    sensor is no late wrench: it acts as a force does.

    Attributes:
        wrench: (6,) measured last, N and N m, in the axes of the end effector.
        damping_power: power that the damping of the end effector took out at the last update, W.
        reason: why feedback is off; empty where it is not.
    """

    def __init__(self) -> None:
        self.wrench, self._last_twist, self.damping_power = np.zeros(6), np.zeros(6), 0.0
        self._allowance, self._gain, self.reason = _ALLOWANCE, 0.0, ""
        self._ramp = SwitchRamp()
        self._ramp.follow(False, 0.0)

    def follow(self, measured: Array | None, k: float, twist: Array, h: float, dt: float) -> float:
        """Take a wrench and return the gain in force; without a wrench the last fades out.

        Args:
            measured: (6,) as :attr:`wrench`; None for none.
            k: gain of feedback that is wholly in force.
            twist: (6,) of the end effector in its axes, m/s and rad/s.
            h: horizon of the law, s.
            dt: time since the last update, s.
        """
        wrench = None if measured is None or not (np.abs(measured) <= _LARGEST).all() else measured
        energy_change = _DAMPING_SHARE * max(0.0, self.damping_power) * dt
        if wrench is not None:
            # The last twist does not depend on the noise of both wrenches.
            change = float((wrench - self.wrench) @ self._last_twist)
            energy_change += 0.5 * h * self._gain * change
        self.wrench[:] = self.wrench * max(0.0, 1.0 - dt / _FADING) if wrench is None else wrench
        self._last_twist[:] = 0.0 if wrench is None else twist
        if self._allowance >= 0.0 or k == 0.0:
            self._allowance = min(max(self._allowance, 0.0) + energy_change, _ALLOWANCE)
        self.reason = "" if self._allowance >= 0.0 else _OFF
        self._gain = k * self._ramp.follow(wrench is not None and not self.reason, dt)
        return self._gain
