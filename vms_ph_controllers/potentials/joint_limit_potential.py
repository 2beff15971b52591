# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A potential that rises near the limits of the joints."""

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array


class JointLimitPotential:
    """``1/2 k d^2`` with d the depth of a joint within the margin before its limit."""

    def __init__(self, model: VMSModel) -> None:
        self._lower, self._upper = model.joints.lower, model.joints.upper

    def depth(self, positions: Array, margin: float) -> Array:
        """Return the depths d (n,) of joints within the margin; negative at the lower limits."""
        above = np.maximum(positions - (self._upper - margin), 0.0)
        below = np.maximum((self._lower + margin) - positions, 0.0)
        return above - below

    def energy(self, depth: Array, stiffness: float) -> float:
        """Return the energy, J, at depths (n,) for a stiffness in N m/rad."""
        return 0.5 * stiffness * float(depth @ depth)

    def clipped(self, positions: Array, before: Array, margin: float) -> Array:
        """Return joint positions (n,) clipped to the margins.

        Joints that were beyond a margin ``before`` may stay there, but move no further.
        """
        low = np.minimum(self._lower + margin, np.maximum(before, self._lower))
        high = np.maximum(self._upper - margin, np.minimum(before, self._upper))
        return np.clip(positions, low, high)
