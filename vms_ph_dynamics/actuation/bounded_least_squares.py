# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Least squares within bounds, for the allocation of efforts to actuators."""

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array

# Share of the largest eigenvalue that is added to all, so that the solution is unique.
_UNIQUE = 1e-9

# Searches that begin at the solution of the one before and add to the distance from it instead, so
# that what is added has no effect in the end; each leaves about a thousandth of the error where the
# matrix is badly conditioned, and less elsewhere.
_CORRECTIONS = 3

# A gradient of this size, relative to the largest, releases no bound.
_ROUNDING = 1e-10


def bounded_least_squares(A: Array, b: Array, lower: Array, upper: Array) -> Array:
    """Return the x (m,) within bounds that minimises ``|A x - b|^2``, of several the smallest.

    A primal active-set method: a step to the minimum over the free entries ends at the first bound
    that it meets; at the minimum, the bound with the largest gradient into the interior is freed.
    Every iteration lowers the same strictly convex function over one of finitely many sets of
    bounds; beyond ten iterations per entry, which has not been seen, the best point is returned.

    Args:
        A: (k,m) matrix.
        b: (k,) right-hand side.
        lower: (m,) bounds; may be infinite.
        upper: (m,) bounds, at least those below.
    """
    m = A.shape[1]
    H = A.T @ A
    added = _UNIQUE * max(float(np.trace(H)), 1e-300)
    H[np.diag_indices(m)] += added
    g = A.T @ b
    x = np.minimum(np.maximum(np.zeros(m), lower), upper)
    at = np.zeros(m, dtype=np.intp)
    at[x == lower], at[x == upper] = -1, 1
    _search(H, g, lower, upper, x, at)
    for _ in range(_CORRECTIONS):
        _search(H, g + added * x, lower, upper, x, at)
    return np.minimum(np.maximum(x, lower), upper)


def _search(H: Array, g: Array, lower: Array, upper: Array, x: Array, at: NDArray[np.intp]) -> None:
    """Move x (m,), with the bounds that its entries are at (m,), to the least of x.H x / 2 - g.x.

    Args:
        H: (m,m) positive definite.
        g: (m,).
        lower: (m,) bounds.
        upper: (m,) bounds.
        x: (m,) within them.
        at: (m,) which bound an entry is at: -1, 0 for none, 1.
    """
    fixed = lower == upper
    scale = max(float(np.abs(g).max(initial=0.0)), float(np.abs(H).max(initial=0.0)), 1e-300)
    for _ in range(10 * x.size):
        free = np.flatnonzero(at == 0)
        if free.size:
            step = np.linalg.solve(H[np.ix_(free, free)], g[free] - H[free] @ x)
            bound = np.where(step > 0.0, upper[free], lower[free])
            share = np.full(free.size, np.inf)
            moving = step != 0.0
            share[moving] = (bound[moving] - x[free][moving]) / step[moving]
            first = int(np.argmin(share))
            if share[first] < 1.0:
                x[free] += share[first] * step
                x[free[first]] = bound[first]
                at[free[first]] = 1 if step[first] > 0.0 else -1
                continue
            x[free] += step
        inward = np.where(fixed, 0.0, at * (H @ x - g))
        worst = int(np.argmax(inward))
        if inward[worst] <= _ROUNDING * scale:
            break
        at[worst] = 0
