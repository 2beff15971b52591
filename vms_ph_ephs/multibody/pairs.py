# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Lower kinematic pairs: the subgroups of rigid motions that joints allow [C 5.1].

All are about or along the z axis of the joint frames C1 and C2, which offsets orient. Angles are
not wrapped, so that springs may be wound by several turns.
"""

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from math import cos, pi, sin
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from ..errors import StructureError
from ..quantities import SE2_SPACE, SE3_SPACE, SO3_SPACE, Euclidean, Space

_UNIT = np.eye(6)


class LowerPair(Space):
    """A subgroup of SE(3) with its inclusions I and i.

    Attributes:
        subspace: i, (6,dimension): the twist ``i u_r`` of C2 relative to C1, in frame C2.

    Args:
        name: of the pair.
        own: the space of its coordinates, m and rad.
        subspace: i, constant.
    """

    def __init__(self, name: str, coordinates: Space, subspace: Array) -> None:
        self.name = name
        self.coordinates = coordinates
        self.dimension, self.shape = coordinates.dimension, coordinates.shape
        self.subspace = frozen(np.array(subspace, dtype=np.float64))
        self._solve = frozen(np.linalg.pinv(self.subspace))

    @property
    def is_vector_space(self) -> bool:
        """Whether its coordinates form a vector space."""
        return self.coordinates.is_vector_space

    def described(self) -> Mapping[str, Any] | None:
        """Return the kind of pair, its turn and its advance per coordinate; None for others."""
        return None

    @abstractmethod
    def inclusion(self, q: Array) -> Array:
        """Return I(q), the pose of C2 in C1, (4,4)."""

    def adjoint_of_inverse(self, q: Array) -> Array:
        """Return ``Ad_{I(q)^-1}``, (6,6)."""
        return adjoint_of_inverse(self.inclusion(q))

    def nearest(self, pose: Array, near: Array) -> Array:
        """Return the element whose pose is nearest to one given.

        Args:
            pose: (4,4) of C2 in C1.
            near: initial guess, which also determines the turn of an angle.
        """
        q = near
        for _ in range(50):
            gap = SE3_SPACE.difference(self.inclusion(q), pose)
            u = self._solve @ gap
            q = self.step(q, u)
            if np.abs(u).max() < 1e-14:
                break
        return q

    def rates(self, q: Array, first: Array, second: Array) -> Array:
        """Return u_r from the twists (6,) of C1 and C2, each in its own frame, m/s and rad/s."""
        return self._solve @ (second - self.adjoint_of_inverse(q) @ first)

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
        """Return the rate of a step."""
        return self.coordinates.step_rate(theta, u)

    def repaired(self, x: Array) -> Array:
        """Return x projected on the space."""
        return self.coordinates.repaired(x)

    def defect(self, x: Array) -> float:
        """Return the distance of x from the space."""
        return self.coordinates.defect(x)


class Screw(LowerPair):
    """A screw joint: rotation about z with an advance of ``pitch`` metres per turn.

    Args:
        pitch: advance per turn, m.
        name: of the pair; one with the pitch if empty.

    Raises:
        StructureError: the pitch is not finite.
    """

    def __init__(self, pitch: float, name: str = "") -> None:
        if not np.isfinite(pitch):
            raise StructureError(f"the pitch of a screw must be finite; given: {pitch}")
        self.lead = pitch / (2.0 * pi)
        axis = self.lead * _UNIT[:, [2]] + _UNIT[:, [5]]
        super().__init__(name or f"screw pair of pitch {float(pitch)!r} m", Euclidean(1), axis)

    @property
    def identity(self) -> Hashable:
        """Its own, with the advance."""
        return super().identity, self.lead

    def described(self) -> Mapping[str, Any]:
        """Return its kind."""
        return {"pair": "about_z", "turn": 1.0, "advance": self.lead}

    def inclusion(self, q: Array) -> Array:
        """Return the rotation by q with its advance."""
        angle = float(q[0])
        return _about_z(angle, self.lead * angle)

    def adjoint_of_inverse(self, q: Array) -> Array:
        """Return ``Ad_{I(q)^-1}``, (6,6)."""
        angle = float(q[0])
        return _adjoint_about_z(angle, self.lead * angle)


class Revolute(Screw):
    """A revolute joint about z; q is the angle, rad."""

    def __init__(self) -> None:
        super().__init__(0.0, "revolute pair")


class Prismatic(LowerPair):
    """A prismatic joint along z; q is the displacement, m."""

    def __init__(self) -> None:
        super().__init__("prismatic pair", Euclidean(1), _UNIT[:, [2]])

    def described(self) -> Mapping[str, Any]:
        """Return its kind."""
        return {"pair": "about_z", "turn": 0.0, "advance": 1.0}

    def inclusion(self, q: Array) -> Array:
        """Return the translation by q."""
        return _about_z(0.0, float(q[0]))

    def adjoint_of_inverse(self, q: Array) -> Array:
        """Return ``Ad_{I(q)^-1}``, (6,6)."""
        return _adjoint_about_z(0.0, float(q[0]))


class Cylindrical(LowerPair):
    """A cylindrical joint along and about z; q is (displacement, angle)."""

    def __init__(self) -> None:
        super().__init__("cylindrical pair", Euclidean(2), _UNIT[:, [2, 5]])

    def described(self) -> Mapping[str, Any]:
        """Return its kind."""
        return {"pair": "cylindrical", "turn": 1.0, "advance": 1.0}

    def inclusion(self, q: Array) -> Array:
        """Return the rotation and translation by q."""
        return _about_z(float(q[1]), float(q[0]))

    def adjoint_of_inverse(self, q: Array) -> Array:
        """Return ``Ad_{I(q)^-1}``, (6,6)."""
        return _adjoint_about_z(float(q[1]), float(q[0]))


class Planar(LowerPair):
    """A planar joint in the plane of x and y; q is an element of SE(2), (3,3)."""

    def __init__(self) -> None:
        super().__init__("planar pair", SE2_SPACE, _UNIT[:, [0, 1, 5]])

    def described(self) -> Mapping[str, Any]:
        """Return its kind."""
        return {"pair": "planar", "turn": 1.0, "advance": 1.0}

    def inclusion(self, q: Array) -> Array:
        """Return q as a motion in space."""
        pose = np.eye(4)
        pose[:2, :2], pose[:2, 3] = q[:2, :2], q[:2, 2]
        return pose


class Spherical(LowerPair):
    """A spherical joint; q is a rotation matrix, (3,3)."""

    def __init__(self) -> None:
        super().__init__("spherical pair", SO3_SPACE, _UNIT[:, 3:])

    def described(self) -> Mapping[str, Any]:
        """Return its kind."""
        return {"pair": "spherical", "turn": 1.0, "advance": 1.0}

    def inclusion(self, q: Array) -> Array:
        """Return q as a motion in space."""
        pose = np.eye(4)
        pose[:3, :3] = q
        return pose


def adjoint_of_inverse(pose: Array) -> Array:
    """Return ``Ad_{g^-1} = [[R^T, -R^T p^], [0, R^T]]`` of a pose, (6,6)."""
    x, y, z = pose[:3, 3].tolist()
    rt = pose[:3, :3].T
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = rt
    out[:3, 3:] = rt @ np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    return out


def _about_z(angle: float, distance: float) -> Array:
    c, s = cos(angle), sin(angle)
    return np.array(
        [[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, distance], [0.0, 0.0, 0.0, 1.0]]
    )


def _adjoint_about_z(angle: float, d: float) -> Array:
    c, s = cos(angle), sin(angle)
    return np.array(
        [
            [c, s, 0.0, -d * s, d * c, 0.0],
            [-s, c, 0.0, -d * c, -d * s, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, c, s, 0.0],
            [0.0, 0.0, 0.0, -s, c, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        ]
    )
