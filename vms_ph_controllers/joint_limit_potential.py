"""A potential that rises near the limits of the joints."""

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array


class JointLimitPotential:
    """``1/2 k d^2`` with d how far a joint has come into the margin before its limit."""

    def __init__(self, model: VMSModel) -> None:
        self._lower, self._upper = model.joints.lower, model.joints.upper

    def depth(self, positions: Array, margin: float) -> Array:
        """Return how far the joints (n,) are within the margin; negative at the lower limits."""
        above = np.maximum(positions - (self._upper - margin), 0.0)
        below = np.maximum((self._lower + margin) - positions, 0.0)
        return above - below
