# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Projection on the constraints of poses and of velocities.

One Newton step in the metric of the kinetic energy for each; together with the constraint forces of
the equations this stabilises the index-2 system as the additional multipliers of Gear, Gupta and
Leimkuhler do, without further unknowns.
"""

from typing import NamedTuple

import numpy as np

from vms_ph_dynamics import Array

from ..equations import Equations
from ..errors import InconsistentState, SingularConstraint

# Dependent rows show as a gap in the eigenvalues of the S of unit diagonal: closed loops whose
# poses fit to 1e-6 leave 1e-12 in them. Those of a long chain of n bodies fall evenly, to 1/n^4.
_GAP, _DEPENDENT, _ZERO_TOLERANCE = 1e4, 1e-8, 1e-14
_MAX_ITERATIONS = 20


class ProjectedState(NamedTuple):
    """A state on the constraints.

    Attributes:
        x: (size,).
        opening: the largest step by which a joint was open before, m or rad.
        metric: ``S = G Q G^T`` before, (count,count).
    """

    x: Array
    opening: float
    metric: Array | None


class Projection:
    """Projects states of a system on its constraints.

    Args:
        equations: of the system.
    """

    def __init__(self, equations: Equations) -> None:
        self._equations = equations
        layout = equations.layout
        self._n = layout.quadratic_size
        self._closures = [
            (block.rows, equations.joint_closures[block.box])
            for block in equations.constraints.blocks
            if block.box in equations.joint_closures
        ]
        joints = {closure.q_r.junction for _, closure in self._closures}
        self._pose_entries = []
        for entry, effort in equations.couplings:
            is_needed = entry.junction in joints or any(
                frame.state is entry for _, c in self._closures for frame in (c.first, c.second)
            )
            if is_needed:
                self._pose_entries.append((entry, effort))

    def residual(self, x: Array) -> Array:
        """Return the violation of all joint closures, one entry per row of A."""
        r = np.zeros(self._equations.constraints.A0.shape[0])
        for rows, closure in self._closures:
            r[rows] = closure.residual(x)
        return r

    def violation(self, x: Array) -> float:
        """Return the largest violation of a joint closure, m or rad."""
        r = self.residual(x)
        return float(np.abs(r).max()) if r.size else 0.0

    def worst_joint(self, x: Array) -> str:
        """Return the joint with the largest violation at a state."""
        r = self.residual(x)
        largest_rows = max(self._closures, key=lambda row: float(np.abs(r[row[0]]).max()))
        return largest_rows[1].box.rpartition(".")[0] or largest_rows[1].box

    def check(self, x: Array, tolerance: float) -> None:
        """Raise an error for a state that violates the constraints.

        Raises:
            InconsistentState: it does; the message names the joint and states the violation.
        """
        equations = self._equations
        if not equations.constraints.row_count:
            return
        r = self.residual(x)
        if self._closures and not np.abs(r).max() <= tolerance:
            raise InconsistentState(
                f"the bodies of joint '{self.worst_joint(x)}' do not meet: their frames are "
                f"{np.abs(r).max():.3g} (m or rad) apart where {tolerance:.1g} is accepted; place "
                "them with multibody.consistent_state, or give poses that fit"
            )
        v = equations.velocity_residual(x)
        if not np.abs(v).max() <= tolerance:
            row = np.zeros(v.size)
            row[int(np.argmax(np.abs(v)))] = 1.0
            owner = equations.constraints.dominant_box(row)
            raise InconsistentState(
                f"the velocities at '{owner.rpartition('.')[0] or owner}' violate its constraint "
                f"by {np.abs(v).max():.3g} (m/s or rad/s) where {tolerance:.1g} is accepted"
            )

    def find_rank(self, x: Array) -> int:
        """Return the number of independent constraints at a state."""
        core = self._equations.tree_core
        if core is not None:
            return int(core.tree_rows)  # every joint of a tree moves a body of its own
        s = self._metric(x)[1]
        if not s.size:
            return 0
        eigenvalues = np.maximum(np.linalg.eigvalsh(_unit_diagonal(s)), 1e-2 * _ZERO_TOLERANCE)
        gaps = (eigenvalues[:-1] < _DEPENDENT) & (eigenvalues[1:] > _GAP * eigenvalues[:-1])
        dependent_count = int(np.max(np.flatnonzero(gaps), initial=-1)) + 1
        return s.shape[0] - max(dependent_count, int((eigenvalues < _ZERO_TOLERANCE).sum()))

    def check_rank(self, x: Array, previous_ratio: float, metric: Array | None = None) -> float:
        """Raise an error for a state at which constraints have become dependent.

        The least singular value falls to zero in proportion to the distance from a singularity, so
        that a singularity is detected two steps ahead and none is skipped.

        Args:
            x: state after a step.
            previous_ratio: the value returned before the step; zero at the beginning.
            metric: S, from a projection that has just taken place.

        Returns:
            The least singular value that is not that of a dependent constraint.

        Raises:
            SingularConstraint: naming a joint.
        """
        equations = self._equations
        rank = equations.rank
        if rank is None or not equations.constraints.row_count:
            return 0.0
        # The metric of a projection differs from that at x by a local error of the scheme.
        s = self._metric(x)[1] if metric is None else metric
        eigenvalues = np.linalg.eigvalsh(_unit_diagonal(s))
        return self._check_sigma(eigenvalues, rank, previous_ratio, x)

    def check_eigenvalues(self, values: Array, previous_ratio: float, x: Array) -> float:
        """Do the same with the eigenvalues that the core found for the joints that close loops.

        Args:
            values: ascending; empty for a tree, whose constraints never become dependent.
            previous_ratio: as for :meth:`check_rank`.
            x: state after a step, for the message.
        """
        rank = self._equations.rank
        if rank is None or not values.size:
            return 0.0
        dependent_count = self._equations.constraints.row_count - rank
        return self._check_sigma(values, values.size - dependent_count, previous_ratio, x)

    def _check_sigma(self, eigenvalues: Array, rank: int, previous_sigma: float, x: Array) -> float:
        dependent_count = eigenvalues.size - rank
        sigma = float(np.sqrt(max(eigenvalues[dependent_count], 0.0))) if rank else 1.0
        decrease = previous_sigma - sigma
        if sigma * sigma <= _ZERO_TOLERANCE or sigma < 2.0 * decrease:
            raise self._equations.singular_error(self._metric(x)[1])
        if dependent_count and eigenvalues[dependent_count - 1] > 1e-2 * sigma * sigma:
            raise SingularConstraint(
                "the motion began at a singular configuration: more constraints are independent "
                "now than then; begin elsewhere"
            )
        return sigma

    def project(self, x: Array) -> ProjectedState:
        """Return the state on the constraints, one Newton step away in poses and in momenta.

        Raises:
            SingularConstraint: the constraints have lost rank.
        """
        equations = self._equations
        constraints = equations.constraints
        if not constraints.row_count:
            return ProjectedState(x, 0.0, None)
        g, s = self._metric(x)
        opening = 0.0
        if self._closures:
            r = self.residual(x)
            opening = float(np.abs(r).max())
            b = np.zeros(constraints.row_count)
            m = constraints.remaining_rows.shape[0]
            b[:m] = constraints.remaining_rows @ r
            x = self._displaced(x, r, -(equations.storages.Q @ (equations.solve(s, b) @ g)))
        y = x.copy()
        y[: self._n] -= equations.solve(s, g @ (equations.storages.Q @ x[: self._n])) @ g
        return ProjectedState(y, opening, s)

    def iterate(self, x: Array) -> Array:
        """Return the state on the constraints by Newton iteration.

        Raises:
            InconsistentState: the iteration does not converge.
        """
        for _ in range(_MAX_ITERATIONS):
            x = self.project(x).x
            if not self._closures or np.abs(self.residual(x)).max() < 1e-13:
                return self.project(x).x
        raise InconsistentState(
            f"joint '{self.worst_joint(x)}' cannot be closed from here; begin nearer"
        )

    def _metric(self, x: Array) -> tuple[Array, Array]:
        """Return the columns of G on momenta, and ``S = G Q G^T``."""
        g = self._equations.constraint_matrix(x)[:, : self._n]
        return g, g @ self._equations.storages.Q @ g.T

    def _displaced(self, x: Array, r: Array, delta: Array) -> Array:
        """Move all poses along the velocities of a displacement delta for unit time."""
        equations, c = self._equations, self._equations.constraints
        stored_efforts = np.zeros(equations.layout.stored_size)
        stored_efforts[: self._n] = delta
        w = -(c.solving_rows @ (c.variable_rows(equations.states.views) @ stored_efforts + r))
        efforts = np.concatenate([stored_efforts, c.T @ stored_efforts + c.to_free @ w])
        y = x.copy()
        for entry, effort in self._pose_entries:
            pose = x[entry.indices].reshape(entry.space.shape)
            y[entry.indices] = entry.space.step(pose, efforts[effort]).ravel()
        return y


def _unit_diagonal(s: Array) -> Array:
    scale = np.sqrt(np.maximum(np.diagonal(s), 1e-300))
    return s / np.outer(scale, scale)


def close_loops(equations: Equations, x: Array) -> Array:
    """Return the state near x on all constraints, to close a loop from a guess of its angles.

    Raises:
        InconsistentState: a joint, which the message names, cannot be closed from there.
    """
    projection = Projection(equations)
    rank, equations.rank = equations.rank, None
    try:
        return projection.iterate(x)
    finally:
        equations.rank = rank
