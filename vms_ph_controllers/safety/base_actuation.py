"""What a base can do of the wrench a law wants of it."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.effects.allocation import Allocation


@dataclass(frozen=True, slots=True)
class Achieved:
    """The wrench that a base makes.

    Attributes:
        wrench: (b,).
        reason: why it is not the one wanted, in words; empty when it is.
    """

    wrench: Array
    reason: str


class BaseActuation:
    """Maps wanted wrenches of a base to those it can make.

    A wrench out of reach is drawn towards the one that holds the robot against gravity, direction
    kept: clipping every rotor by itself would turn the vehicle over. Where the base lacks a
    direction altogether, the nearest wrench it has is taken.
    """

    def __init__(self, model: VMSModel, allocation: Allocation | None, actuated: bool) -> None:
        """Take the actuators of a base: an allocation, any wrench when None, or nothing at all.

        Raises:
            ModelError: an allocation for another kind of base.
        """
        if allocation is not None and len(allocation.matrix) != model.b:
            raise ModelError(
                f"the allocation makes wrenches of {len(allocation.matrix)} components; the "
                f"{model.base} base of '{model.name}' has {model.b}"
            )
        self.actuated = actuated and model.b > 0
        self._b, self._allocation = model.b, allocation
        if allocation is not None:
            self._inverse = np.linalg.pinv(allocation.matrix)
            self._reach = allocation.matrix @ self._inverse

    def apply(self, wanted: Array, resting: Array) -> Achieved:
        """Return what the base makes of a wanted wrench (b,).

        Args:
            wanted: by the law.
            resting: (b,) holds the robot against gravity.
        """
        if not self.actuated:
            return Achieved(np.zeros(self._b), "")
        allocation = self._allocation
        if allocation is None:
            return Achieved(wanted, "")
        thrusts, least = self._inverse @ wanted, self._inverse @ resting
        share = _share_within(least, thrusts - least, allocation.lower, allocation.upper)
        reason = ""
        if share is None:
            thrusts = np.clip(thrusts, allocation.lower, allocation.upper)
            reason = "the base cannot hold the robot against gravity"
        elif share < 1.0:
            thrusts = least + share * (thrusts - least)
            reason = f"base wrench at its limit: {share:.0%} of what is wanted beyond gravity"
        wrench = allocation.matrix @ thrusts
        if not reason and np.abs(self._reach @ wanted - wanted).max() > 1e-9:
            reason = "the base has no actuator for a part of the wrench"
        return Achieved(wrench, reason)


def _share_within(start: Array, step: Array, lower: Array, upper: Array) -> float | None:
    """Return how much of a step stays within bounds, at most 1; None when the start does not."""
    if (start < lower).any() or (start > upper).any():
        return None
    room = np.where(step > 0.0, upper - start, start - lower)
    size = np.abs(step)
    moving = size > 1e-12
    return float(min(1.0, (room[moving] / size[moving]).min(initial=1.0)))
