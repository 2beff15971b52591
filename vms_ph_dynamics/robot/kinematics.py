# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Poses and Jacobians of the frames of a robot at one state, and the tree of its links."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ..arrays import Array, cached_property, frozen
from .kinematic_tree import KinematicTree


class Kinematics:
    """An immutable snapshot of a kinematic tree at a state: poses and Jacobians of its frames.

    Lengths are in m.

    Attributes:
        tree: the kinematic tree.
        q: (nq,) configuration.
        v: (nv,) velocity.
        q_full: Pinocchio's configuration, (nq_full,).
        v_full: Pinocchio's velocity, (nv_full,).
    """

    def __init__(self, tree: KinematicTree, q: Array, v: Array) -> None:
        """Store the arrays as they are; the caller must not change them.

        Args:
            tree: the kinematic tree.
            q: (nq,) configuration.
            v: (nv,) velocity.
        """
        self.tree = tree
        self.q = q
        self.v = v
        if tree.projection is None:
            self.q_full, self.v_full = q, v
        else:
            self.q_full, self.v_full = tree.full_configuration(q), tree.full_velocity(v)

    @cached_property
    def q_origin(self) -> Array:
        """Pinocchio's configuration with the base moved to the origin, (nq_full,)."""
        return self.tree.at_origin(self.q_full)

    def placement(self, frame: str) -> Array:
        """Return the pose of a frame in the inertial frame, (4,4).

        Raises:
            ModelError: there is no such frame.
        """
        return self.frame_placement(self.tree.frame_id(frame))

    def frame_placement(self, frame_id: int) -> Array:
        """Return the pose of a frame by its index in the inertial frame, (4,4)."""
        return frozen(self.tree.algorithms.placement(self, frame_id))

    def jacobian(self, frame: str) -> Array:
        """Return the Jacobian of any frame, expressed in that frame, linear first, (6,nv).

        Raises:
            ModelError: there is no such frame.
        """
        return frozen(self.frame_jacobian(self.tree.frame_id(frame)))

    def frame_jacobian(self, frame_id: int, axes: pin.ReferenceFrame = pin.LOCAL) -> Array:
        """Return the Jacobian of a frame by its index, (6,nv), in the given axes."""
        return self.tree.columns(self.tree.algorithms.frame_jacobian(self, frame_id, axes))

    def frame_jacobian_rate(self, frame_id: int, axes: pin.ReferenceFrame = pin.LOCAL) -> Array:
        """Return the derivative of :meth:`frame_jacobian` along the velocity, (6,nv)."""
        return self.tree.columns(self.tree.algorithms.frame_jacobian_rate(self, frame_id, axes))


@dataclass(frozen=True)
class Edge:
    """A link and its parent.

    Attributes:
        parent: name of the parent.
        child: name of the link.
        moves: whether the joint between them moves.
    """

    parent: str
    child: str
    moves: bool


class LinkTree:
    """The tree of links, and their poses relative to their parents.

    Attributes:
        root: name of the root link: that of the base where the base moves.
        edges: every other link with its parent, parents first.

    Args:
        tree: of the robot.
    """

    def __init__(self, tree: KinematicTree) -> None:
        self._tree = tree
        frames = tree.pinocchio.frames
        self._pairs: list[tuple[int, int]] = []
        edges, roots = [], []
        for i, frame in enumerate(frames):
            if frame.type != pin.FrameType.BODY:
                continue
            if frame.parentJoint == 0 and tree.base != "fixed":
                continue  # what carries the joint of a moving base belongs to the inertial frame
            moves, up = False, frame.parentFrame
            while up != 0 and frames[up].type != pin.FrameType.BODY:
                moves |= frames[up].type == pin.FrameType.JOINT
                up = frames[up].parentFrame
            if up == 0 or (frames[up].parentJoint == 0 and tree.base != "fixed"):
                roots.append(frame.name)
                continue
            edges.append(Edge(frames[up].name, frame.name, moves))
            self._pairs.append((up, i))
        self.root: str = roots[0]
        self.edges = tuple(edges)

    def relative_poses(self, q: Array) -> Array:
        """Return the pose of every edge's child in its parent, (len(edges),7): x y z, qx qy qz qw.

        Args:
            q: (nq,) configuration.
        """
        tree = self._tree
        data = tree.data()
        pin.framesForwardKinematics(tree.pinocchio, data, tree.full_configuration(q))
        placements = data.oMf
        return np.array(
            [pin.SE3ToXYZQUAT(placements[up].actInv(placements[i])) for up, i in self._pairs]
        )
