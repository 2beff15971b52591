# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The wrench that the actuators of a base can apply."""

import numpy as np

from vms_ph_dynamics import Allocation, Array, ModelError, VMSModel
from vms_ph_dynamics.actuation.allocation import default_weights

from .limits import LimitedEfforts

# Part of the weighted wrench that may be missing before it is said, N or N m.
_REPORTED_WRENCH = 1e-6

# Rounding of inputs, relative to the largest: that of an inverse of the map.
_ROUNDING = 1e-9


def check_allocation(model: VMSModel, allocation: Allocation | None) -> None:
    """Check that an allocation makes wrenches of the base of a robot.

    Raises:
        ModelError: their number of components is another one.
    """
    if allocation is not None and len(allocation.matrix) != model.b:
        raise ModelError(
            f"the allocation makes wrenches of {len(allocation.matrix)} components; the "
            f"{model.base} base of '{model.name}' has {model.b}"
        )


class BaseActuation:
    """Maps desired wrenches of a base to those that its actuators can apply.

    A wrench beyond the limits is moved towards the one that compensates gravity, keeping the
    direction of the difference: clipping every rotor separately would turn the vehicle over. If the
    actuators do not span a direction, the nearest wrench that they span is applied.
    """

    def __init__(self, model: VMSModel, allocation: Allocation | None, is_actuated: bool) -> None:
        """Serve a base.

        Args:
            model: the robot.
            allocation: the actuators of the base; None for a base that can apply any wrench.
            is_actuated: False for a base without actuators.

        Raises:
            ModelError: the allocation is for another kind of base.
        """
        check_allocation(model, allocation)
        self.is_actuated = is_actuated and model.b > 0
        self._b, self._allocation = model.b, allocation
        if allocation is not None:
            # An input without room between its limits, such as a failed one, takes no part.
            is_free = allocation.lower < allocation.upper
            self._pseudo_inverse = is_free[:, None] * np.linalg.pinv(allocation.matrix * is_free)
            self._fixed_thrusts = np.where(is_free, 0.0, allocation.lower)
            self._fixed_wrench = allocation.matrix @ self._fixed_thrusts
            self._projection = allocation.matrix @ self._pseudo_inverse

    def apply(self, desired_wrench: Array, compensation: Array) -> LimitedEfforts:
        """Return the wrench that the base applies for a desired one.

        Args:
            desired_wrench: (b,) wrench of the law.
            compensation: (b,) wrench that compensates gravity.
        """
        if not self.is_actuated:
            return LimitedEfforts(np.zeros(self._b), "")
        allocation = self._allocation
        if allocation is None:
            return LimitedEfforts(desired_wrench, "")
        thrusts = self._fixed_thrusts + self._pseudo_inverse @ (desired_wrench - self._fixed_wrench)
        start = self._fixed_thrusts + self._pseudo_inverse @ (compensation - self._fixed_wrench)
        # A start at a bound is not outside by rounding.
        slack = _ROUNDING * np.abs(start).max(initial=0.0)
        reason, share = "", step_share(start, thrusts - start, allocation.lower, allocation.upper)
        if (start < allocation.lower - slack).any() or (start > allocation.upper + slack).any():
            thrusts = np.clip(thrusts, allocation.lower, allocation.upper)
            reason = "the base cannot hold the robot against gravity"
        elif share < 1.0:
            thrusts = start + share * (thrusts - start)
            thrusts = np.clip(thrusts, allocation.lower, allocation.upper)
            reason = f"base wrench at its limit: {share:.0%} of the desired wrench beyond gravity"
        wrench = allocation.matrix @ thrusts
        desired_wrench = desired_wrench - self._fixed_wrench
        if not reason and np.abs(self._projection @ desired_wrench - desired_wrench).max() > 1e-9:
            reason = "the base has no actuator for a part of the wrench"
        return LimitedEfforts(wrench, reason)


def step_share(start: Array, step: Array, lower: Array, upper: Array) -> float:
    """Return the share, at most 1, of a step from ``start`` that stays within bounds, (m,) each."""
    margin = np.maximum(0.0, np.where(step > 0.0, upper - start, start - lower))
    step_size = np.abs(step)
    has_step = step_size > 1e-12
    return float(min(1.0, np.min(margin[has_step] / step_size[has_step], initial=1.0)))


class PrioritisedActuation:
    """Maps desired wrenches to the nearest that the actuators can apply within their limits.

    Components with small weights are given up first, see :meth:`.Allocation.allocate`. For vehicles
    that cannot push in every direction, whose attitude comes before their height.
    """

    def __init__(self, allocation: Allocation, weights: Array | None = None) -> None:
        """Serve a base with actuators.

        Args:
            allocation: of the actuators.
            weights: (b,) of the components of a wrench; :func:`.default_weights` when None.
        """
        self.is_actuated, self._allocation = True, allocation
        self._weights = default_weights(allocation.matrix) if weights is None else weights
        # What no inputs can make is not missed.
        weighted_matrix = self._weights[:, None] * allocation.matrix
        self._projection = weighted_matrix @ np.linalg.pinv(weighted_matrix)

    def apply(self, wrench: Array, compensation: Array) -> LimitedEfforts:
        """Return the wrench that the base applies for a desired one.

        Args:
            wrench: (b,) wrench of the law.
            compensation: (b,) wrench that compensates gravity; not used.
        """
        allocation = self._allocation
        nearest_inputs = allocation.allocate_unchecked(wrench, self._weights)
        deficit = self._projection @ (self._weights * nearest_inputs.missing_wrench)
        reason = ""
        if np.abs(deficit).max() > _REPORTED_WRENCH * (1.0 + np.abs(self._weights * wrench).max()):
            reason = "base wrench at the limits of its actuators"
        return LimitedEfforts(allocation.matrix @ nearest_inputs.inputs, reason)
