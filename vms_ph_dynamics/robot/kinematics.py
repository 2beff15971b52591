"""Poses and Jacobians of the frames of a robot at one state."""

import pinocchio as pin

from ..arrays import Array, frozen
from .kinematic_tree import KinematicTree


class Kinematics:
    """An immutable snapshot of a kinematic tree at a state: poses and Jacobians of its frames.

    Attributes:
        tree: the kinematic tree.
        q: (nq,) configuration.
        v: (nv,) velocity.
        q_origin: Pinocchio's configuration with the base moved to the origin, (nq_full,).
        v_full: Pinocchio's velocity, (nv_full,).
    """

    def __init__(self, tree: KinematicTree, q: Array, v: Array) -> None:
        """Store the arrays as they are; the caller must not change them."""
        self.tree = tree
        self.q = q
        self.v = v
        if tree.projection is None:
            self.q_origin, self.v_full = tree.at_origin(q), v
        else:
            self.q_origin = tree.at_origin(tree.full_configuration(q))
            self.v_full = tree.full_velocity(v)

    def placement(self, frame: str) -> Array:
        """Return the pose of a frame in the inertial frame, (4,4)."""
        tree = self.tree
        data = tree.data()
        pin.forwardKinematics(tree.pinocchio, data, tree.full_configuration(self.q))
        pose = pin.updateFramePlacement(tree.pinocchio, data, tree.frame_id(frame))
        return frozen(pose.homogeneous)

    def jacobian(self, frame: str) -> Array:
        """Return the Jacobian of any frame, expressed in that frame, linear first, (6,nv)."""
        return frozen(self.frame_jacobian(self.tree.frame_id(frame)))

    def frame_jacobian(self, frame_id: int, axes: pin.ReferenceFrame = pin.LOCAL) -> Array:
        """Return the Jacobian of a frame by its index, (6,nv), in the given axes."""
        tree = self.tree
        full = pin.computeFrameJacobian(tree.pinocchio, tree.data(), self.q_origin, frame_id, axes)
        return tree.columns(full)

    def frame_jacobian_rate(self, frame_id: int, axes: pin.ReferenceFrame = pin.LOCAL) -> Array:
        """Return the derivative of :meth:`frame_jacobian` along the velocity, (6,nv)."""
        tree = self.tree
        data = tree.data()
        pin.computeJointJacobiansTimeVariation(tree.pinocchio, data, self.q_origin, self.v_full)
        pin.updateFramePlacement(tree.pinocchio, data, frame_id)
        return tree.columns(pin.getFrameJacobianTimeVariation(tree.pinocchio, data, frame_id, axes))
