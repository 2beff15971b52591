# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of frames: pose, position, orientation, distance; and of the centre of mass."""

from collections.abc import Callable, Sequence
from math import inf

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen, vector
from ..evaluation import Evaluation
from ..groups import adjoints
from ..model import VMSModel
from .task import Task


class FrameTask(Task):
    """Rows of the geometric Jacobian of a frame: velocity of its origin, angular velocity.

    Both are relative to the inertial frame and in its axes, linear first.

    Attributes:
        frame: its name.
        rows: rows of the Jacobian that count.
        frame_id: its index among the frames of Pinocchio's model.
    """

    rows: slice

    def __init__(self, model: VMSModel, frame: str | None = None) -> None:
        """Create the task of ``frame``, the model's end effector when None.

        Args:
            model: the robot.
            frame: name of a frame.

        Raises:
            ModelError: there is no such frame.
        """
        super().__init__(model)
        self.frame = model.end_effector if frame is None else frame
        self.frame_id = model.frame_id(self.frame)
        self.frame_rows = ((self.frame_id, self.rows.start or 0, self.dimension),)
        joints = np.arange(model.tree.pinocchio.nv)
        # by_k[j,k]: joint j is moved by joint k; the joints of a base move all others.
        self._is_moved_by = (joints[None, :] <= joints[:, None]) | (joints[None, :] < model.b)

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (m,nv)."""
        return d.jacobian(self.frame_id, "world")[self.rows]

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (m,nv)."""
        return d.jacobian_rate(self.frame_id, "world")[self.rows]

    def jacobian_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of ``J`` along each unit velocity, (m,nv,nv).

        Column j of the Jacobian holds the velocity ``l_j`` that joint j gives the frame's origin
        and its axis ``w_j``. If joint k moves joint j (as those of the base move every joint), it
        rotates both with the axis ``w_k``; otherwise it moves the frame's origin, which changes
        ``l_j`` by ``w_j x l_k``. (Pinocchio's own kinematic Hessian reaches Python with its indices
        scrambled.)
        """
        return self._projected(self._columns(d)[1])

    def jacobian_rate_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of :meth:`jacobian_rate` at fixed ``d.v``, (m,nv,nv)."""
        columns, gradient = self._columns(d)
        v, v_moving = d.v_full, self._is_moved_by * d.v_full
        # Of the bodies, about the origin of the frame: twists and their derivatives.
        twists, twist_gradient = v_moving @ columns, np.tensordot(v_moving, gradient, axes=1)
        twists[:, :3] -= v @ columns[:, :3]
        twist_gradient[:, :3] -= np.tensordot(v, gradient[:, :3], axes=1)
        return self._projected(adjoints(twists) @ gradient - adjoints(columns) @ twist_gradient)

    def _columns(self, d: Evaluation) -> tuple[Array, Array]:
        """The columns of the Jacobian (nv,6) and their derivatives (nv,6,nv), of all joints."""
        linear_columns = d.tree.algorithms.jacobian(d, self.frame_id, True).reshape(6, -1).T
        moving_columns = self._is_moved_by[:, None, :] * linear_columns.T
        moving_columns[:, :3] -= linear_columns[:, :3].T
        return linear_columns, -adjoints(linear_columns) @ moving_columns

    def _projected(self, gradient: Array) -> Array:
        """The rows of derivatives of columns (nv,6,nv) by velocities of independent joints."""
        rows, P = gradient[:, self.rows].swapaxes(0, 1), self.model.tree.projection
        return rows if P is None else np.einsum("ajk,jp,kq->apq", rows, P, P)


class OrientationTask(FrameTask):
    """``eta`` is the angular velocity of a frame in inertial axes, rad/s.

    It is not integrable: it is not the derivative of any three coordinates.
    """

    dimension = 3
    rows = slice(3, 6)

    def value(self, d: Evaluation) -> Array:
        """Return the rotation from the frame's axes to inertial axes, (3,3)."""
        return d.placement(self.frame)[:3, :3]


class PoseTask(FrameTask):
    """``eta = J v`` with the geometric Jacobian: (velocity of the origin, angular velocity).

    In inertial axes, m/s and rad/s, linear first. The angular part is not integrable.

    Examples:
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> d = panda.evaluate(panda.home, np.zeros(panda.nv))
        >>> PoseTask(panda, "panda_hand").jacobian(d).shape
        (6, 7)
    """

    dimension = 6
    rows = slice(0, 6)

    def value(self, d: Evaluation) -> Array:
        """Return the pose in the inertial frame, (4,4)."""
        return d.placement(self.frame)


class PositionTask(FrameTask):
    """``eta`` is the velocity of a frame's origin in the inertial frame, m/s.

    It is integrable: the derivative of :meth:`value`.

    Examples:
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> d = panda.evaluate(panda.home, np.zeros(panda.nv))
        >>> PositionTask(panda, "panda_hand").jacobian(d).shape
        (3, 7)
    """

    dimension = 3
    rows = slice(0, 3)

    def value(self, d: Evaluation) -> Array:
        """Return the position in the inertial frame, (3,), m."""
        return d.placement(self.frame_id)[:3, 3]


# Below this distance, m, the direction between the two points is rounding.
_MIN_DISTANCE = 1e-9


class DistanceTask(Task):
    """``eta`` is the rate of the distance of two points, m/s.

    With ``u`` the unit vector from the second to the first, ``J = u^T (J_1 - J_2)``. If the points
    coincide the direction is undefined and the Jacobian is zero, hence singular.

    Attributes:
        frame: name of the frame whose origin is the first point.
        to: name of the frame of the second point, or the point (3,) itself.
        point_tasks: tasks of the first point, and of the second where it is that of a frame.
    """

    dimension = 1

    def __init__(
        self, model: VMSModel, frame: str | None = None, to: str | Sequence[float] = (0, 0, 0)
    ) -> None:
        """Create the task of two points.

        Args:
            model: the robot.
            frame: its origin is the first point; the model's end effector when None.
            to: the second point: the origin of a frame, or a point (3,) in the inertial frame, m.

        Raises:
            ModelError: there is no such frame.
            StateError: ``to`` is not a point.
        """
        super().__init__(model)
        other_task = PositionTask(model, to) if isinstance(to, str) else None
        self.point_tasks = PositionTask(model, frame), other_task
        self.frame = self.point_tasks[0].frame
        self.to: str | Array = (
            to if isinstance(to, str) else frozen(vector(to, 3, "the point of a distance").copy())
        )

    def value(self, d: Evaluation) -> float:
        """Return the distance, m."""
        return float(np.linalg.norm(self._separation(d)))

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (1,nv)."""
        u, _ = self._direction(d)
        return (u @ self._difference(lambda point: point.jacobian(d)))[None, :]

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (1,nv)."""
        u, distance = self._direction(d)
        jacobian = self._difference(lambda point: point.jacobian(d))
        velocity = jacobian @ d.v
        u_rate = (velocity - u * (u @ velocity)) / distance
        rate = self._difference(lambda point: point.jacobian_rate(d))
        return (u_rate @ jacobian + u @ rate)[None, :]

    def _separation(self, d: Evaluation) -> Array:
        origin, target = self.point_tasks
        return origin.value(d) - (np.asarray(self.to) if target is None else target.value(d))

    def _direction(self, d: Evaluation) -> tuple[Array, float]:
        """Return u and the distance, m; zero and infinity where the points coincide."""
        separation = self._separation(d)
        distance = float(np.linalg.norm(separation))
        return (np.zeros(3), inf) if distance < _MIN_DISTANCE else (separation / distance, distance)

    def _difference(self, quantity: Callable[[PositionTask], Array]) -> Array:
        """Return what a function has of the first point more than of the second."""
        origin, target = self.point_tasks
        return quantity(origin) if target is None else quantity(origin) - quantity(target)


class CentreOfMassTask(Task):
    """``eta`` is the velocity of the centre of mass in the inertial frame, m/s.

    It is integrable: the derivative of :meth:`value`. In a fluid it is that of the robot without
    the added mass.
    """

    dimension = 3
    depends_on_inertia = True

    def value(self, d: Evaluation) -> Array:
        """Return the position of the centre of mass in the inertial frame, (3,), m."""
        tree = d.tree
        return pin.centerOfMass(tree.pinocchio, tree.data(), tree.full_configuration(d.q)).copy()

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (3,nv)."""
        jacobian = pin.jacobianCenterOfMass(d.tree.pinocchio, d.tree.data(), d.q_origin)
        return d.tree.projected_columns(jacobian)

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (3,nv).

        The linear rows of the centroidal momentum matrix are ``m J``.
        """
        tree = d.tree
        momentum_map_rate = pin.computeCentroidalMapTimeVariation(
            tree.pinocchio, tree.data(), d.q_origin, d.v_full
        )
        return tree.projected_columns(momentum_map_rate[:3] / tree.total_mass)
