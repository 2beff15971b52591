# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Potentials of the joints: the shaped one with a minimum, and springs at their limits."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, Evaluation, Task, VMSModel


@dataclass(frozen=True, slots=True)
class SpringForce:
    """Springs at a state.

    Attributes:
        energy: J.
        force: its gradient (k,), N m or N.
        stiffness: (k,) of each coordinate, or (k,k), N m/rad or N/m.
    """

    energy: float
    force: Array
    stiffness: Array

    def select(self, rows: Array) -> "SpringForce":
        """Return the springs of some of the coordinates."""
        return SpringForce(self.energy, self.force[rows], self.stiffness[rows])

    def with_spring(self, stiffness: Array, displacement: Array) -> "SpringForce":
        """Return these springs with others of a stiffness (k,) at displacements (k,)."""
        force = stiffness * displacement
        energy = self.energy + 0.5 * float(force @ displacement)
        return SpringForce(energy, self.force + force, self.stiffness + stiffness)

    def with_joints(self, joints: "SpringForce") -> "SpringForce":
        """Return these springs of a base (b,) and those of the joints (n,) as those of a robot."""
        return SpringForce(
            self.energy + joints.energy,
            np.concatenate([self.force, joints.force]),
            np.concatenate([self.stiffness, joints.stiffness]),
        )


class JointLimitPotential:
    """``1/2 k d^2`` with d the depth of a joint within the margin before its limit."""

    def __init__(self, model: VMSModel) -> None:
        self._lower, self._upper = model.joints.lower, model.joints.upper

    def depth(self, positions: Array, margin: float) -> Array:
        """Return the depths d (n,) of joints within the margin; negative at the lower limits."""
        upper_depth = np.maximum(positions - (self._upper - margin), 0.0)
        return upper_depth - np.maximum((self._lower + margin) - positions, 0.0)

    def springs(
        self, positions: Array, predicted_positions: Array, stiffness: float | Array, margin: float
    ) -> SpringForce:
        """Return the springs at joint positions (n,).

        Args:
            positions: (n,) now.
            predicted_positions: (n,) up to which springs that begin to act count as stiffness.
            stiffness: stiffness of all springs, or of each (n,), N m/rad or N/m.
            margin: distance from a limit at which its spring begins, rad or m.
        """
        depth = self.depth(positions, margin)
        is_active = (depth != 0.0) | (self.depth(predicted_positions, margin) != 0.0)
        force = stiffness * depth
        return SpringForce(0.5 * float(force @ depth), force, np.where(is_active, stiffness, 0.0))

    def clip_positions(self, positions: Array, previous: Array, margin: float) -> Array:
        """Return joint positions (n,) clipped to the margins.

        Joints that were beyond a margin at ``previous`` may stay there, but move no further.
        """
        low = np.minimum(self._lower + margin, np.maximum(previous, self._lower))
        high = np.maximum(self._upper - margin, np.minimum(previous, self._upper))
        return np.clip(positions, low, high)


@dataclass(frozen=True, slots=True)
class ShapedPotential:
    """``1/2 (q - q*)^T W (q - q*)`` [D, section 5].

    Attributes:
        model: the robot.
        q_star: the minimum, (nq,).
        weight: W (n,n), symmetric and positive semidefinite, N m/rad; a number is a multiple of the
            identity.
    """

    model: VMSModel
    q_star: Array
    weight: float | Array

    def energy(self, q: Array) -> float:
        """Return the value at a configuration (nq,), J."""
        return self.energy_and_gradient(q)[0]

    def gradient(self, q: Array) -> Array:
        """Return ``W (q - q*)``, (n,) N m."""
        return self.energy_and_gradient(q)[1]

    def energy_and_gradient(self, q: Array) -> tuple[float, Array]:
        """Return the value, J, and the gradient (n,), N m, at a configuration (nq,)."""
        offset, weight = self.model.difference(self.q_star, q), self.weight
        gradient = weight * offset if isinstance(weight, float) else weight @ offset
        return 0.5 * float(offset @ gradient), gradient


def weight_of_task_stiffness(
    task: Task, d: Evaluation, task_stiffness: Array, null_stiffness: float
) -> Array:
    """Return ``W = J^T K_t J + N^T K_nu N`` at the minimum, (n,n).

    W is block-diagonal in the coordinates ``(J, N) (q - q*)``, so that the stiffness of the task is
    ``K_t`` both statically, ``(J W^-1 J^T)^-1 = K_t``, and dynamically [D (40)]. W does not depend
    on the choice of the null-space basis.

    Args:
        task: m rows.
        d: evaluation at the minimum.
        task_stiffness: K_t (m,m), N/m.
        null_stiffness: K_nu is this multiple of the identity, N m/rad.
    """
    jacobian = task.jacobian(d)
    null_basis = np.linalg.svd(jacobian)[2][task.dimension :]
    weighted_basis = null_basis @ d.M
    null_map = np.linalg.solve(weighted_basis @ null_basis.T, weighted_basis)
    weight = jacobian.T @ task_stiffness @ jacobian + null_stiffness * (null_map.T @ null_map)
    return (weight + weight.T) / 2
