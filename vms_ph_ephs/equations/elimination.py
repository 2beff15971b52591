# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Row reduction: the efforts that follow from others and the remaining constraints.

A constraint ``F y + S e = 0`` with efforts y to be eliminated becomes
``y = T e + Z w`` and ``left e = 0``, where w are the undetermined entries of y.
"""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array

# Entries below this fraction of the largest are rounding of sums of poses of order one.
_ZERO = 1e-11


@dataclass(frozen=True)
class Reduction:
    """A row-reduced matrix.

    Attributes:
        transform: P, (rows,rows): ``P F`` is reduced, pivot rows first.
        pivots: the columns of F that are solved for, one per leading row.
        rest: the other columns.
        reduced: ``P F``, (rows,columns).
    """

    transform: Array
    pivots: list[int]
    rest: list[int]
    reduced: Array


def null_space(matrix: Array) -> Array:
    """Return an orthonormal basis of the kernel of a matrix, as columns."""
    _, values, vt = np.linalg.svd(matrix)
    limit = _ZERO * max(1.0, float(values.max(initial=0.0)))
    return vt[int((values > limit).sum()) :].T


def reduce_rows(matrix: Array) -> Reduction:
    """Return the reduced row echelon form of a matrix, with the transformation to it.

    Pivots are the largest entries of their column. For offsets and joints they are ones, so that
    sums are exact.
    """
    rows, columns = matrix.shape
    m = np.hstack([matrix, np.eye(rows)])
    limit = _ZERO * float(np.abs(matrix).max()) if matrix.size else 0.0
    pivots: list[int] = []
    for column in range(columns):
        top = len(pivots)
        if top == rows:
            break
        best = top + int(np.abs(m[top:, column]).argmax())
        if abs(m[best, column]) <= limit:
            m[top:, column] = 0.0
            continue
        if best != top:
            m[[top, best]] = m[[best, top]]
        m[top] /= m[top, column]
        others = np.flatnonzero(m[:, column])
        others = others[others != top]
        if others.size:
            used = np.flatnonzero(m[top])
            m[np.ix_(others, used)] -= np.outer(m[others, column], m[top, used])
            m[others, column] = 0.0
        pivots.append(column)
    rest = [c for c in range(columns) if c not in set(pivots)]
    return Reduction(m[:, columns:], pivots, rest, m[:, :columns])
