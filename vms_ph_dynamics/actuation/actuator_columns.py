# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Wrench on the base per unit of an actuator's input: the columns of its map."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, frozen, vector
from ..errors import ModelError, StateError
from .actuator_kinds import Caster, ReactionWheel, Rotor, Wheel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PLANAR = np.array([0, 1, 5])
"""Components of a spatial wrench that act on a planar base."""


@dataclass(frozen=True)
class Column:
    """The wrench per unit of an input, ``fixed + cos(angle) cosine + sin(angle) sine``, (6,) each.

    Attributes:
        fixed: what does not turn.
        cosine, sine: what turns; None for an input that is fixed to the base.
    """

    fixed: Array
    cosine: Array | None = None
    sine: Array | None = None


class TurningColumns:
    """The columns of a map of which some turn; see :class:`Column`.

    Args:
        columns: of all inputs.
        rows: components of a wrench that act on the base.
        by: (m,) index of the input whose angle turns a column; -1 for one that does not turn.

    Attributes:
        by: (m,).
        fixed, cosine, sine: (b,m).
    """

    def __init__(
        self, columns: "Sequence[Column]", rows: "NDArray[np.integer]", by: "Sequence[int]"
    ) -> None:
        def stacked(parts: "list[Array | None]") -> Array:
            whole = [np.zeros(6) if part is None else part for part in parts]
            return frozen(np.stack(whole, axis=1)[rows])

        self.by = frozen(np.array(by, np.intp))
        self.fixed = stacked([each.fixed for each in columns])
        self.cosine = stacked([each.cosine for each in columns])
        self.sine = stacked([each.sine for each in columns])
        self._turn = bool((self.by >= 0).any())

    def matrix(self, angles: Array) -> Array:
        """Return all columns, (b,m), at the angles (m,) of inputs, rad."""
        if not self._turn:
            return self.fixed
        turned = np.where(self.by >= 0, angles[self.by], 0.0)
        return self.fixed + np.cos(turned) * self.cosine + np.sin(turned) * self.sine


def unit_axis(value: Array, what: str) -> Array:
    """Return an axis of length one, (3,).

    Raises:
        ModelError: it has a wrong shape, an entry that is not finite, or length zero.
    """
    axis = checked(value, 3, f"axis of {what}")
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise ModelError(f"the axis of {what} has length zero")
    return axis / length


def rotor_column(rotor: Rotor, i: int) -> Array:
    """Return the wrench of a thrust of 1 N at the base's origin, without tilt, (6,).

    Raises:
        ModelError: the rotor is not described as :class:`Rotor` says.
    """
    axis = unit_axis(rotor.axis, f"rotor {i}")
    position = checked(rotor.position, 3, f"position of rotor {i}")
    if not np.isfinite(rotor.drag_ratio):
        raise ModelError(f"drag_ratio of rotor {i} must be finite; given: {rotor.drag_ratio}")
    if not rotor.lower <= rotor.upper:
        raise ModelError(
            f"the limits of rotor {i} must be lower <= upper; given: {rotor.lower}, {rotor.upper}"
        )
    return along(position, axis, rotor.drag_ratio)


def along(position: Array, axis: Array, drag_ratio: float) -> Array:
    """Return the wrench of 1 N at a position along an axis with its reaction torque, (6,)."""
    return np.concatenate([axis, np.cross(position, axis) + drag_ratio * axis])


def wheel_column(wheel: Wheel) -> Array:
    """Return the wrench of a torque of 1 N m, (6,); its dual is the rate of the wheel.

    The contact does not move along the axis ``a`` of the roller, ``(v - rate r d) . a = 0``.
    """
    angle = wheel.heading + wheel.roller_angle
    roller = np.array([np.cos(angle), np.sin(angle), 0.0])
    place = np.array([wheel.position[0], wheel.position[1], 0.0])
    return along(place, roller, 0.0) / (wheel.radius * np.cos(wheel.roller_angle))


def tilting_column(rotor: Rotor, i: int) -> Column:
    """Return the wrench of a thrust of 1 N along an axis that may tilt.

    Raises:
        ModelError: the rotor is not described as :class:`Rotor` says.
    """
    flat = rotor_column(rotor, i)
    if rotor.tilt is None:
        return Column(flat)
    position = np.asarray(rotor.position, dtype=np.float64)
    return Column(np.zeros(6), flat, along(position, quarter_turn(rotor), rotor.drag_ratio))


def quarter_turn(rotor: Rotor) -> Array:
    """Return the axis of a rotor that has tilted by a quarter turn, (3,); zero without tilt."""
    if rotor.tilt is None:
        return np.zeros(3)
    turn = unit_axis(rotor.tilt.axis, "a tilt")
    return np.cross(turn, unit_axis(rotor.axis, "a rotor"))


def caster_columns(caster: Caster) -> tuple[Column, Column]:
    """Return the wrenches of 1 N m at the wheel and at the steering, by the steering angle.

    Without slip the rate of the wheel is ``d . v / r`` for the direction of travel d, and that of
    the steering ``n . v / trail - w_z`` for n to the left of d, with v that of the steering axis.
    """
    place = np.array([caster.position[0], caster.position[1], 0.0])
    x, y = along(place, np.eye(3)[0], 0.0), along(place, np.eye(3)[1], 0.0)
    wheel = Column(np.zeros(6), x / caster.radius, y / caster.radius)
    steering = Column(
        np.array([0.0, 0.0, 0.0, 0.0, 0.0, -1.0]), y / caster.trail, -x / caster.trail
    )
    return wheel, steering


def reaction_column(wheel: ReactionWheel, i: int) -> Array:
    """Return the wrench on the base of a torque of 1 N m on a reaction wheel, (6,)."""
    return np.concatenate([np.zeros(3), -unit_axis(wheel.axis, f"reaction wheel {i}")])


def checked(value: Array, size: int, what: str) -> Array:
    """Return a vector of a size.

    Raises:
        ModelError: it has a wrong shape or an entry that is not finite.
    """
    try:
        return vector(value, size, what)
    except StateError as error:
        raise ModelError(str(error)) from None
