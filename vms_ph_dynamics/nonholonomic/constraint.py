# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Velocity constraints of wheels and axles, as tasks whose velocity is zero."""

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..errors import ModelError
from ..evaluation import Evaluation
from ..groups import skew
from ..model import VMSModel
from ..tasks import Task

_AXES = pin.LOCAL_WORLD_ALIGNED
_UP = np.array([0.0, 0.0, 1.0])
_UP_CROSS = skew(_UP)


class WheelConstraint(Task):
    """A wheel that rolls on the plane of the base without slip.

    The velocity of the point of contact, below the centre of the wheel, is zero along the wheel and
    across it. A wheel with rollers lets it move across their axes: there is one row, for the
    direction of the axis of the roller that touches the ground.

    The axle is the axis of the joint that moves the wheel, and stays parallel to the plane: steered
    wheels and casters turn about the normal of the plane.

    Attributes:
        wheel: the joint that turns it.
        radius: m.
        has_rollers: whether it has rollers.
    """

    def __init__(
        self, model: VMSModel, wheel: str, radius: float, roller_angle: float | None = None
    ) -> None:
        """Constrain a wheel.

        Args:
            model: a robot on a planar base.
            wheel: the joint that turns it, about an axis in its own frame; the centre of the wheel
                is the origin of the joint.
            radius: m.
            roller_angle: angle of the rollers' axes from the direction of travel about the normal
                of the plane, rad: 0 for omnidirectional wheels, whose rollers turn about tangents
                of the rim, plus or minus pi/4 for mecanum wheels. None for a wheel without rollers.

        Raises:
            ModelError: the base is not planar, there is no such joint, its axis is not parallel to
                the plane, or the radius is not positive.
        """
        super().__init__(model)
        _check_planar(model)
        if not radius > 0.0:
            raise ModelError(f"the radius of wheel '{wheel}' must be positive; given: {radius}")
        tree = model.tree.pinocchio
        if not tree.existJointName(wheel):
            joints = ", ".join(model.joint_names)
            raise ModelError(f"'{wheel}' is no joint of '{model.name}'; its joints are {joints}")
        self.wheel, self.radius = wheel, radius
        self.dimension = 2 if roller_angle is None else 1
        self._rollers = roller_angle
        self.has_rollers = roller_angle is not None
        joint = tree.getJointId(wheel)
        self._frame = tree.getFrameId(wheel, pin.FrameType.JOINT)
        unit = model.tree.full_velocity(np.eye(model.nv))[:, tree.idx_vs[joint]]
        self._turned_by = int(np.argmax(np.abs(unit)))
        axle = self._moving(Evaluation(model, *self._rest()))[3:, self._turned_by]
        self._length = float(np.linalg.norm(axle))
        if self._length < 1e-9 or abs(float(axle @ _UP)) > 1e-6 * self._length:
            raise ModelError(
                f"'{wheel}' must turn a wheel about an axis that is parallel to the plane of the "
                "base; its axis has a component along the normal, or it does not turn"
            )

    def _rest(self) -> tuple[Array, Array]:
        return self.model.neutral_configuration(), np.zeros(self.model.nv)

    def _moving(self, d: Evaluation) -> Array:
        return d.frame_jacobian(self._frame, _AXES)

    def _axle(self, jacobian: Array) -> Array:
        """Return the axis of the joint in inertial axes, (3,), which the wheel turns about."""
        return jacobian[3:, self._turned_by] / self._length

    def jacobian(self, d: Evaluation) -> Array:
        """Return the rows of the velocity of the point of contact, (m,nv)."""
        jacobian = self._moving(d)
        return self._directions(self._axle(jacobian)) @ self._contact(jacobian)

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative along ``d.v``, (m,nv)."""
        jacobian = self._moving(d)
        axle = self._axle(jacobian)
        turning = skew(jacobian[3:] @ d.v) @ axle
        rate = self._contact(d.frame_jacobian_rate(self._frame, _AXES))
        return self._directions(axle) @ rate + self._directions(turning) @ self._contact(jacobian)

    def _contact(self, jacobian: Array) -> Array:
        """Return the Jacobian of the velocity of the point of contact, (3,nv)."""
        return jacobian[:3] + self.radius * (_UP_CROSS @ jacobian[3:])

    def _directions(self, axle: Array) -> Array:
        """Return the constrained directions, (m,3); linear in the axle."""
        along = -(_UP_CROSS @ axle)
        if self._rollers is None:
            return np.stack([along, axle])
        return (np.cos(self._rollers) * along + np.sin(self._rollers) * axle)[None, :]


class SidewaysConstraint(Task):
    """A frame whose origin does not move along one of its own axes: an axle, a skate, a knife edge.

    For bases without wheels in the description: a differential drive is the constraint of a frame
    in the middle of its axle, a bicycle has one more at the steered wheel.
    """

    dimension = 1

    def __init__(self, model: VMSModel, frame: str, axis: int = 1) -> None:
        """Constrain a frame.

        Args:
            model: a robot on a planar base.
            frame: its name.
            axis: 0, 1 or 2 for x, y or z of the frame; it must be parallel to the plane.

        Raises:
            ModelError: the base is not planar, or there is no such frame.
        """
        super().__init__(model)
        _check_planar(model)
        self.frame, self.axis = frame, axis
        self._frame_id = model.frame_id(frame)

    def jacobian(self, d: Evaluation) -> Array:
        """Return the row of the velocity along the axis, (1,nv)."""
        return d.frame_jacobian(self._frame_id)[self.axis : self.axis + 1]

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative along ``d.v``, (1,nv)."""
        return d.frame_jacobian_rate(self._frame_id)[self.axis : self.axis + 1]


def _check_planar(model: VMSModel) -> None:
    if model.base != "planar":
        raise ModelError(
            f"wheels roll on the plane of a planar base; '{model.name}' has a {model.base} base: "
            "load it with base='planar'"
        )
