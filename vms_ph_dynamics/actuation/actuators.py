# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds of actuators of a base, and the columns that they have in its allocation matrix."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, frozen, parameter
from ..errors import ModelError


@dataclass(frozen=True)
class Motor:
    """The electric motor of an actuator.

    Attributes:
        torque_constant: torque per current at the shaft of the actuator, N m/A; 0 for a motor
            without losses of its own.
        resistance: resistance of its winding, ohm.
    """

    torque_constant: float = 0.0
    resistance: float = 0.0


@dataclass(frozen=True)
class Tilt:
    """The tilting of a rotor about an axis through its hub, by a drive without losses.

    Attributes:
        axis: (3,) in the base frame, perpendicular to the thrust at angle zero.
        lower, upper: limits of the angle, rad, within half a turn of each other.
        rate: largest rate of the angle, rad/s.
    """

    axis: Array
    lower: float
    upper: float
    rate: float = np.inf


@dataclass(frozen=True)
class Rotor:
    """A rotor or thruster on the base.

    Its thrust is ``thrust_constant w |w|`` at the rate w of its shaft, which follows the commanded
    one with a first-order lag.

    Attributes:
        position: (3,) of its hub in the base frame, m.
        axis: (3,) direction of its thrust in the base frame, of any length.
        drag_ratio: reaction torque about the axis over thrust, m; its sign is that of the torque on
            the base (positive for a rotor that spins against the axis); 0 for a thruster.
        lower, upper: limits of the thrust, N.
        thrust_constant: thrust over the square of the rate, N s^2/rad^2; 0 where no rate is known.
        loss_ratio: torque that the fluid takes from the shaft over thrust, m; None for the
            magnitude of ``drag_ratio``, as for a single propeller.
        time_constant: of the lag, s; 0 for none.
        dead_zone: magnitude of a commanded thrust below which there is none, N.
        inertia: moment of inertia of what spins, about its axis, kg m^2.
        tilt: tilt joint of its axis; None for a fixed one.
        motor: that drives it.
    """

    position: Array
    axis: Array
    drag_ratio: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf
    thrust_constant: float = 0.0
    loss_ratio: float | None = None
    time_constant: float = 0.0
    dead_zone: float = 0.0
    inertia: float = 0.0
    tilt: Tilt | None = None
    motor: Motor = field(default_factory=Motor)

    @property
    def fluid_ratio(self) -> float:
        """Torque that the fluid takes from the shaft over thrust, m; at least zero."""
        return abs(self.drag_ratio if self.loss_ratio is None else self.loss_ratio)

    @property
    def idle_rate(self) -> float:
        """Rate at its least thrust, at which it starts, rad/s; zero if no rate is known."""
        idle_thrust = max(self.lower, 0.0)
        return float(np.sqrt(idle_thrust / self.thrust_constant)) if self.thrust_constant else 0.0


@dataclass(frozen=True)
class Wheel:
    """A driven wheel that rolls without slip: omnidirectional, or mecanum by its roller angle.

    Attributes:
        position: (2,) of its contact in the base frame, m.
        heading: direction of travel at positive torque, rad from the x axis of the base.
        radius: m.
        roller_angle: of the axis of the roller on the ground, from the direction of travel, rad; 0
            for an omnidirectional wheel, plus or minus pi/4 for a mecanum wheel.
        largest_torque: N m.
        largest_rate: rate beyond which the motor drives no further, rad/s.
        friction: viscous, of bearings and rolling, N m s/rad.
        motor: that drives it.
    """

    position: Array
    heading: float
    radius: float
    roller_angle: float = 0.0
    largest_torque: float = np.inf
    largest_rate: float = np.inf
    friction: float = 0.0
    motor: Motor = field(default_factory=Motor)


@dataclass(frozen=True)
class Caster:
    """A powered caster: a wheel that trails its steering axis, with motors for both.

    The steering angle is that of the direction of travel from the x axis of the base; both its rate
    and that of the wheel follow from the motion of the base.

    Attributes:
        position: (2,) of the steering axis in the base frame, m.
        radius: of the wheel, m.
        trail: distance by which the contact lies behind the steering axis, m.
        angle: steering angle at the start, rad.
        largest_torque: largest torque of the wheel, N m.
        largest_steering_torque: N m.
        friction: viscous, of the wheel, N m s/rad.
        motor: motor of the wheel, and an equal one of the steering.
    """

    position: Array
    radius: float
    trail: float
    angle: float = 0.0
    largest_torque: float = np.inf
    largest_steering_torque: float = np.inf
    friction: float = 0.0
    motor: Motor = field(default_factory=Motor)


@dataclass(frozen=True)
class ReactionWheel:
    """A wheel inside the base, whose momentum turns the base by reaction.

    The inertia of the base is that without the wheel's inertia about its own axis: the wheel stores
    its momentum about that axis itself, at the spin in space.

    Attributes:
        axis: (3,) direction in the base frame, of any length.
        inertia: about its axis, kg m^2.
        largest_torque: N m.
        largest_rate: largest spin in space, rad/s.
        rate: spin at the start, rad/s.
        friction: viscous, of the bearing, N m s/rad.
        motor: that drives it.
    """

    axis: Array
    inertia: float
    largest_torque: float = np.inf
    largest_rate: float = np.inf
    rate: float = 0.0
    friction: float = 0.0
    motor: Motor = field(default_factory=Motor)


Actuator = Rotor | Wheel | Caster | ReactionWheel


@dataclass(frozen=True)
class Column:
    """A vector per unit of an input, ``fixed + cos(angle) cosine + sin(angle) sine``.

    It is a wrench (6,), or the axis (3,) of a momentum.

    Attributes:
        fixed: part of the column that does not turn.
        cosine, sine: what turns; None for an input that is fixed to the base.
    """

    fixed: Array
    cosine: Array | None = None
    sine: Array | None = None


class TurningColumns:
    """The columns of a map of which some turn; see :class:`Column`.

    Args:
        columns: columns of all inputs: force and moment per input.
        angle_input: (m,) index of the input whose angle turns a column, or -1.
        components: rows of the columns that are kept, such as of a wrench on a planar base.

    Attributes:
        angle_input: (m,) as given.
        fixed, cosine, sine: (b,m).
    """

    def __init__(
        self,
        columns: Sequence[Column],
        angle_input: Sequence[int],
        components: slice | NDArray[np.integer] = slice(None),
    ) -> None:
        def stack(vectors: list[Array | None]) -> Array:
            zero = np.zeros(len(columns[0].fixed))
            return frozen(np.stack([zero if v is None else v for v in vectors], axis=1)[components])

        self.angle_input = frozen(np.array(angle_input, np.intp))
        self.fixed = stack([column.fixed for column in columns])
        self.cosine = stack([column.cosine for column in columns])
        self.sine = stack([column.sine for column in columns])
        self._has_turning = bool((self.angle_input >= 0).any())

    def matrix(self, angles: Array) -> Array:
        """Return all columns, (b,m), at the angles (m,) of inputs, rad."""
        if not self._has_turning:
            return self.fixed
        column_angles = np.where(self.angle_input >= 0, angles[self.angle_input], 0.0)
        return self.fixed + np.cos(column_angles) * self.cosine + np.sin(column_angles) * self.sine


def unit_axis(value: Array, label: str) -> Array:
    """Return an axis of length one, (3,).

    Raises:
        ModelError: it has a wrong shape, an entry that is not finite, or length zero.
    """
    axis = parameter(value, 3, f"axis of {label}")
    norm = float(np.linalg.norm(axis))
    if norm == 0.0:
        raise ModelError(f"the axis of {label} has length zero")
    return axis / norm


def input_columns(actuator: Actuator, i: int) -> tuple[Column, ...]:
    """Return the wrench on the base (6,) of a unit of each input of the i-th actuator.

    Raises:
        ModelError: it is not described as its class says.
    """
    if isinstance(actuator, Rotor):
        return (rotor_column(actuator, i),)
    if isinstance(actuator, Wheel):
        return (wheel_column(actuator),)
    if isinstance(actuator, Caster):
        return caster_columns(actuator)
    axis = unit_axis(actuator.axis, f"reaction wheel {i}")
    return (Column(np.concatenate([np.zeros(3), -axis])),)


def rotor_column(rotor: Rotor, i: int) -> Column:
    """Return the wrench of a thrust of 1 N at the base's origin along an axis that may tilt.

    Raises:
        ModelError: the rotor is not described as :class:`Rotor` says.
    """
    axis = unit_axis(rotor.axis, f"rotor {i}")
    position = parameter(rotor.position, 3, f"position of rotor {i}")
    if not np.isfinite(rotor.drag_ratio):
        raise ModelError(f"drag_ratio of rotor {i} must be finite; given: {rotor.drag_ratio}")
    if not rotor.lower <= rotor.upper:
        raise ModelError(
            f"the limits of rotor {i} must be lower <= upper; given: {rotor.lower}, {rotor.upper}"
        )
    untilted_wrench = axis_wrench(position, axis, rotor.drag_ratio)
    if rotor.tilt is None:
        return Column(untilted_wrench)
    turned_wrench = axis_wrench(position, quarter_turn_axis(rotor, rotor.tilt), rotor.drag_ratio)
    return Column(np.zeros(6), untilted_wrench, turned_wrench)


def axis_wrench(position: Array, axis: Array, drag_ratio: float) -> Array:
    """Return the wrench of 1 N at a position along an axis with its reaction torque, (6,)."""
    return np.concatenate([axis, np.cross(position, axis) + drag_ratio * axis])


def wheel_column(wheel: Wheel) -> Column:
    """Return the wrench of a torque of 1 N m; its dual is the rate of the wheel.

    The contact does not move along the axis ``a`` of the roller, ``(v - rate r d) . a = 0``.
    """
    angle = wheel.heading + wheel.roller_angle
    roller_axis = np.array([np.cos(angle), np.sin(angle), 0.0])
    wrench = axis_wrench(np.array([*wheel.position[:2], 0.0]), roller_axis, 0.0)
    return Column(wrench / (wheel.radius * np.cos(wheel.roller_angle)))


def quarter_turn_axis(rotor: Rotor, tilt: Tilt) -> Array:
    """Return the axis of a rotor after a tilt by a quarter turn, (3,)."""
    return np.cross(unit_axis(tilt.axis, "a tilt"), unit_axis(rotor.axis, "a rotor"))


def spin_column(actuator: Actuator) -> Column:
    """Return the axis (3,) of the momentum of what spins; zero where nothing does."""
    if isinstance(actuator, ReactionWheel):
        return Column(unit_axis(actuator.axis, "a reaction wheel"))
    if not isinstance(actuator, Rotor):
        return Column(np.zeros(3))
    sign = -np.sign(actuator.drag_ratio)
    axis = sign * unit_axis(actuator.axis, "a rotor")
    if actuator.tilt is None:
        return Column(axis)
    return Column(np.zeros(3), axis, sign * quarter_turn_axis(actuator, actuator.tilt))


def caster_columns(caster: Caster) -> tuple[Column, Column]:
    """Return the wrenches of 1 N m at the wheel and at the steering, by the steering angle.

    Without slip the rate of the wheel is ``d . v / r`` for the direction of travel d, and that of
    the steering ``n . v / trail - w_z`` for n to the left of d, with v that of the steering axis.
    """
    position = np.array([caster.position[0], caster.position[1], 0.0])
    along_x, along_y = (axis_wrench(position, axis, 0.0) for axis in np.eye(3)[:2])
    drive_column = Column(np.zeros(6), along_x / caster.radius, along_y / caster.radius)
    steering_column = Column(
        np.array([0.0, 0.0, 0.0, 0.0, 0.0, -1.0]), along_y / caster.trail, -along_x / caster.trail
    )
    return drive_column, steering_column
