# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A body that an end effector takes, at rest or moving, and may set down again."""

from dataclasses import dataclass, field
from numbers import Real

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen, parameter, zeros
from ..capture import Body
from ..errors import ModelError, check_arguments
from ..evaluation import Evaluation
from ..groups import SO3, pose
from ..model import VMSModel

_SO3 = SO3()


@check_arguments({"place": "position", "centre": "com", "moments": "inertia", "capture_time": "at"})
@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body that passes a place, or rests there, at the time at which it is taken.

    All vectors are in inertial axes, those fixed in the body as they are when it is taken.

    Attributes:
        mass: kg.
        moments: (3,) of inertia about the centre of mass, about the inertial axes, which are its
            principal axes at that time, kg m^2.
        capture_time: time at which it is taken, s; zero for the start, infinite for one at rest
            that is taken on command.
        place: (3,) of its handle, relative to the place of the end effector at the start, m.
        centre: (3,) of mass relative to the handle, m.
        velocity: (3,) of the handle, m/s.
        spin: (3,) angular velocity, rad/s.
        reach: largest distance from the end effector to the handle at which it is taken, m.
        release: time at which it is set down where it then is, s; None to keep it.
        target_position: (3,) where it must be at the end, relative to where it was taken, m; None
            for anywhere.
        target_tolerance: largest distance from ``target_position``, and largest depth below its
            support, at which it counts as delivered, m.
        in_model: whether the model of the law has its mass, centre and inertia while the robot
            carries it.

    Raises:
        ModelError: a value is not accepted.
    """

    mass: float
    moments: Array
    capture_time: float = field(metadata={"key": "at"})
    place: Array = field(default_factory=lambda: zeros(3))
    centre: Array = field(default_factory=lambda: zeros(3))
    velocity: Array = field(default_factory=lambda: zeros(3))
    spin: Array = field(default_factory=lambda: zeros(3))
    reach: float = 0.01
    release: float | None = None
    target_position: Array | None = field(default=None, metadata={"key": "to"})
    target_tolerance: float = field(default=0.01, metadata={"key": "within"})
    in_model: bool = True

    def __post_init__(self) -> None:
        """Check that it is a body, and that it is set down after it is taken."""
        for name in ("moments", "place", "centre", "velocity", "spin"):
            checked_vector = parameter(getattr(self, name), 3, f"{name} of a payload")
            object.__setattr__(self, name, frozen(checked_vector.copy()))
        Body(self.mass, np.zeros(3), np.diag(self.moments)).pinocchio_inertia()
        for name, key in (("capture_time", "at"), ("reach", ""), ("target_tolerance", "within")):
            value = getattr(self, name)
            extremes = (0.0, np.inf) if name == "capture_time" else ()
            if not (isinstance(value, Real) and (value in extremes or 0.0 < float(value) < np.inf)):
                accepted_range = "zero or more, s" if extremes else "above zero, m"
                text = f"{name} ({key} in files)" if key else name
                raise ModelError(f"{text} of a payload must be {accepted_range}; given: {value}")
        if self.moves and not np.isfinite(self.capture_time):
            raise ModelError("a payload that moves needs capture_time (at in files), s")
        if self.release is not None and not self.release > self.capture_time:
            raise ModelError(
                f"release must follow capture_time (at in files), {self.capture_time:g} s; given: "
                f"{self.release:g}"
            )

    @property
    def moves(self) -> bool:
        """Whether it moves before it is taken."""
        return bool(self.velocity.any() or self.spin.any())

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy before it is taken, J."""
        v = self.velocity + np.cross(self.spin, self.centre)
        return 0.5 * float(self.mass * (v @ v) + self.spin @ (self.moments * self.spin))

    def momentum(self, handle_position: Array) -> Array:
        """Return its momentum about the inertial origin, (6,), linear first, N s and N m s.

        It is conserved until the body is taken.

        Args:
            handle_position: (3,) position of the handle when it is taken, m.
        """
        linear = self.mass * (self.velocity + np.cross(self.spin, self.centre))
        angular = self.moments * self.spin + np.cross(handle_position + self.centre, linear)
        return np.concatenate([linear, angular])

    def free_pose(self, time: float, handle_position: Array) -> Array:
        """Return the pose of its handle before it is taken, (4,4).

        Its axes are the inertial ones when it is taken.

        Its centre moves straight on, and its angular velocity is constant, as it is where the
        moments are equal or the spin is about a principal axis.

        Args:
            time: s.
            handle_position: (3,) position of the handle when it is taken, m.
        """
        if not self.moves:
            return pose(np.eye(3), handle_position)
        remaining_time = self.capture_time - time
        rotation = _SO3.exp(-remaining_time * self.spin)
        centre_velocity = self.velocity + np.cross(self.spin, self.centre)
        displacement = self.centre - rotation @ self.centre - remaining_time * centre_velocity
        return pose(rotation, handle_position + displacement)

    def body_and_twist_in_tool(self, d: Evaluation, handle_position: Array) -> tuple[Body, Array]:
        """Return it in the axes of the end effector, and its twist at the origin of these.

        Args:
            d: the robot when it takes the body.
            handle_position: (3,) position of the handle in the inertial frame, m.
        """
        tool_pose = d.placement(d.model.end_effector)
        rotation, offset = tool_pose[:3, :3], tool_pose[:3, 3] - handle_position
        inertia = rotation.T @ np.diag(self.moments) @ rotation
        body = Body(self.mass, (self.centre - offset) @ rotation, inertia)
        velocity = self.velocity + np.cross(self.spin, offset)
        return body, np.concatenate([velocity @ rotation, self.spin @ rotation])


def plastic_loss(d: Evaluation, body: Body, twist: Array) -> float:
    """Return the energy that the capture of a body loses, J.

    The kinetic energy of the relative twist in the combined inertia ``(J M^-1 J^T + I^-1)^-1``.

    Args:
        d: the robot before it.
        body: carried body in the axes of the end effector.
        twist: (6,) of the body in these.
    """
    J = d.J_end_effector
    relative_twist = twist - J @ d.v
    mobility = J @ np.linalg.solve(d.M, J.T) + np.linalg.inv(body.spatial_inertia())
    return 0.5 * float(relative_twist @ np.linalg.solve(mobility, relative_twist))


def carried_energies(model: VMSModel, body: Body, q: Array, v: Array) -> tuple[float, float]:
    """Return kinetic and potential energy of a body at the end effector, J.

    Args:
        model: the robot without it.
        body: carried body in the axes of the end effector.
        q: (nq,) configuration.
        v: (nv,) velocity.
    """
    d = model.evaluate(q, v)
    twist = d.J_end_effector @ d.v
    tool_pose = d.placement(model.end_effector)
    centre = tool_pose[:3, 3] + tool_pose[:3, :3] @ np.asarray(body.centre, float)
    kinetic_energy = 0.5 * float(twist @ body.spatial_inertia() @ twist)
    return kinetic_energy, -body.mass * float(model.gravity @ centre)


def carried_wrench(d: Evaluation, body: Body, acceleration: Array) -> Array:
    """Return the wrench of a carried body on the end effector, (6,) in its axes.

    It is the weight of the body minus the rate of its momentum.

    Args:
        d: evaluation of the robot, with or without the body.
        body: carried body in the axes of the end effector.
        acceleration: (nv,) of the robot.
    """
    model, tree = d.model, d.model.tree
    pinocchio, data = tree.pinocchio, tree.data()
    frame_id = model.frame_id(model.end_effector)
    pin.forwardKinematics(pinocchio, data, d.q_origin, d.v_full, tree.full_velocity(acceleration))
    twist = pin.getFrameVelocity(pinocchio, data, frame_id, pin.LOCAL)
    frame_acceleration = pin.getFrameAcceleration(pinocchio, data, frame_id, pin.LOCAL)
    gravity = model.gravity @ d.placement(model.end_effector)[:3, :3]
    inertia = body.pinocchio_inertia()
    weight = inertia * pin.Motion(gravity, np.zeros(3))
    return np.array((weight - inertia * frame_acceleration - twist.cross(inertia * twist)).vector)
