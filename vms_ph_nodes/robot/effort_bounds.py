# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bounds of the external efforts that a simulated robot can be subjected to."""

from dataclasses import dataclass

import numpy as np
from rclpy.node import Node

from vms_ph_dynamics import StateError, VMSModel
from vms_ph_dynamics.arrays import Array

from ..node.parameters import declare

# Acceleration of the whole robot by the largest force, m/s^2: that of a hard crash, twenty times
# the weight. What is beyond it is a mistake in a unit or in a program.
_CRASH = 20 * 9.81

# Smallest lever arm of the largest moment, m.
_SMALLEST_ARM = 0.1


@dataclass(frozen=True)
class EffortBounds:
    """Largest external efforts; a larger one is refused.

    Attributes:
        force: of a wrench, and on a prismatic joint without an effort limit, N.
        moment: of a wrench, and on a revolute joint without an effort limit, N m.
    """

    force: float
    moment: float

    @classmethod
    def of(cls, model: VMSModel) -> "EffortBounds":
        """Return the bounds of a robot: twenty times its weight, and that at its reach.

        The reach is the length of the chain of joint offsets, with prismatic joints extended.
        """
        force = _CRASH * model.total_mass
        return cls(force, force * max(_reach(model), _SMALLEST_ARM))

    @classmethod
    def declared(cls, node: Node, model: VMSModel) -> "EffortBounds":
        """Return the bounds that the parameters of a node set; where they are 0, the robot's."""
        own = cls.of(model)
        force: float = declare(node, "largest_force")
        moment: float = declare(node, "largest_moment")
        return cls(force or own.force, moment or own.moment)

    def check_wrench(self, wrench: Array) -> None:
        """Check a wrench (6,), linear first.

        Raises:
            StateError: its force or its moment is beyond the bound.
        """
        for what, part, bound, unit in (
            ("force", wrench[:3], self.force, "N"),
            ("moment", wrench[3:], self.moment, "N m"),
        ):
            # The largest component does not overflow where the length does.
            size = float(np.abs(part).max())
            size = size if size > bound else float(np.linalg.norm(part))
            if size > bound:
                raise StateError(
                    f"a wrench has a {what} of {size:.4g} {unit}; at most {bound:.4g} {unit} can "
                    f"act on this robot (parameter largest_{what})"
                )

    def of_joints(self, model: VMSModel) -> Array:
        """Return the largest torque or force of every joint, (n,), N m or N."""
        own = np.where(model.joints.prismatic, self.force, self.moment)
        return np.minimum(model.joints.effort, own)


def _reach(model: VMSModel) -> float:
    """Return an upper bound of the distance from the first joint to the end effector, m."""
    tree, joints = model.tree.pinocchio, model.joints
    tool = tree.frames[model.frame_id(model.end_effector)]
    # The first of these is the universe, the second the base or the first joint.
    chain = list(tree.supports[tool.parentJoint])[2:]
    links = [tree.jointPlacements[i].translation for i in chain] + [tool.placement.translation]
    ends = np.maximum(np.abs(joints.lower), np.abs(joints.upper))
    slides = np.array(joints.prismatic, dtype=bool) & np.isfinite(ends)
    return float(sum(map(np.linalg.norm, links)) + ends[slides].sum())
