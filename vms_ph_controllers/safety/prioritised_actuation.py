# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The wrench that actuators of a base can apply, where components have an order of importance."""

import numpy as np

from vms_ph_dynamics.actuation.allocation import Allocation, default_weights, nearest_inputs
from vms_ph_dynamics.arrays import Array

from .base_actuation import Achieved

# Part of the weighted wrench that may be missing before it is said, N or N m.
_NOTICEABLE = 1e-6


class PrioritisedActuation:
    """Maps desired wrenches to the nearest that the actuators can apply within their limits.

    Components with small weights are given up first, see :meth:`.Allocation.within`. For vehicles
    that cannot push in every direction, whose attitude comes before their height.
    """

    def __init__(self, allocation: Allocation, weights: Array | None = None) -> None:
        """Serve a base with actuators.

        Args:
            allocation: of the actuators.
            weights: (b,) of the components of a wrench; :func:`.default_weights` when None.
        """
        self.actuated, self._allocation = True, allocation
        self._weights = default_weights(allocation.matrix) if weights is None else weights
        # What no inputs can make is not missed.
        weighted = self._weights[:, None] * allocation.matrix
        self._reach = weighted @ np.linalg.pinv(weighted)

    def apply(self, wanted: Array, resting: Array) -> Achieved:
        """Return the wrench that the base applies for a desired one.

        Args:
            wanted: (b,) wrench of the law.
            resting: (b,) wrench that compensates gravity; not used.
        """
        allocation = self._allocation
        found = nearest_inputs(
            allocation.matrix, wanted, allocation.lower, allocation.upper, self._weights
        )
        lost = self._reach @ (self._weights * found.missing)
        reason = ""
        if np.abs(lost).max() > _NOTICEABLE * (1.0 + np.abs(self._weights * wanted).max()):
            reason = "base wrench at the limits of its actuators"
        return Achieved(allocation.matrix @ found.inputs, reason)
