# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Gains that are matrices: damping, stiffness and inertia of a law."""

import numpy as np

from vms_ph_dynamics import ModelError
from vms_ph_dynamics.arrays import Array

# An eigenvalue of zero is computed to this share of the largest.
_ROUNDING = 1e-12


def symmetric(matrix: Array | None, size: int, name: str, positive: bool = False) -> Array | None:
    """Return a matrix (size,size) as it was given, or None for None.

    Args:
        matrix: the gain.
        size: number of rows.
        name: of the argument, for the error.
        positive: whether all eigenvalues must be positive; else they must not be negative.

    Raises:
        ModelError: it is not symmetric or finite, has another shape, or eigenvalues that are
            refused.
    """
    if matrix is None:
        return None
    checked = np.array(matrix, dtype=np.float64)
    if checked.shape != (size, size) or not np.allclose(checked, checked.T):
        raise ModelError(
            f"{name} must be a symmetric ({size},{size}) matrix; given: shape {checked.shape}"
        )
    values = np.linalg.eigvalsh(checked)
    if positive and values[0] <= _ROUNDING * values[-1]:
        raise ModelError(f"{name} must have positive eigenvalues; the smallest is {values[0]:.3g}")
    if values[0] < -_ROUNDING * values[-1]:
        raise ModelError(f"{name} must not have negative eigenvalues: it would push away")
    return checked
