"""What every law's efforts pass before they leave: bounds on effort, its rate, and power."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array


@dataclass(frozen=True, slots=True)
class Limited:
    """Efforts within their limits.

    Attributes:
        torque: (n,) N m or N.
        reason: what was limited, in words; empty when nothing was.
    """

    torque: Array
    reason: str


class TorqueLimits:
    """The limits of a robot's joints, and those its user sets."""

    def __init__(self, model: VMSModel) -> None:
        self._model = model
        self._last: Array | None = None

    def restart(self) -> None:
        """Forget the last torque: the next one may jump."""
        self._last = None

    def apply(
        self, wanted: Array, resting: Array, rates: Array, rate: float, power: float, dt: float
    ) -> Limited:
        """Return torques within the limits.

        Args:
            wanted: (n,) by the law.
            resting: (n,) that hold the robot against gravity; only what goes beyond them is
                weakened for the sake of power.
            rates: (n,) of the joints.
            rate: bound of the change of a torque in a second, N m/s; 0 for none.
            power: bound of the power into the joints, W; 0 for none.
            dt: since the last torques, s.
        """
        torque, reason = wanted, ""
        given = float(wanted @ rates)
        if 0.0 < power < given:
            held = float(resting @ rates)
            share = max(0.0, power - held) / max(given - held, 1e-12)
            torque = resting + min(1.0, share) * (wanted - resting)
            reason = f"power at its limit of {power:g} W"
        if self._last is not None and rate > 0.0:
            change = np.clip(torque - self._last, -rate * dt, rate * dt)
            if np.abs(self._last + change - torque).max() > 1e-12:
                torque, reason = self._last + change, "rate of torque at its limit"
        bound = self._model.joints.effort
        if (np.abs(torque) > bound).any():
            names = [
                name
                for name, t, most in zip(self._model.joint_names, torque, bound, strict=True)
                if abs(t) > most
            ]
            torque, reason = np.clip(torque, -bound, bound), f"torque at its limit: {names[0]}"
            if names[1:]:
                reason += ", " + ", ".join(names[1:])
        self._last = torque
        return Limited(torque, reason)
