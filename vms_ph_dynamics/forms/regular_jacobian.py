# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A task Jacobian that stays of full rank: near a singularity its singular values are lifted."""

import numpy as np

from ..arrays import Array
from ..cached import cached_property
from ..errors import StateError

# A singular direction has no derivative if its singular value is below this fraction of the
# threshold.
_LOST = 1e-6


class RegularJacobian:
    """``J = L S R``, and the nearby ``J_hat = L S_hat R`` on which the task-space form is based.

    A singular value s below the threshold s0 is lifted to ``(s^2 + s0^2) / (2 s0)``, which joins
    ``s`` with its slope at s0 and never falls below ``s0 / 2``. Where nothing is lifted, ``J_hat``
    is J itself. All identities of the form hold exactly for ``J_hat``, and its pseudo-inverse is
    never larger than ``2 / s0``; its rows span those of J, completed where J has lost one.

    Attributes:
        left: L (m,m). values: S (m,), descending. right: R (m,nv). kernel: (nv-m,nv), ``J
            kernel^T`` is zero; all with orthonormal rows.
        is_regular: whether nothing is lifted.
        matrix: J_hat (m,nv).

    Args:
        jacobian: J (m,nv).
        threshold: s0, in the units of the task.
    """

    def __init__(self, jacobian: Array, threshold: float) -> None:
        m = len(jacobian)
        self.left, self.values, right = np.linalg.svd(jacobian)
        self.right, self.kernel = right[:m], right[m:]
        self._threshold = threshold
        self.is_regular = bool(self.values[-1] >= threshold)
        self.matrix = jacobian
        if not self.is_regular:
            self.matrix = self.left @ (self._lifted[:, None] * self.right)

    @property
    def smallest(self) -> float:
        """Smallest singular value of J, before any lifting."""
        return float(self.values[-1])

    @property
    def lift(self) -> float:
        """``|J_hat - J|``, the largest singular value of the difference."""
        return float(np.max(self._lifted - self.values))

    @cached_property
    def pseudo_inverse(self) -> Array:
        """Moore-Penrose inverse of J_hat, (nv,m)."""
        return self.right.T @ (self.left / self._lifted).T

    def rate(self, jacobian_rate: Array) -> Array:
        """Return the derivative of J_hat that belongs to one of J, exact, (...,m,nv).

        The map is linear and its own transpose. Between singular directions it multiplies by
        divided differences of the lifting, towards the kernel by ``s_hat / s``: the directions
        rotate ever faster as s goes to zero.

        Raises:
            StateError: a singular value is zero, so that its direction has no derivative.
        """
        if self.is_regular:
            return jacobian_rate
        s, lifted = self.values, self._lifted
        if s[-1] < _LOST * self._threshold:
            rank = int(np.sum(s >= _LOST * self._threshold))
            raise StateError(
                f"the task Jacobian has rank {rank} of {len(s)} here, so its momenta have no rate; "
                "stay away from this configuration, or use a task of fewer dimensions"
            )
        within = self.left.T @ jacobian_rate @ self.right.T
        swapped = np.swapaxes(within, -1, -2)
        even, odd = (within + swapped) / 2, (within - swapped) / 2
        beyond = self.left.T @ jacobian_rate @ self.kernel.T
        inner = self._difference_quotient * even + self._sum_quotient * odd
        outer = (lifted / s)[:, None] * beyond
        return self.left @ (inner @ self.right + outer @ self.kernel)

    @cached_property
    def _lifted(self) -> Array:
        s, s0 = self.values, self._threshold
        return np.where(s >= s0, s, (s * s + s0 * s0) / (2 * s0) if s0 > 0 else s)

    @cached_property
    def _difference_quotient(self) -> Array:
        s, lifted = self.values, self._lifted
        apart = s[:, None] - s[None, :]
        slope = np.where(s >= self._threshold, 1.0, s / self._threshold)
        near = np.abs(apart) < 1e-9 * (1.0 + s[0])
        quotient = (lifted[:, None] - lifted[None, :]) / np.where(near, 1.0, apart)
        return np.where(near, (slope[:, None] + slope[None, :]) / 2, quotient)

    @cached_property
    def _sum_quotient(self) -> Array:
        s, lifted = self.values, self._lifted
        return (lifted[:, None] + lifted[None, :]) / (s[:, None] + s[None, :])
