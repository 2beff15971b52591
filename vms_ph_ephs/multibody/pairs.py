# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Lower kinematic pairs: the subgroups of rigid motions that joints allow [C 5.1].

All are about or along the z axis of the joint frames C1 and C2, which offsets orient. Angles are
not wrapped, so that springs may be wound by several turns.
"""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from math import pi
from typing import Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen

from ..components.component import NUMERIC
from ..errors import StructureError
from ..quantities import SE2_SPACE, SE3_SPACE, SO3_SPACE, Euclidean, Space

_UNIT_TWISTS = np.eye(6)


class LowerPair(Space):
    """A subgroup of SE(3) with the maps I and i into it [C 5.1].

    I maps coordinates q to the pose of C2 in C1. i maps the rates u_r of the coordinates, m/s and
    rad/s, to the twist ``i u_r`` of C2 relative to C1, in frame C2.

    Attributes:
        subspace: i, (6,dimension), linear components first.
        native_name: name of the pair in the C++ core; empty for user-defined pairs.
        turn, advance: of axial pairs, angle and displacement per coordinate, rad and m.

    Args:
        name: of the pair.
        coordinates: the space of the coordinates q, m and rad.
        subspace: i, (6,dimension), constant.
    """

    native_name = ""
    turn: tuple[float, ...] = (1.0,)
    advance: tuple[float, ...] = (1.0,)

    def __init__(self, name: str, coordinates: Space, subspace: Array) -> None:
        self.name = name
        self.coordinates = coordinates
        self.dimension, self.shape = coordinates.dimension, coordinates.shape
        self.subspace = frozen(np.array(subspace, dtype=np.float64))
        self._subspace_pinv = frozen(np.linalg.pinv(self.subspace))

    @property
    def is_vector_space(self) -> bool:
        """Whether its coordinates form a vector space."""
        return self.coordinates.is_vector_space

    @abstractmethod
    def inclusion(self, q: Any, ops: Any = NUMERIC) -> Any:
        """Return I(q), the pose of C2 in C1, (4,4).

        Args:
            q: coordinates, as numbers or as expressions.
            ops: the operations, ``NumericOps`` or an ``Algebra`` of ``vms_ph_ephs.symbolic``.
        """

    def adjoint_of_inverse(self, q: Any, ops: Any = NUMERIC) -> Any:
        """Return ``Ad_{I(q)^-1}``, (6,6)."""
        return adjoint_of_inverse(self.inclusion(q, ops), ops)

    def nearest(self, pose: Array, guess: Array) -> Array:
        """Return the element whose pose is nearest to one given.

        Args:
            pose: (4,4) of C2 in C1.
            guess: initial guess, which also determines the turn of an angle.
        """
        q = guess
        for _ in range(50):
            error = SE3_SPACE.difference(self.inclusion(q), pose)
            u = self._subspace_pinv @ error
            q = self.step(q, u)
            if np.abs(u).max() < 1e-14:
                break
        return q

    def rates(self, q: Array, first: Array, second: Array) -> Array:
        """Return u_r from the twists (6,) of C1 and C2, each in its own frame, m/s and rad/s."""
        return self._subspace_pinv @ (second - self.adjoint_of_inverse(q) @ first)

    def origin(self) -> Array:
        """Return the element at which C1 and C2 coincide."""
        return self.coordinates.origin()

    def step(self, x: Array, u: Array) -> Array:
        """Return ``x cay(u)``, or the sum if coordinates form a vector space."""
        return self.coordinates.step(x, u)

    def difference(self, x: Array, y: Array) -> Array:
        """Return the step from x to y."""
        return self.coordinates.difference(x, y)

    def step_rate(self, theta: Array, u: Array) -> Array:
        """Return the rate of a step theta(t), (dimension,), whose element moves with velocity u."""
        return self.coordinates.step_rate(theta, u)

    def project(self, x: Array) -> Array:
        """Return x projected on the space."""
        return self.coordinates.project(x)

    def defect(self, x: Array) -> float:
        """Return the distance of x from the space."""
        return self.coordinates.defect(x)


class AxialPair(LowerPair):
    """A pair of rotation about z and translation along z, both linear in q.

    Args:
        name: of the pair.
        turn: (dimension,) angle per coordinate.
        advance: (dimension,) displacement along z per coordinate.
    """

    def __init__(self, name: str, turn: Sequence[float], advance: Sequence[float]) -> None:
        self.native_name = "about_z" if len(turn) == 1 else "cylindrical"
        self.turn, self.advance = tuple(turn), tuple(advance)
        subspace = np.outer(_UNIT_TWISTS[2], advance) + np.outer(_UNIT_TWISTS[5], turn)
        super().__init__(name, Euclidean(len(self.turn)), subspace)

    def inclusion(self, q: Any, ops: Any = NUMERIC) -> Any:
        """Return the rotation and translation by q."""
        angle = sum(k * q[i] for i, k in enumerate(self.turn) if k)
        z = sum(k * q[i] for i, k in enumerate(self.advance) if k)
        c, s = ops.function("cos", angle), ops.function("sin", angle)
        return ops.matrix([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, z], [0, 0, 0, 1]])


class Screw(AxialPair):
    """A screw joint: rotation about z with an advance of ``pitch`` metres per turn.

    Args:
        pitch: advance per turn, m.
        name: of the pair; if empty, a name that contains the pitch.

    Raises:
        StructureError: the pitch is not finite.
    """

    def __init__(self, pitch: float, name: str = "") -> None:
        if not np.isfinite(pitch):
            raise StructureError(f"the pitch of a screw must be finite; given: {pitch}")
        self.advance_per_radian = pitch / (2.0 * pi)
        super().__init__(
            name or f"screw pair of pitch {float(pitch)!r} m", [1], [self.advance_per_radian]
        )

    @property
    def identity(self) -> Hashable:
        """Name, shape and dimension, and the advance per radian to all digits."""
        return super().identity, self.advance_per_radian


class Revolute(Screw):
    """A revolute joint about z; q is the angle, rad."""

    def __init__(self) -> None:
        super().__init__(0.0, "revolute pair")


class Prismatic(AxialPair):
    """A prismatic joint along z; q is the displacement, m."""

    def __init__(self) -> None:
        super().__init__("prismatic pair", [0], [1])


class Cylindrical(AxialPair):
    """A cylindrical joint along and about z; q is (displacement, angle)."""

    def __init__(self) -> None:
        super().__init__("cylindrical pair", [0, 1], [1, 0])


class Planar(LowerPair):
    """A planar joint in the plane of x and y; q is an element of SE(2), (3,3)."""

    native_name = "planar"

    def __init__(self) -> None:
        super().__init__("planar pair", SE2_SPACE, _UNIT_TWISTS[:, [0, 1, 5]])

    def inclusion(self, q: Any, ops: Any = NUMERIC) -> Any:
        """Return the pose (4,4) of an element q of SE(2)."""
        rows = [[q[i, 0], q[i, 1], 0, q[i, 2]] for i in range(2)]
        return ops.matrix([*rows, [0, 0, 1, 0], [0, 0, 0, 1]])


class Spherical(LowerPair):
    """A spherical joint; q is a rotation matrix, (3,3)."""

    native_name = "spherical"

    def __init__(self) -> None:
        super().__init__("spherical pair", SO3_SPACE, _UNIT_TWISTS[:, 3:])

    def inclusion(self, q: Any, ops: Any = NUMERIC) -> Any:
        """Return the pose (4,4) of a rotation matrix q."""
        return ops.matrix([*([*(q[i, j] for j in range(3)), 0] for i in range(3)), [0, 0, 0, 1]])


def adjoint_of_inverse(pose: Any, ops: Any = NUMERIC) -> Any:
    """Return ``Ad_{g^-1} = [[R^T, -R^T p^], [0, R^T]]`` of a pose, (6,6)."""
    x, y, z = (pose[i, 3] for i in range(3))
    rt = pose[:3, :3].T
    corner = rt @ ops.matrix([[0, z, -y], [-z, 0, x], [y, -x, 0]])
    if ops is NUMERIC:
        adjoint = np.zeros((6, 6))
        adjoint[:3, :3] = adjoint[3:, 3:] = rt
        adjoint[:3, 3:] = corner
        return adjoint
    rows = [[*(rt[i, j] for j in range(3)), *(corner[i, j] for j in range(3))] for i in range(3)]
    return ops.matrix([*rows, *([0, 0, 0, *(rt[i, j] for j in range(3))] for i in range(3))])
