# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Rotors and thrusters: from actuator inputs to the wrench on the base, and back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, frozen, vector
from ..errors import ModelError, StateError


@dataclass(frozen=True)
class Rotor:
    """A rotor or thruster fixed to the base.

    Attributes:
        position: (3,) in the base frame, m.
        axis: (3,) direction of its thrust in the base frame; scaled to length one.
        drag_ratio: reaction torque about the axis over thrust, m; its sign is that of the torque on
            the base (positive for a rotor that spins against the axis); 0 for a thruster.
        lower, upper: limits of the thrust, N.
    """

    position: Array
    axis: Array
    drag_ratio: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf


class Allocation:
    """The map ``w = B u`` from actuator thrusts to the base wrench; ``y = B^T v`` is its dual.

    The power into the robot is ``w . v = u . y``.

    Attributes:
        matrix: B (6,m), linear first; for a planar base the rows (x, y, rotation about z), (3,m).
        lower, upper: (m,) limits of the thrusts, N.
    """

    def __init__(self, rotors: Sequence[Rotor], base: str = "floating") -> None:
        """Build the map from the actuators of a robot.

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
            columns.append(_column(rotor, i))
        matrix = np.stack(columns, axis=1)
        self.matrix = frozen(matrix if base == "floating" else matrix[[0, 1, 5]])
        self.lower = frozen(np.array([rotor.lower for rotor in rotors], dtype=np.float64))
        self.upper = frozen(np.array([rotor.upper for rotor in rotors], dtype=np.float64))

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


def _column(rotor: Rotor, i: int) -> Array:
    """Return the wrench of a thrust of 1 N at the base's origin, (6,)."""
    try:
        axis = vector(rotor.axis, 3, f"axis of rotor {i}")
        position = vector(rotor.position, 3, f"position of rotor {i}")
    except StateError as error:
        raise ModelError(str(error)) from None
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise ModelError(f"the axis of rotor {i} has length zero")
    if not np.isfinite(rotor.drag_ratio):
        raise ModelError(f"drag_ratio of rotor {i} must be finite; given: {rotor.drag_ratio}")
    if not rotor.lower <= rotor.upper:
        raise ModelError(
            f"the limits of rotor {i} must be lower <= upper; given: {rotor.lower}, {rotor.upper}"
        )
    axis = axis / length
    return np.concatenate([axis, np.cross(position, axis) + rotor.drag_ratio * axis])
