# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joints as subgroups of rigid motions [A, section 2.2 and appendix A], an oracle beside Pinocchio.

Each joint has a configuration in its own manifold, a velocity in its own algebra, and the maps
between them: the pose ``phi``, the rate ``chi``, its dual ``chi*`` and the motion subspace ``S``
(iota). Source A writes twists angular first; here they are linear first, and the planar joint's
configuration is (x, y, angle) with velocity (vx, vy, w).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen
from vms_ph_dynamics.groups import SE3

SPACE = SE3()


class Joint(ABC):
    """A joint between a body and its parent.

    Positions of a joint are in m or rad, as the type says; poses have lengths in m.

    Attributes:
        dimension: size of its velocity.
    """

    dimension: int

    @property
    @abstractmethod
    def subspace(self) -> Array:
        """S, (6,dimension): ``V = S v`` is the twist of the body against its parent [A (11)]."""

    @abstractmethod
    def pose(self, q: Array) -> Array:
        """Return phi(q), the pose of the body in its parent, (4,4) [A (9), (93), (95)]."""

    @abstractmethod
    def rate_map(self, q: Array) -> Array:
        """Return chi_q as a matrix: ``qdot = chi_q v`` in coordinates of the joint [A (10)]."""

    def dual_rate_map(self, q: Array) -> Array:
        """Return chi_q* as a matrix, which maps gradients dV/dq to generalised forces [A (41)]."""
        return self.rate_map(q).T


def _unit_pose() -> Array:
    return frozen(np.eye(4))


@dataclass(frozen=True)
class RevoluteJoint(Joint):
    """A revolute joint: rotation about an axis through a point of the body.

    Attributes:
        axis: (3,) unit vector in the body.
        point: (3,) a point of the axis, in the body, m.
        home: (4,4) pose at angle zero.
    """

    axis: Array
    point: Array = field(default_factory=lambda: frozen(np.zeros(3)))
    home: Array = field(default_factory=_unit_pose)
    dimension = 1

    @property
    def subspace(self) -> Array:
        """``(point x axis; axis)``, (6,1)."""
        return np.concatenate([np.cross(self.point, self.axis), self.axis])[:, None]

    def pose(self, q: Array) -> Array:
        """Return ``home exp(S q)``, (4,4) [A (93)]."""
        return self.home @ SPACE.exp(self.subspace[:, 0] * q[0])

    def rate_map(self, q: Array) -> Array:
        """Return 1."""
        return np.eye(1)


@dataclass(frozen=True)
class PrismaticJoint(Joint):
    """A prismatic joint: translation along an axis.

    Attributes:
        axis: (3,) unit vector in the body.
        home: (4,4) pose at zero.
    """

    axis: Array
    home: Array = field(default_factory=_unit_pose)
    dimension = 1

    @property
    def subspace(self) -> Array:
        """``(axis; 0)``, (6,1)."""
        return np.concatenate([self.axis, np.zeros(3)])[:, None]

    def pose(self, q: Array) -> Array:
        """Return ``home exp(S q)``, (4,4)."""
        return self.home @ SPACE.exp(self.subspace[:, 0] * q[0])

    def rate_map(self, q: Array) -> Array:
        """Return 1."""
        return np.eye(1)


@dataclass(frozen=True)
class PlanarJoint(Joint):
    """A planar joint in the plane z = 0; q = (x, y, angle), v = (vx, vy, w) in the body."""

    dimension = 3

    @property
    def subspace(self) -> Array:
        """Selects x, y and the rotation about z, (6,3)."""
        return np.eye(6)[:, [0, 1, 5]]

    def pose(self, q: Array) -> Array:
        """Return the pose, (4,4) [A (95)]."""
        pose = np.eye(4)
        pose[:2, :2] = [[np.cos(q[2]), -np.sin(q[2])], [np.sin(q[2]), np.cos(q[2])]]
        pose[:2, 3] = q[:2]
        return pose

    def rate_map(self, q: Array) -> Array:
        """Return the rotation of the velocity into the parent's axes, (3,3) [A (94)]."""
        rate = np.eye(3)
        rate[:2, :2] = self.pose(q)[:2, :2]
        return rate


@dataclass(frozen=True)
class FloatingJoint(Joint):
    """A free joint; its configuration is the pose, flattened row by row, (16,)."""

    dimension = 6

    @property
    def subspace(self) -> Array:
        """The identity, (6,6)."""
        return np.eye(6)

    def pose(self, q: Array) -> Array:
        """Return the pose, (4,4)."""
        return q.reshape(4, 4)

    def rate_map(self, q: Array) -> Array:
        """Return the map from twists to ``Hdot = H hat(V)``, flattened, (16,6).

        [A (96)] prints ``Hdot = H^-1 hat(V)``; with A's own (3) it is H.
        """
        pose = self.pose(q)
        return np.stack([(pose @ SPACE.hat(e)).ravel() for e in np.eye(6)], axis=1)
