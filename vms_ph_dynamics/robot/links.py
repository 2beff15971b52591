# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The links of a robot and their poses, for transforms and visualisation."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ..arrays import Array
from .kinematic_tree import KinematicTree


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
