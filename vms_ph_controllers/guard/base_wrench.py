# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The wrench that the actuators of a guarded base deliver."""

import numpy as np

from vms_ph_dynamics import Allocation, Array, ModelError, VMSModel
from vms_ph_dynamics.actuation.allocation import (
    bounded_least_squares,
    default_weights,
    nearest_inputs,
)

from ..safety.base_actuation import check_allocation

# Relative difference up to which a wrench is one that the actuators give: rounding of allocations.
_ROUNDING = 1e-9


class BaseWrench:
    """Finds the wrench that the actuators of a base give for a wanted one, within their limits.

    The set of these wrenches is convex: with two of them, all between are given as well.

    Attributes:
        is_ideal: whether every wrench is given, and so that of a fixed base.
    """

    def __init__(
        self,
        model: VMSModel,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
        weights: Array | None = None,
    ) -> None:
        """Serve a base.

        Args:
            model: the robot.
            allocation: the actuators of the base; None for a base that can apply any wrench.
            base_actuated: False for a base without actuators.
            weights: (b,) of the components of a wrench, of which those of small weight are given
                up first; :func:`.default_weights` when None.

        Raises:
            ModelError: the allocation is for another kind of base, or the weights are not b
                numbers above zero.
        """
        b = model.b
        check_allocation(model, allocation)
        self._allocation = allocation if base_actuated else None
        self.is_ideal = b == 0 or (base_actuated and allocation is None)
        self._none = np.zeros(b)
        if self._allocation is not None:
            matrix = self._allocation.matrix
            self._weights = default_weights(matrix) if weights is None else np.array(weights, float)
            if self._weights.shape != (b,) or not (self._weights > 0.0).all():
                raise ModelError(
                    f"the weights of a wrench of {b} components must be as many numbers above "
                    f"zero; given: {self._weights.tolist()}"
                )

    def delivered(self, desired: Array) -> Array:
        """Return the wrench (b,) that is nearest to a wanted one; that one itself if it is given.

        The weighted error is least, as where the actuators allocate a wrench beyond their limits.
        """
        allocation = self._allocation
        if self.is_ideal:
            return desired
        if allocation is None:
            return self._none if np.any(desired) else desired
        nearest = nearest_inputs(
            allocation.matrix, desired, allocation.lower, allocation.upper, self._weights
        )
        if np.abs(nearest.missing).max() <= _ROUNDING * (1.0 + np.abs(desired).max()):
            return desired
        return allocation.matrix @ nearest.inputs

    def braking(self, desired: Array, M_b: Array) -> Array:
        """Return the wrench (b,) that is nearest to a brake in the norm of the inverse of M_b.

        Where the wanted one is ``r - k M_b v_hat`` with a wrench r that is given, the found one w
        takes energy out: ``(w - r) . v_hat <= -|w - r|^2_{M_b^-1} / k``, by the property of the
        nearest point of a convex set.

        Args:
            desired: (b,) brake.
            M_b: (b,b) locked inertia.
        """
        allocation = self._allocation
        if self.is_ideal or allocation is None:
            return self.delivered(desired)
        root = np.linalg.cholesky(M_b)
        inputs = bounded_least_squares(
            np.linalg.solve(root, allocation.matrix),
            np.linalg.solve(root, desired),
            allocation.lower,
            allocation.upper,
        )
        return allocation.matrix @ inputs
