# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Constraints, and the row reduction that gives the efforts that follow from others.

A constraint ``F y + S e = 0`` with efforts y to be eliminated becomes
``y = T e + Z w`` and ``remaining e = 0``, where w are the undetermined entries of y.
"""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array

from ..components import Reversible
from ..errors import PatternError
from .layout import Layout
from .states import Index, Views

# Entries below this fraction of the largest are rounding of sums of poses of order one.
_RELATIVE_ZERO = 1e-11


@dataclass(frozen=True)
class Reduction:
    """A row-reduced matrix.

    Attributes:
        transform: P, (rows,rows): ``P F`` is reduced, pivot rows first.
        pivots: the columns of F that are solved for, one per leading row.
        non_pivots: the other columns.
        reduced: ``P F``, (rows,columns).
    """

    transform: Array
    pivots: list[int]
    non_pivots: list[int]
    reduced: Array


def null_space(matrix: Array) -> Array:
    """Return an orthonormal basis of the kernel of a matrix, as columns."""
    _, singular_values, vt = np.linalg.svd(matrix)
    zero_threshold = _RELATIVE_ZERO * max(1.0, float(singular_values.max(initial=0.0)))
    return vt[int((singular_values > zero_threshold).sum()) :].T


def reduce_rows(matrix: Array) -> Reduction:
    """Return the reduced row echelon form of a matrix, with the transformation to it.

    Pivots are the largest entries of their column. For offsets and joints they are ones, so that
    sums are exact.
    """
    row_count, column_count = matrix.shape
    m = np.hstack([matrix, np.eye(row_count)])
    zero_threshold = _RELATIVE_ZERO * float(np.abs(matrix).max()) if matrix.size else 0.0
    pivots: list[int] = []
    for column in range(column_count):
        row = len(pivots)
        if row == row_count:
            break
        pivot = row + int(np.argmax(np.abs(m[row:, column])))
        if abs(m[pivot, column]) <= zero_threshold:
            m[row:, column] = 0.0
            continue
        if pivot != row:
            m[[row, pivot]] = m[[pivot, row]]
        m[row] /= m[row, column]
        other_rows = np.flatnonzero(m[:, column])
        other_rows = other_rows[other_rows != row]
        if other_rows.size:
            nonzero = np.flatnonzero(m[row])
            m[np.ix_(other_rows, nonzero)] -= np.outer(m[other_rows, column], m[row, nonzero])
            m[other_rows, column] = 0.0
        pivots.append(column)
    non_pivots = [c for c in range(column_count) if c not in set(pivots)]
    return Reduction(m[:, column_count:], pivots, non_pivots, m[:, :column_count])


@dataclass(frozen=True)
class VariableBlock:
    """The part of one component's constraint that changes with the state.

    Attributes:
        box: of the component.
        component: itself.
        rows: its rows of A.
        terms: columns of C, and the constant matrix and the columns of A they multiply into.
    """

    box: str
    component: Reversible
    rows: slice
    terms: list[tuple[slice, Array, Index]]


class Constraints:
    """Constraints on stored efforts e, and the efforts without storage that follow from them.

    Offsets and grounds are constant and eliminated once; the rows of the joints remain. Their part
    on unknown efforts must be constant (joints have constant motion subspaces), so that row
    reduction splits it once and for all into rows that give the unknown efforts, ``w = -P_w A e``,
    and rows that constrain the stored ones, ``G e = 0`` with ``G = [P_r A; constant rows]``.

    An effort that constraints do not determine may not be determined by the constant skew
    structures either, as at the free side of a gyrator: the balance of flows there is then one more
    constraint on the stored efforts, and the effort is its multiplier.

    Attributes:
        row_count: rows of G.
        columns: entries of e that G acts on.
        undetermined_basis: (total - stored, k) of free efforts that their balance determines.
        multiplier_basis: (total - stored, k) those that are multipliers of the last rows of G.
    """

    def __init__(self, layout: Layout, skew: Array, varying_efforts: Index) -> None:
        """Construct them from the constant skew structure and the efforts that other flows use."""
        self._layout = layout
        self._stored, self._free = layout.stored_size, layout.total_size - layout.stored_size
        constant_components = [
            (box, c)
            for box, c in layout.components.items()
            if isinstance(c, Reversible) and c.row_count and c.has_constant_constraint
        ]
        self._fixed_rows: Array
        self._fixed_row_boxes: list[str]
        self._reduce_constant(constant_components)
        self._reduce_variable()
        pivots, non_pivots = self._w_reduction.pivots, self._w_reduction.non_pivots
        self.to_free = self._z[:, pivots]
        w_kernel = np.zeros((self._z.shape[1], len(non_pivots)))
        w_kernel[non_pivots] = np.eye(len(non_pivots))
        w_kernel[pivots] = -self._w_reduction.reduced[: len(pivots), non_pivots]
        self._split_undetermined(self._z @ w_kernel, skew, varying_efforts)
        self.solving_rows = self._w_reduction.transform[: len(pivots)]
        self.remaining_rows = self._w_reduction.transform[len(pivots) :]
        self.row_count = self.remaining_rows.shape[0] + self._fixed_rows.shape[0]
        column_magnitude = np.abs(self._fixed_rows).sum(axis=0) + np.abs(self.A0).sum(axis=0)
        for block in self.blocks:
            for _, _, columns in block.terms:
                column_magnitude[columns] += 1.0
        self.columns = np.flatnonzero(column_magnitude)

    def variable_rows(self, states: Views) -> Array:
        """Return A, (rows,stored), given the states that each component reads."""
        a = self.A0.copy()
        for block in self.blocks:
            c = block.component.constraint(*states[block.box])
            for c_columns, factor, columns in block.terms:
                a[block.rows, columns] += c[:, c_columns] @ factor
        return a

    def matrix(self, a: Array) -> Array:
        """Return G, (row_count,stored)."""
        g = self.remaining_rows @ a
        return np.vstack([g, self._fixed_rows]) if self._fixed_rows.shape[0] else g

    def velocity_rows(self, index: Index, a: Array) -> Array:
        """Return the efforts of an index as rows over stored efforts, (k,stored)."""
        rows = np.zeros((index.size, self._stored))
        is_stored = index < self._stored
        rows[is_stored, index[is_stored]] = 1.0
        indices = index[~is_stored] - self._stored
        rows[~is_stored] = self.T[indices] - (self.to_free[indices] @ self.solving_rows) @ a
        return rows

    @property
    def fixed_rows(self) -> Array:
        """The rows of G that do not depend on the state, its last, (rows,stored)."""
        return self._fixed_rows

    def multipliers(self, states: Views, phi: Array, kappa: Array) -> dict[str, Array]:
        """Return the multiplier of every component with a constraint, as [C (28)].

        Args:
            states: that each component reads.
            phi: (total,) flows at every junction without those of multipliers.
            kappa: (row_count,) forces of the rows of G.
        """
        flows = phi[self._stored :].copy()
        kappa = kappa[: kappa.size - self.multiplier_basis.shape[1]]
        m = self.remaining_rows.shape[0]
        lam = self._w_reduction.transform.T @ np.concatenate([-self.to_free.T @ flows, kappa[:m]])
        forces = {}
        for block in self.blocks:
            forces[block.box] = lam[block.rows]
            self._add_flows(block.box, block.component, states[block.box], lam[block.rows], flows)
        n = len(self._y_reduction.pivots)
        mu = np.zeros(self._y_reduction.transform.shape[0])
        mu[:n] = -flows[self._y_reduction.pivots]
        mu[n + self._nonzero_rows] = kappa[m:]
        lam, first_row = self._y_reduction.transform.T @ mu, 0
        for box, c in self._constant_components:
            forces[box] = lam[first_row : first_row + c.row_count]
            first_row += c.row_count
        return forces

    def _add_flows(
        self, box: str, c: Reversible, states: tuple[Array, ...], lam: Array, flows: Array
    ) -> None:
        """Add the flows ``C^T lambda`` of a component at junctions without storage."""
        flow = c.constraint(*states).T @ lam
        for port, columns in c.slices.items():
            indices = self._layout.entries[self._layout.junctions[f"{box}.{port}"]]
            if indices.start >= self._stored:
                flows[indices.start - self._stored : indices.stop - self._stored] += flow[columns]

    def dominant_box(self, row_weights: Array) -> str:
        """Return the box whose constraint has the largest share in a combination of rows of G."""
        n = self.remaining_rows.shape[0]
        block_weights = np.abs(self.remaining_rows.T @ row_weights[:n])
        row_boxes = [""] * block_weights.size
        for block in self.blocks:
            row_boxes[block.rows] = [block.box] * (block.rows.stop - block.rows.start)
        if block_weights.size and block_weights.max() >= np.abs(row_weights[n:]).max(initial=0.0):
            return row_boxes[int(block_weights.argmax())]
        return self._fixed_row_boxes[int(np.argmax(np.abs(row_weights[n:])))]

    def _split_undetermined(self, z: Array, skew: Array, varying_efforts: Index) -> None:
        """Split efforts without constraint by whether a balance of flows determines them."""
        n = self._stored
        self.undetermined_basis, self.multiplier_basis = z, z[:, :0]
        if not z.shape[1]:
            return
        balance = z.T @ skew[n:, n:] @ z
        kernel = null_space(np.vstack([balance, z[varying_efforts - n]]))
        self.undetermined_basis = z @ null_space(kernel.T)
        self.multiplier_basis = z @ kernel
        if np.abs(self.multiplier_basis.T @ skew[n:, n:] @ self.to_free).max(initial=0.0) > 1e-11:
            raise PatternError(
                "a velocity without a mass is coupled to that of a joint by a gyrator; give it "
                "a mass"
            )
        rows = self.multiplier_basis.T @ (skew[n:, :n] + skew[n:, n:] @ self.T)
        self._fixed_rows = np.vstack([self._fixed_rows, rows])
        self._fixed_row_boxes += ["a junction without a storage"] * rows.shape[0]

    def _reduce_constant(self, constant_components: list[tuple[str, Reversible]]) -> None:
        count = sum(c.row_count for _, c in constant_components)
        matrix, row_boxes, first_row = np.zeros((count, self._layout.total_size)), [""] * count, 0
        for box, c in constant_components:
            for port, columns in c.slices.items():
                indices = self._layout.entries[self._layout.junctions[f"{box}.{port}"]]
                matrix[first_row : first_row + c.row_count, indices] += c.constraint()[:, columns]
            row_boxes[first_row : first_row + c.row_count] = [box] * c.row_count
            first_row += c.row_count
        reduction = reduce_rows(matrix[:, self._stored :])
        self._y_reduction, self._constant_components = reduction, constant_components
        s = reduction.transform @ matrix[:, : self._stored]
        n = len(reduction.pivots)
        self.T = np.zeros((self._free, self._stored))
        self.T[reduction.pivots] = -s[:n]
        self._z = np.zeros((self._free, len(reduction.non_pivots)))
        self._z[reduction.non_pivots] = np.eye(len(reduction.non_pivots))
        self._z[reduction.pivots] = -reduction.reduced[:n, reduction.non_pivots]
        remaining_rows = s[n:]
        is_nonzero = np.abs(remaining_rows).max(axis=1, initial=0.0) > 1e-11
        self._fixed_rows = remaining_rows[is_nonzero]
        self._nonzero_rows = np.flatnonzero(is_nonzero)
        self._fixed_row_boxes = [
            row_boxes[int(np.abs(row).argmax())] for row in reduction.transform[n:][is_nonzero]
        ]

    def _reduce_variable(self) -> None:
        layout = self._layout
        variable_components = [
            (box, c)
            for box, c in layout.components.items()
            if isinstance(c, Reversible) and c.row_count and not c.has_constant_constraint
        ]
        row_count = sum(c.row_count for _, c in variable_components)
        self.A0, w = np.zeros((row_count, self._stored)), np.zeros((row_count, self._z.shape[1]))
        self.blocks: list[VariableBlock] = []
        first_row = 0
        for box, c in variable_components:
            block_rows = slice(first_row, first_row + c.row_count)
            sample = c.constraint(*c.random_states(np.random.default_rng(0)))
            terms = []
            for port, columns in c.slices.items():
                indices = layout.entries[layout.junctions[f"{box}.{port}"]]
                to_stored, to_unknown = self._effort_maps(indices)
                if port in c.constant_columns:
                    self.A0[block_rows] += sample[:, columns] @ to_stored
                    w[block_rows] += sample[:, columns] @ to_unknown
                    continue
                if to_unknown.any():
                    raise PatternError(
                        f"the velocity at port '{box}.{port}' is not determined by those of "
                        "masses, and the constraint on it changes with the state; give the body "
                        "there a mass"
                    )
                nonzero = np.flatnonzero(to_stored.any(axis=0))
                if nonzero.size:
                    terms.append((columns, to_stored[:, nonzero], nonzero))
            self.blocks.append(VariableBlock(box, c, block_rows, terms))
            first_row += c.row_count
        self._w_reduction: Reduction = reduce_rows(w)

    def _effort_maps(self, indices: slice) -> tuple[Array, Array]:
        """Return how the effort of a junction depends on stored efforts, and on unknown ones."""
        if indices.start < self._stored:
            selection = np.zeros((indices.stop - indices.start, self._stored))
            selection[:, indices] = np.eye(indices.stop - indices.start)
            return selection, np.zeros((indices.stop - indices.start, self._z.shape[1]))
        free_indices = slice(indices.start - self._stored, indices.stop - self._stored)
        return self.T[free_indices], self._z[free_indices]
