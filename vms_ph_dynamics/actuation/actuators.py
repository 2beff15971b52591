# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The actuators of a base as one map from inputs to the wrench on the base, with what they lose."""

from collections.abc import Sequence
from math import cos, pi

import numpy as np

from ..arrays import Array, frozen
from ..errors import ModelError
from .actuator_columns import (
    PLANAR,
    Column,
    TurningColumns,
    caster_columns,
    checked,
    quarter_turn,
    reaction_column,
    tilting_column,
    unit_axis,
    wheel_column,
)
from .actuator_kinds import Actuator, Caster, Motor, ReactionWheel, Rotor, Wheel
from .allocation import Allocation, default_weights


class Actuators:
    """The actuators of a base.

    Every input, a thrust or a torque, has a column of B: the wrench on the base is ``w = B u``, and
    the rates conjugate to the inputs are ``y = B^T v``, so that ``w . v = u . y``. Casters have two
    inputs, wheel and steering; tilting rotors and casters change their columns as they turn.

    Args:
        actuators: in the order of their inputs.
        base: floating or planar.
        weights: (b,) of the components of a wrench where limits do not allow all of it, see
            :meth:`Allocation.within`; :func:`default_weights` when None.

    Attributes:
        kinds: the actuators.
        base: floating or planar.
        names: (m,) of the inputs: ``"rotor_0"``, ``"caster_1/steering"``, ...
        owners: (m,) index of the actuator of each input.
        lower, upper: (m,) limits of the inputs, N or N m.
        weights: (b,).
        columns: of B, by tilts and steering angles.
        spin_axes: (3,m) axes of the momenta of what spins, in the base frame, without tilt.
        spin_quarters: (3,m) the same of tilting rotors after a quarter turn; zero for others.

    Raises:
        ModelError: there are none, the base is fixed, or one is not described as its class says;
            the message names it.
    """

    def __init__(
        self, actuators: Sequence[Actuator], base: str = "floating", weights: Array | None = None
    ) -> None:
        if not actuators:
            raise ModelError("an allocation needs at least one rotor or thruster")
        if base not in ("floating", "planar"):
            raise ModelError(f"actuators act on a floating or planar base; given: {base!r}")
        self.kinds, self.base = tuple(actuators), base
        self._rows = np.arange(6) if base == "floating" else PLANAR
        names: list[str] = []
        owners: list[int] = []
        by: list[int] = []
        columns: list[Column] = []
        counts: dict[str, int] = {}
        for i, each in enumerate(self.kinds):
            check(each, i)
            word = _word(each)
            name = f"{word}_{counts.get(word, 0)}"
            counts[word] = counts.get(word, 0) + 1
            parts: tuple[Column, ...]
            inputs, k = [name], len(names)
            turned = [-1]
            if isinstance(each, Rotor):
                parts = (tilting_column(each, i),)
                turned = [-1 if each.tilt is None else k]
            elif isinstance(each, Wheel):
                parts = (Column(wheel_column(each)),)
            elif isinstance(each, Caster):
                parts = caster_columns(each)
                inputs, turned = [f"{name}/wheel", f"{name}/steering"], [k + 1, k + 1]
            else:
                parts = (Column(reaction_column(each, i)),)
            columns += parts
            names += inputs
            owners += [i] * len(inputs)
            by += turned
        self.names, self.owners = tuple(names), frozen(np.array(owners))
        self.columns = TurningColumns(columns, self._rows, by)
        self._collect()
        matrix = self.matrix(np.zeros(len(names)), self.start_angles)
        self.weights = default_weights(matrix) if weights is None else self._weights(weights)

    def matrix(self, tilts: Array, angles: Array) -> Array:
        """Return B (b,m).

        Args:
            tilts: (m,) angles of tilting rotors, rad; others are ignored.
            angles: (m,) steering angles at the inputs of casters' wheels, rad.
        """
        turned = np.zeros(len(self.names))
        turned[self.tilting] = tilts[self.tilting]
        turned[self.steered + 1] = angles[self.steered]
        return self.columns.matrix(turned)

    def spins(self, tilts: Array) -> Array:
        """Return the axes of the momenta of what spins, (3,m), at tilts (m,), rad."""
        if not self.tilting.size:
            return self.spin_axes
        axes, t = self.spin_axes.copy(), self.tilting
        axes[:, t] = np.cos(tilts[t]) * axes[:, t] + np.sin(tilts[t]) * self.spin_quarters[:, t]
        return axes

    @property
    def allocation(self) -> Allocation:
        """The map at the start, without tilt, with the limits of the inputs."""
        matrix = self.matrix(np.zeros(len(self.names)), self.start_angles)
        return Allocation.of_matrix(matrix, self.lower, self.upper)

    def allocation_without(self, failed: Sequence[str]) -> Allocation:
        """Return the allocation in which some actuators give nothing.

        Args:
            failed: names, as for :meth:`index`.

        Raises:
            ModelError: there is none of a name.
        """
        allocation, works = self.allocation, np.ones(len(self.names))
        for name in failed:
            works[self.owners == self.index(name)] = 0.0
        lower, upper = works * allocation.lower, works * allocation.upper
        return Allocation.of_matrix(allocation.matrix, lower, upper)

    def index(self, name: str) -> int:
        """Return the index of an actuator, by the name of one of its inputs or the part before "/".

        Raises:
            ModelError: there is none of that name; the message lists all.
        """
        for name_of_input, owner in zip(self.names, self.owners, strict=True):
            if name in (name_of_input, name_of_input.partition("/")[0]):
                return int(owner)
        raise ModelError(f"there is no actuator '{name}'; there are {', '.join(self.names)}")

    def _weights(self, weights: Array) -> Array:
        found = checked(weights, len(self._rows), "weights")
        if (found <= 0.0).any():
            raise ModelError(f"weights must be above zero; given: {found.tolist()}")
        return frozen(found.copy())

    def _collect(self) -> None:
        """Collect what the inputs have, in arrays (m,)."""
        m = len(self.names)

        def zeros() -> Array:
            return np.zeros(m)

        self.lower, self.upper = np.full(m, -np.inf), np.full(m, np.inf)
        self.thrust_constant, self.loss_ratio = zeros(), zeros()
        self.time_constant, self.dead_zone, self.inertia = zeros(), zeros(), zeros()
        self.torque_constant, self.resistance, self.friction = zeros(), zeros(), zeros()
        self.largest_rate, self.start_rates = np.full(m, np.inf), zeros()
        self.start_angles = zeros()
        self.spin_axes, self.spin_quarters = np.zeros((3, m)), np.zeros((3, m))
        self.tilt_lower, self.tilt_upper, self.tilt_rate = zeros(), zeros(), zeros()
        rotors, wheels, reaction, steered, tilting = [], [], [], [], []
        for k, i in enumerate(self.owners):
            each, steering = self.kinds[i], self.names[k].endswith("/steering")
            motor: Motor = each.motor
            self.torque_constant[k], self.resistance[k] = motor.torque_constant, motor.resistance
            if isinstance(each, Rotor):
                rotors.append(k)
                self.lower[k], self.upper[k] = each.lower, each.upper
                self.thrust_constant[k] = each.thrust_constant
                ratio = each.drag_ratio if each.loss_ratio is None else each.loss_ratio
                self.loss_ratio[k] = abs(ratio)
                self.time_constant[k], self.dead_zone[k] = each.time_constant, each.dead_zone
                self.inertia[k] = each.inertia
                if each.thrust_constant:  # it idles at its least thrust
                    idle = max(each.lower, 0.0)
                    self.start_rates[k] = np.sqrt(idle / each.thrust_constant)
                sense = -np.sign(each.drag_ratio)
                self.spin_axes[:, k] = sense * unit_axis(each.axis, "a rotor")
                self.spin_quarters[:, k] = sense * quarter_turn(each)
                if each.tilt is not None:
                    tilting.append(k)
                    self.tilt_lower[k], self.tilt_upper[k] = each.tilt.lower, each.tilt.upper
                    self.tilt_rate[k] = each.tilt.rate
                continue
            torque = each.largest_steering_torque if steering else each.largest_torque
            self.lower[k], self.upper[k] = -torque, torque
            self.friction[k] = 0.0 if steering else each.friction
            if isinstance(each, ReactionWheel):
                reaction.append(k)
                self.inertia[k], self.start_rates[k] = each.inertia, each.rate
                self.largest_rate[k] = each.largest_rate
                self.spin_axes[:, k] = unit_axis(each.axis, "a reaction wheel")
                continue
            wheels.append(k)
            if isinstance(each, Wheel):
                self.largest_rate[k] = each.largest_rate
            elif not steering:
                steered.append(k)
                self.start_angles[k] = each.angle
        self.rotors, self.wheels = np.array(rotors, np.intp), np.array(wheels, np.intp)
        self.reaction, self.steered = np.array(reaction, np.intp), np.array(steered, np.intp)
        self.tilting = np.array(tilting, np.intp)
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                frozen(value)


def _word(actuator: Actuator) -> str:
    """Return what an actuator is called; a rotor without reaction torque is a thruster."""
    if isinstance(actuator, Rotor) and not actuator.drag_ratio:
        return "thruster"
    return _WORDS[type(actuator)]


_WORDS: dict[type, str] = {
    Rotor: "rotor",
    Wheel: "wheel",
    Caster: "caster",
    ReactionWheel: "reaction_wheel",
}


def check(actuator: Actuator, i: int) -> None:
    """Check the numbers of an actuator.

    Raises:
        ModelError: one is not accepted; the message names it and states what is.
    """
    what = f"{_word(actuator).replace('_', ' ')} {i}"
    positive = {
        Rotor: (),
        Wheel: ("radius", "largest_torque", "largest_rate"),
        Caster: ("radius", "trail", "largest_torque", "largest_steering_torque"),
        ReactionWheel: ("inertia", "largest_torque", "largest_rate"),
    }[type(actuator)]
    for name in positive:
        if not getattr(actuator, name) > 0.0:
            raise ModelError(
                f"{name} of {what} must be above zero; given: {getattr(actuator, name)}"
            )
    least = ("thrust_constant", "time_constant", "dead_zone", "inertia", "friction")
    for name in least:
        value = getattr(actuator, name, 0.0)
        if not (np.isfinite(value) and value >= 0.0):
            raise ModelError(f"{name} of {what} must be finite and at least zero; given: {value}")
    motor = actuator.motor
    if not (motor.torque_constant >= 0.0 and motor.resistance >= 0.0):
        raise ModelError(f"the motor of {what} has a negative torque constant or resistance")
    if isinstance(actuator, Rotor):
        _check_rotor(actuator, what)
    elif isinstance(actuator, Wheel | Caster):
        checked(actuator.position, 2, f"position of {what}")
    if isinstance(actuator, Wheel) and abs(cos(actuator.roller_angle)) < 1e-3:
        raise ModelError(f"the rollers of {what} must not roll along its direction of travel")
    if isinstance(actuator, ReactionWheel) and abs(actuator.rate) > actuator.largest_rate:
        raise ModelError(f"the rate of {what} is beyond its largest rate; given: {actuator.rate}")


def _check_rotor(rotor: Rotor, what: str) -> None:
    if rotor.inertia and not (rotor.drag_ratio and rotor.thrust_constant):
        raise ModelError(
            f"the inertia of {what} needs a thrust_constant, for its rate, and a drag_ratio, whose "
            "sign is that of its spin"
        )
    if rotor.motor.torque_constant and not rotor.thrust_constant:
        raise ModelError(
            f"the motor of {what} needs a thrust_constant, from which its rate follows"
        )
    if rotor.tilt is None:
        return
    tilt = rotor.tilt
    axis, turn = unit_axis(rotor.axis, what), unit_axis(tilt.axis, f"the tilt of {what}")
    if abs(float(axis @ turn)) > 1e-6:
        raise ModelError(f"the axis of the tilt of {what} must be perpendicular to its thrust")
    if not (tilt.lower <= 0.0 <= tilt.upper and tilt.upper - tilt.lower <= pi and tilt.rate > 0.0):
        raise ModelError(
            f"the tilt of {what} needs limits around zero at most pi apart and a rate above zero; "
            f"given: {tilt.lower}, {tilt.upper}, {tilt.rate}"
        )
    if rotor.lower < 0.0:
        raise ModelError(f"the thrust of {what}, which tilts, must not be negative")
