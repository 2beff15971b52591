"""Springs that keep joints off their limits."""

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array


class LimitPotential:
    """``1/2 k (depth)^2`` for every joint closer to a limit than a margin.

    A potential, so it takes nothing from the passivity of what it is added to; with a continuous
    force. Joints without limits have none.
    """

    def __init__(self, model: VMSModel) -> None:
        self._model = model
        self._lower, self._upper = model.joints.lower, model.joints.upper

    def depth(self, q: Array, margin: float) -> Array:
        """Return how far each joint is beyond its margin, (n,) rad or m, signed as its position."""
        at = self._model.joint_positions(q)
        above = np.maximum(0.0, at - (self._upper - margin))
        return above - np.maximum(0.0, (self._lower + margin) - at)

    def clipped(self, positions: Array, before: Array, margin: float) -> Array:
        """Return joint positions (n,) kept within the margins.

        Those that were beyond one ``before`` may stay there, but go no further.
        """
        low = np.minimum(self._lower + margin, np.maximum(before, self._lower))
        high = np.maximum(self._upper - margin, np.minimum(before, self._upper))
        return np.clip(positions, low, high)
