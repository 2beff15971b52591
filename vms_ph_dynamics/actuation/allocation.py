# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The actuators of a base, and their efforts for a desired wrench: bounded least squares."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, frozen, parameter, summary, vector
from ..errors import ModelError
from ..robot.joints import BASE_COMPONENTS, BASE_DIMENSION
from .actuators import (
    Actuator,
    Caster,
    Column,
    ReactionWheel,
    Rotor,
    TurningColumns,
    Wheel,
    input_columns,
    spin_column,
    unit_axis,
)

# Share of the largest eigenvalue that is added to all, so that the solution is unique.
_REGULARISATION = 1e-9

# Searches that begin at the solution of the one before and add to the distance from it instead, so
# that what is added has no effect in the end; each leaves about a thousandth of the error where the
# matrix is badly conditioned, and less elsewhere.
_CORRECTIONS = 3

# A gradient of this size, relative to its terms, releases no bound: what is added is 1e-9 of them.
_ROUNDING = 1e-13


def bounded_least_squares(A: Array, b: Array, lower: Array, upper: Array) -> Array:
    """Return the x (m,) within bounds that minimises ``|A x - b|^2``, of several the smallest.

    A primal active-set method: a step to the minimum over the free entries ends at the first bound
    that it meets; at the minimum, the bound with the largest gradient into the interior is freed.
    Every iteration lowers the same strictly convex function over one of finitely many sets of
    bounds; beyond ten iterations per entry, which has not been seen, the best point is returned.

    The least error is found first, then the smallest x with the same ``A x``: a right-hand side far
    out of reach would hide in its rounding which x is smaller.

    Args:
        A: (k,m) matrix.
        b: (k,) right-hand side.
        lower: (m,) bounds; may be infinite.
        upper: (m,) bounds, at least those below.
    """
    m = A.shape[1]
    H = A.T @ A
    regularisation = _REGULARISATION * max(float(np.trace(H)), 1e-300)
    H[np.diag_indices(m)] += regularisation
    g = A.T @ b
    x = np.minimum(np.maximum(np.zeros(m), lower), upper)
    active_bounds = np.zeros(m, dtype=np.intp)
    active_bounds[x == lower], active_bounds[x == upper] = -1, 1
    for _ in ("least error", "smallest"):
        _minimise(H, g, lower, upper, x, active_bounds)
        for _ in range(_CORRECTIONS):
            _minimise(H, g + regularisation * x, lower, upper, x, active_bounds)
        g = H @ x - regularisation * x
    return np.minimum(np.maximum(x, lower), upper)


def _minimise(
    H: Array, g: Array, lower: Array, upper: Array, x: Array, active_bounds: NDArray[np.intp]
) -> None:
    """Move x (m,), with its active bounds, to the least of x.H x / 2 - g.x.

    Args:
        H: (m,m) positive definite.
        g: (m,).
        lower: (m,) bounds.
        upper: (m,) bounds.
        x: (m,) within them.
        active_bounds: (m,) -1 or 1 for an entry at its lower or upper bound, else 0.
    """
    is_fixed = lower == upper
    largest_H, largest_g = float(np.abs(H).max(initial=0.0)), float(np.abs(g).max(initial=0.0))
    for _ in range(10 * x.size):
        free = np.flatnonzero(active_bounds == 0)
        if free.size:
            step = np.linalg.solve(H[free[:, None], free], g[free] - H[free] @ x)
            bounds = np.where(step > 0.0, upper[free], lower[free])
            step_fraction = np.full(free.size, np.inf)
            is_moving = step != 0.0
            step_fraction[is_moving] = (bounds[is_moving] - x[free][is_moving]) / step[is_moving]
            blocking_index = int(np.argmin(step_fraction))
            if step_fraction[blocking_index] < 1.0:
                x[free] += step_fraction[blocking_index] * step
                x[free[blocking_index]] = bounds[blocking_index]
                active_bounds[free[blocking_index]] = 1 if step[blocking_index] > 0.0 else -1
                continue
            x[free] += step
        multipliers = np.where(is_fixed, 0.0, active_bounds * (H @ x - g))
        released_index = int(np.argmax(multipliers))
        scale = largest_g + largest_H * float(np.abs(x).max(initial=0.0))
        if multipliers[released_index] <= _ROUNDING * scale:
            break
        active_bounds[released_index] = 0


@dataclass(frozen=True, slots=True)
class AllocatedInputs:
    """Inputs of actuators within their limits.

    Attributes:
        inputs: (m,).
        missing_wrench: (b,) what the wrench lacks: the wanted one less that of the inputs.
    """

    inputs: Array
    missing_wrench: Array


class Allocation:
    """The map ``w = B u`` from actuator inputs to the base wrench; ``y = B^T v`` is its dual.

    The power into the robot is ``w . v = u . y``. Inputs are thrusts of rotors and thrusters, and
    torques of wheels.

    Attributes:
        matrix: B (6,m), linear first; for a planar base the rows (x, y, rotation about z), (3,m).
        lower, upper: (m,) limits of the inputs, N or N m.

    Examples:
        >>> from vms_ph_io import robots
        >>> robots.get("hextilt").allocation().matrix.shape
        (6, 6)
    """

    def __init__(self, rotors: Sequence[Rotor], base: str = "floating") -> None:
        """Build the map from the rotors and thrusters of a robot.

        Args:
            rotors: rotors and thrusters, in the order of the inputs.
            base: floating or planar.

        Raises:
            ModelError: there is no actuator, the base is fixed, or an actuator has a wrong shape,
                an entry that is not finite, an axis of length zero, or limits in the wrong order.
        """
        actuators = Actuators(rotors, base)
        self.matrix = actuators.matrix(np.zeros(len(rotors)), actuators.start_angles)
        self.lower, self.upper = actuators.lower, actuators.upper

    def __repr__(self) -> str:
        """Return what it is of, in one line."""
        return summary(
            self, f"{self.matrix.shape[1]} inputs", "lower", self.lower, "upper", self.upper
        )

    @classmethod
    def of_matrix(cls, matrix: Array, lower: Array, upper: Array) -> "Allocation":
        """Return the allocation of a matrix (b,m) with limits (m,).

        Args:
            matrix: B (b,m), from inputs to the wrench, linear first.
            lower: (m,) least inputs, N or N m.
            upper: (m,) largest inputs.

        Raises:
            ModelError: the sizes do not agree, or limits are in the wrong order.
        """
        allocation = cls.__new__(cls)
        arrays = (frozen(np.array(x, dtype=np.float64)) for x in (matrix, lower, upper))
        allocation.matrix, allocation.lower, allocation.upper = arrays
        shape, low, high = allocation.matrix.shape, allocation.lower, allocation.upper
        if shape not in ((3, low.size), (6, low.size)) or low.shape != high.shape:
            text = "a matrix of an allocation is (3,m) or (6,m), with m limits; given: the shapes "
            text += f"{shape}, {low.shape} and {high.shape}"
            raise ModelError(text)
        if not (low <= high).all():
            text = f"the least inputs must not exceed the largest ones; given: {low.tolist()} and "
            text += f"{high.tolist()}"
            raise ModelError(text)
        return allocation

    @property
    def is_fully_actuated(self) -> bool:
        """Whether every wrench can be produced, apart from limits."""
        return int(np.linalg.matrix_rank(self.matrix)) == len(self.matrix)

    def wrench(self, thrusts: Array) -> Array:
        """Return the base wrench (b,) of thrusts (m,); limits are not applied.

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        return self.matrix @ vector(thrusts, self.matrix.shape[1], "thrusts")

    def thrusts(self, wrench: Array) -> Array:
        """Return the smallest thrusts (m,) whose wrench is nearest to a given one, unlimited.

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        return np.linalg.pinv(self.matrix) @ vector(wrench, len(self.matrix), "wrench_base")

    def outputs(self, v_base: Array) -> Array:
        """Return the velocities conjugate to the thrusts, ``B^T v``, (m,).

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        return self.matrix.T @ vector(v_base, len(self.matrix), "v_base")

    def allocate(self, wrench: Array, weights: Array | None = None) -> AllocatedInputs:
        """Return the inputs within their limits whose wrench is nearest to a given one.

        The weighted error ``|W (B u - w)|`` is least: components of small weight are given up
        first. Where several inputs do that, as for a wrench that can be made, they are the smallest
        as long as these are within the limits.

        Args:
            wrench: (b,) in the base frame, linear first, N and N m.
            weights: (b,) of its components, above zero; :func:`default_weights` when None.

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        wanted_wrench = vector(wrench, len(self.matrix), "wrench_base")
        weights = default_weights(self.matrix) if weights is None else weights
        return self.allocate_unchecked(wanted_wrench, weights)

    def allocate_unchecked(self, wrench: Array, weights: Array) -> AllocatedInputs:
        """Return the inputs of :meth:`allocate` for a wrench (b,) that is not checked."""
        return nearest_inputs(self.matrix, wrench, self.lower, self.upper, weights)


def nearest_inputs(
    matrix: Array, wrench: Array, lower: Array, upper: Array, weights: Array
) -> AllocatedInputs:
    """Return the inputs within bounds whose wrench is nearest; see :meth:`Allocation.allocate`."""
    weighted_matrix = weights[:, None] * matrix
    is_free = lower < upper
    inputs: Array = np.where(is_free, 0.0, lower)
    missing_wrench = weights * (wrench - matrix @ inputs)
    inputs[is_free] = np.linalg.pinv(weighted_matrix[:, is_free]) @ missing_wrench
    if not ((inputs >= lower) & (inputs <= upper)).all():
        inputs = bounded_least_squares(weighted_matrix, weights * wrench, lower, upper)
    return AllocatedInputs(inputs, wrench - matrix @ inputs)


def default_weights(matrix: Array) -> Array:
    """Return the weights (b,) by which forces are given up before moments.

    A force has the weight 1, a moment ten over the actuators' mean lever arm, so that a vehicle out
    of thrust drifts before it turns over.

    Args:
        matrix: (b,m) from inputs to wrenches.
    """
    moment_count = len(matrix) // 2 if len(matrix) == 6 else 1
    force_count = len(matrix) - moment_count
    force_norm, moment_norm = map(np.linalg.norm, np.split(matrix, [force_count]))
    lever_arm = moment_norm / force_norm if force_norm > 0.0 and moment_norm > 0.0 else 1.0
    return np.concatenate([np.ones(force_count), np.full(moment_count, 10.0 / lever_arm)])


class Actuators:
    """The actuators of a base.

    Every input, a thrust or a torque, has a column of B: the wrench on the base is ``w = B u``, and
    the rates conjugate to the inputs are ``y = B^T v``, so that ``w . v = u . y``. Casters have two
    inputs, wheel and steering; tilting rotors and casters change their columns as they turn.

    Args:
        actuators: in the order of their inputs.
        base: floating or planar.
        weights: (b,) of the components of a wrench where limits do not allow all of it, see
            :meth:`Allocation.allocate`; :func:`default_weights` when None.

    Attributes:
        members: the actuators.
        base: floating or planar.
        names: (m,) of the inputs: ``"rotor_0"``, ``"caster_1/steering"``, ...
        owner_indices: (m,) index of the actuator of each input.
        lower, upper: (m,) limits of the inputs, N or N m.
        weights: (b,).
        columns: columns of B, by tilts and steering angles.
        spin_columns: axes (3,m) of the momenta of what spins, in the base frame, by tilts.

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
        self.members, self.base = tuple(actuators), base
        self.wrench_rows = np.array(BASE_COMPONENTS[BASE_DIMENSION[base]])
        names: list[str] = []
        owner_indices: list[int] = []
        angle_input: list[int] = []
        columns: list[Column] = []
        counts = Counter[str]()
        for i, actuator in enumerate(self.members):
            check_actuator(actuator, i)
            type_name = _type_name(actuator)
            name = f"{type_name}_{counts[type_name]}"
            counts[type_name] += 1
            names += [f"{name}/wheel", f"{name}/steering"] if type_name == "caster" else [name]
            added_columns = input_columns(actuator, i)
            # What turns does so by the last input of its actuator.
            angle_input += [-1 if c.cosine is None else len(names) - 1 for c in added_columns]
            owner_indices += [i] * len(added_columns)
            columns += added_columns
        self.names, self.owner_indices = tuple(names), frozen(np.array(owner_indices))
        self.columns = TurningColumns(columns, angle_input, self.wrench_rows)
        self._collect_arrays(angle_input)
        matrix = self.matrix(np.zeros(len(names)), self.start_angles)
        row_weights = default_weights(matrix) if weights is None else weights
        self.weights = frozen(parameter(row_weights, len(self.wrench_rows), "weights").copy())
        if (self.weights <= 0.0).any():
            raise ModelError(f"weights must be above zero; given: {self.weights.tolist()}")

    def matrix(self, tilts: Array, angles: Array) -> Array:
        """Return B (b,m).

        Args:
            tilts: (m,) angles of tilting rotors, rad; others are ignored.
            angles: (m,) steering angles at the inputs of casters' wheels, rad.
        """
        angles_of_inputs = np.zeros(len(self.names))
        angles_of_inputs[self.tilting_rotors] = tilts[self.tilting_rotors]
        angles_of_inputs[self.steered_wheels + 1] = angles[self.steered_wheels]
        return self.columns.matrix(angles_of_inputs)

    def spin_axes(self, tilts: Array) -> Array:
        """Return the axes of the momenta of what spins, (3,m), at tilts (m,), rad."""
        return self.spin_columns.matrix(tilts)

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
        allocation, is_working = self.allocation, np.ones(len(self.names))
        for name in failed:
            is_working[self.owner_indices == self.index(name)] = 0.0
        lower, upper = is_working * allocation.lower, is_working * allocation.upper
        return Allocation.of_matrix(allocation.matrix, lower, upper)

    def index(self, name: str) -> int:
        """Return the index of an actuator, by the name of one of its inputs or the part before "/".

        Raises:
            ModelError: there is none of that name; the message lists all.
        """
        for name_of_input, owner in zip(self.names, self.owner_indices, strict=True):
            if name in (name_of_input, name_of_input.partition("/")[0]):
                return int(owner)
        raise ModelError(f"there is no actuator '{name}'; there are {', '.join(self.names)}")

    def _collect_arrays(self, angle_input: Sequence[int]) -> None:
        """Collect what the inputs have, in arrays (m,)."""
        actuators = [self.members[owner_index] for owner_index in self.owner_indices]
        steering = np.array([name.endswith("/steering") for name in self.names])

        def array_of(name: str, default: float = 0.0, sources: Sequence[Any] = actuators) -> Array:
            return np.array([getattr(instance, name, default) for instance in sources], np.float64)

        motors, tilts = [a.motor for a in actuators], [getattr(k, "tilt", None) for k in actuators]
        self.thrust_constant = array_of("thrust_constant")
        self.time_constant = array_of("time_constant")
        self.loss_ratio, self.dead_zone = array_of("fluid_ratio"), array_of("dead_zone")
        self.inertia, self.largest_rate = array_of("inertia"), array_of("largest_rate", np.inf)
        self.friction = np.where(steering, 0.0, array_of("friction"))
        self.start_angles = np.where(steering, 0.0, array_of("angle"))
        self.torque_constant = array_of("torque_constant", sources=motors)
        self.resistance = array_of("resistance", sources=motors)
        self.tilt_lower, self.tilt_upper, self.tilt_rate = (
            array_of(name, sources=tilts) for name in ("lower", "upper", "rate")
        )
        torque = np.where(steering, array_of("largest_steering_torque"), array_of("largest_torque"))
        self.lower, self.upper = array_of("lower") - torque, array_of("upper") + torque
        self.start_rates = array_of("rate") + array_of("idle_rate")
        self.rotors = np.flatnonzero([isinstance(actuator, Rotor) for actuator in actuators])
        self.reaction_wheels = np.flatnonzero([isinstance(a, ReactionWheel) for a in actuators])
        self.wheels = np.flatnonzero([isinstance(a, Wheel | Caster) for a in actuators])
        self.steered_wheels = np.flatnonzero([isinstance(a, Caster) for a in actuators] & ~steering)
        self.tilting_rotors = np.flatnonzero([tilt is not None for tilt in tilts])
        self.spin_columns = TurningColumns([spin_column(a) for a in actuators], angle_input)
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                frozen(value)


def _type_name(actuator: Actuator) -> str:
    """Return what an actuator is called; a rotor without reaction torque is a thruster."""
    if isinstance(actuator, Rotor) and not actuator.drag_ratio:
        return "thruster"
    return _TYPE_NAMES[type(actuator)]


def check_actuator(actuator: Actuator, i: int) -> None:
    """Check the numbers of an actuator.

    Raises:
        ModelError: one is not accepted; the message names it and states what is.
    """
    label = f"{_type_name(actuator).replace('_', ' ')} {i}"
    positive_names = {
        Rotor: (),
        Wheel: ("radius", "largest_torque", "largest_rate"),
        Caster: ("radius", "trail", "largest_torque", "largest_steering_torque"),
        ReactionWheel: ("inertia", "largest_torque", "largest_rate"),
    }[type(actuator)]
    for name in positive_names:
        if not getattr(actuator, name) > 0.0:
            raise ModelError(
                f"{name} of {label} must be above zero; given: {getattr(actuator, name)}"
            )
    for name in ("thrust_constant", "time_constant", "dead_zone", "inertia", "friction"):
        value = getattr(actuator, name, 0.0)
        if not (np.isfinite(value) and value >= 0.0):
            raise ModelError(f"{name} of {label} must be finite and at least zero; given: {value}")
    motor = actuator.motor
    if not (motor.torque_constant >= 0.0 and motor.resistance >= 0.0):
        raise ModelError(f"the motor of {label} has a negative torque constant or resistance")
    if isinstance(actuator, Rotor):
        _check_rotor(actuator, label)
    elif isinstance(actuator, Wheel | Caster):
        parameter(actuator.position, 2, f"position of {label}")
    if isinstance(actuator, Wheel) and abs(cos(actuator.roller_angle)) < 1e-3:
        raise ModelError(f"the rollers of {label} must not roll along its direction of travel")
    if isinstance(actuator, ReactionWheel) and abs(actuator.rate) > actuator.largest_rate:
        raise ModelError(f"the rate of {label} is beyond its largest rate; given: {actuator.rate}")


def _check_rotor(rotor: Rotor, label: str) -> None:
    if rotor.inertia and not (rotor.drag_ratio and rotor.thrust_constant):
        text = f"the inertia of {label} needs a thrust_constant, for its rate, and a drag_ratio, "
        text += "whose sign is that of its spin"
        raise ModelError(text)
    if rotor.motor.torque_constant and not rotor.thrust_constant:
        raise ModelError(
            f"the motor of {label} needs a thrust_constant, from which its rate follows"
        )
    if rotor.tilt is None:
        return
    tilt = rotor.tilt
    axis, tilt_axis = unit_axis(rotor.axis, label), unit_axis(tilt.axis, f"the tilt of {label}")
    if abs(float(axis @ tilt_axis)) > 1e-6:
        raise ModelError(f"the axis of the tilt of {label} must be perpendicular to its thrust")
    if not (tilt.lower <= 0.0 <= tilt.upper and tilt.upper - tilt.lower <= pi and tilt.rate > 0.0):
        raise ModelError(
            f"the tilt of {label} needs limits around zero at most pi apart and a rate above zero; "
            f"given: {tilt.lower}, {tilt.upper}, {tilt.rate}"
        )
    if rotor.lower < 0.0:
        raise ModelError(f"the thrust of {label}, which tilts, must not be negative")


_TYPE_NAMES = {Rotor: "rotor", Wheel: "wheel", Caster: "caster", ReactionWheel: "reaction_wheel"}
