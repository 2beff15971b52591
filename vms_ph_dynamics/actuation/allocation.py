# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""From inputs of actuators to the wrench on the base, and back within limits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, frozen, vector
from ..errors import ModelError
from .actuator_columns import rotor_column
from .actuator_kinds import Rotor
from .bounded_least_squares import bounded_least_squares

__all__ = ["Allocated", "Allocation", "Rotor"]


@dataclass(frozen=True, slots=True)
class Allocated:
    """Inputs of actuators within their limits.

    Attributes:
        inputs: (m,).
        missing: (b,) what the wrench lacks: the wanted one less that of the inputs.
    """

    inputs: Array
    missing: Array


class Allocation:
    """The map ``w = B u`` from actuator inputs to the base wrench; ``y = B^T v`` is its dual.

    The power into the robot is ``w . v = u . y``. Inputs are thrusts of rotors and thrusters, and
    torques of wheels.

    Attributes:
        matrix: B (6,m), linear first; for a planar base the rows (x, y, rotation about z), (3,m).
        lower, upper: (m,) limits of the inputs, N or N m.
    """

    def __init__(self, rotors: Sequence[Rotor], base: str = "floating") -> None:
        """Build the map from the rotors and thrusters of a robot.

        Args:
            rotors: rotors and thrusters, in the order of the inputs.
            base: floating or planar.

        Raises:
            ModelError: there is no actuator, the base is fixed, or an actuator has a wrong shape,
                an entry that is not finite, an axis of length zero, or limits in the wrong order.
        """
        if not rotors:
            raise ModelError("an allocation needs at least one rotor or thruster")
        if base not in ("floating", "planar"):
            raise ModelError(f"actuators act on a floating or planar base; given: {base!r}")
        columns = []
        for i, rotor in enumerate(rotors):
            columns.append(rotor_column(rotor, i))
        matrix = np.stack(columns, axis=1)
        self.matrix = frozen(matrix if base == "floating" else matrix[[0, 1, 5]])
        self.lower = frozen(np.array([rotor.lower for rotor in rotors], dtype=np.float64))
        self.upper = frozen(np.array([rotor.upper for rotor in rotors], dtype=np.float64))

    @classmethod
    def of_matrix(cls, matrix: Array, lower: Array, upper: Array) -> "Allocation":
        """Return the allocation of a matrix (b,m) with limits (m,).

        Args:
            matrix: B (b,m), from inputs to the wrench, linear first.
            lower: (m,) least inputs, N or N m.
            upper: (m,) largest inputs.

        Raises:
            ModelError: the sizes do not agree, or limits are in the wrong order.
        """
        allocation = cls.__new__(cls)
        allocation.matrix = frozen(np.array(matrix, dtype=np.float64))
        allocation.lower = frozen(np.array(lower, dtype=np.float64))
        allocation.upper = frozen(np.array(upper, dtype=np.float64))
        shape, least, most = allocation.matrix.shape, allocation.lower, allocation.upper
        if shape not in ((3, least.size), (6, least.size)) or least.shape != most.shape:
            raise ModelError(
                "a matrix of an allocation is (3,m) or (6,m), with m limits; given: the shapes "
                f"{shape}, {least.shape} and {most.shape}"
            )
        if not (least <= most).all():
            raise ModelError(
                f"the least inputs must not exceed the largest ones; given: {least.tolist()} and "
                f"{most.tolist()}"
            )
        return allocation

    @property
    def is_fully_actuated(self) -> bool:
        """Whether every wrench can be produced, apart from limits."""
        return int(np.linalg.matrix_rank(self.matrix)) == len(self.matrix)

    def wrench(self, thrusts: Array) -> Array:
        """Return the base wrench (b,) of thrusts (m,); limits are not applied.

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        return self.matrix @ vector(thrusts, self.matrix.shape[1], "thrusts")

    def thrusts(self, wrench: Array) -> Array:
        """Return the smallest thrusts (m,) whose wrench is nearest to a given one, unlimited.

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        return np.linalg.pinv(self.matrix) @ vector(wrench, len(self.matrix), "wrench_base")

    def outputs(self, v_base: Array) -> Array:
        """Return the velocities conjugate to the thrusts, ``B^T v``, (m,).

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        return self.matrix.T @ vector(v_base, len(self.matrix), "v_base")

    def within(self, wrench: Array, weights: Array | None = None) -> Allocated:
        """Return the inputs within their limits whose wrench is nearest to a given one.

        The weighted error ``|W (B u - w)|`` is least: components of small weight are given up
        first. Where several inputs do that, as for a wrench that can be made, they are the smallest
        as long as these are within the limits.

        Args:
            wrench: (b,) in the base frame, linear first, N and N m.
            weights: (b,) of its components, above zero; :func:`default_weights` when None.

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        wanted = vector(wrench, len(self.matrix), "wrench_base")
        w = default_weights(self.matrix) if weights is None else weights
        return nearest_inputs(self.matrix, wanted, self.lower, self.upper, w)


def nearest_inputs(
    matrix: Array, wanted: Array, lower: Array, upper: Array, weights: Array
) -> Allocated:
    """Return the inputs within bounds whose wrench is nearest; see :meth:`Allocation.within`."""
    weighted = weights[:, None] * matrix
    free = lower < upper
    inputs: Array = np.where(free, 0.0, lower)
    rest = weights * (wanted - matrix @ inputs)
    inputs[free] = np.linalg.pinv(weighted[:, free]) @ rest
    if not ((inputs >= lower) & (inputs <= upper)).all():
        inputs = bounded_least_squares(weighted, weights * wanted, lower, upper)
    missing: Array = wanted - matrix @ inputs
    return Allocated(inputs, missing)


def default_weights(matrix: Array) -> Array:
    """Return the weights (b,) by which forces are given up before moments.

    A force has the weight 1, a moment ten over the actuators' mean lever arm, so that a vehicle out
    of thrust drifts before it turns over.

    Args:
        matrix: (b,m) from inputs to wrenches.
    """
    moments = len(matrix) // 2 if len(matrix) == 6 else 1
    forces = len(matrix) - moments
    pull, turn = np.linalg.norm(matrix[:forces]), np.linalg.norm(matrix[forces:])
    arm = turn / pull if pull > 0.0 and turn > 0.0 else 1.0
    return np.concatenate([np.ones(forces), np.full(moments, 10.0 / arm)])
