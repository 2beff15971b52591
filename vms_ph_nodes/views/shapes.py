# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The geometry of the markers of a robot's motion, placed in the inertial frame.

The size of a shape is its quantity times a scale. The scales are parameters of marker_publisher;
a scale of zero follows the largest recent value in steps of 1, 2 and 5, and the size of the robot.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, Evaluation, Momenta, Ports, PositionTask, VMSModel, momenta
from vms_ph_dynamics.energy import legend
from vms_ph_dynamics.evaluation import in_space
from vms_ph_dynamics.forms import port_names

# Of one drawn value to the next: the peak halves in 1.6 s at 25 values a second.
_DECAY = 0.5 ** (1 / 40)

_ROUND_STEPS = (1.0, 2.0, 5.0, 10.0)


class FittedRange:
    """The range of a quantity for which a drawing has a given length.

    Attributes:
        full_value: the value that is drawn at full length, at least the largest one of late.
    """

    def __init__(self, minimum: float) -> None:
        """Begin with the least range.

        Args:
            minimum: values far below it are noise, and are drawn short.
        """
        self._minimum = self._peak = minimum
        self.full_value = round_up(minimum)

    def include(self, *values: float) -> float:
        """Return ``full_value`` with these values taken into account; once for each picture."""
        largest_value = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
        self._peak = max(largest_value, self._minimum, self._peak * _DECAY)
        # A peak at the border of two steps would make the drawing jump to and fro.
        if self._peak > self.full_value or self._peak < 0.3 * self.full_value:
            self.full_value = round_up(self._peak)
        return self.full_value


def round_up(value: float) -> float:
    """Return the smallest number 1, 2 or 5 times a power of ten that is not below a value > 0."""
    decade = 10.0 ** math.floor(math.log10(value))
    return next((step * decade for step in _ROUND_STEPS if step * decade >= value), 10.0 * decade)


Rgba = tuple[float, float, float, float]


def rgba(colour: str, alpha: float = 0.9) -> Rgba:
    """Return a colour "#rrggbb" and its opacity as numbers from 0 to 1."""
    red, green, blue = (part / 255 for part in legend.rgb(colour))
    return red, green, blue, alpha


# Colours of what is neither a port nor a store; also those of the legend on the page.
LINEAR, ANGULAR, LOCKED = rgba(legend.GREEN), rgba(legend.SKY), rgba(legend.VERMILION)
BODY, TASK = rgba(legend.GREY, 0.25), rgba(legend.PURPLE, 0.35)
POINT: Rgba = (0.1, 0.1, 0.1, 0.9)

# Shortest arrow that is drawn, m.
_MIN_LENGTH = 2e-3
_MIN_SINGULAR_VALUE = 1e-3


@dataclass(frozen=True)
class Scales:
    """The scales of the shapes; 0: the scale is fitted to the robot and to its motion.

    Attributes:
        momentum: length of momentum arrows, m per kg m/s and m per kg m^2/s.
        velocity: length of velocity arrows, m per m/s and m per rad/s.
        inertia: half axes of the task-inertia ellipsoid, m per kg.
        power: length of power arrows, m per W.
        energy: height of energy bars, m per J.
        max_length: upper limit of any length of a robot with a reach of 1 m, m; of other robots
            in proportion.
    """

    momentum: float = 0.0
    velocity: float = 0.0
    inertia: float = 0.0
    power: float = 0.0
    energy: float = 0.0
    max_length: float = field(default=1.0, metadata={"key": "longest"})


@dataclass(frozen=True)
class Arrow:
    """An arrow from a point (3,) along a vector (3,), m."""

    name: str
    start: Array
    vector: Array
    colour: Rgba


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid (or sphere): centre (3,), axes as columns (3,3), half axes (3,), m."""

    name: str
    centre: Array
    axes: Array
    half_axes: Array
    colour: Rgba


@dataclass(frozen=True)
class Bar:
    """An upright bar from a position along the unit vector ``up``, with its value as its label."""

    name: str
    position: Array
    height: float
    text: str
    colour: Rgba
    up: Array


Shape = Arrow | Ellipsoid | Bar

# Distance from the root to the first bar, and from one bar to the next, for a reach of 1 m; the
# vertical is last: outside the base, and with room for the labels.
_FIRST_BAR = np.array([-0.4, -0.95, 0.0])
_SEPARATION = np.array([0.22, 0.22, 0.0])

# There is one bar beside an arm on a fixed base. Thin rotor arms and panels reach farther than the
# ellipsoid of the inertia of a floating base.
_BAR_FACTORS = {"fixed": 0.75, "planar": 1.0, "floating": 1.4}


# Length at the upper end of a fitted range, for a reach of 1 m, m.
_FULL_LENGTH = 0.5

# Motions slower than this many lengths of the robot in a second are drawn short, 1/s.
_SLOW_RATE = 1e-4

# Bounds of the size of what is drawn, m.
_SIZE_BOUNDS = 0.2, 5.0


def reach(model: VMSModel) -> float:
    """Return how far the robot reaches from its root in the neutral configuration, m.

    To the farthest link, or to the farthest end of a homogeneous body that has the inertia of one.
    What is drawn has this size; it is bounded for robots that have no extent, or a huge one.
    """
    d = model.evaluate(model.neutral_configuration(), np.zeros(model.nv))
    root = d.placement(model.link_names[0])[:3, 3]
    positions = [d.placement(name)[:3, 3] for name in model.link_names]
    distances = np.linalg.norm(np.array(positions) - root, axis=1).tolist()
    pin_model, data = d.tree.pinocchio, d.tree.data()
    pin.forwardKinematics(pin_model, data, d.tree.full_configuration(d.q))
    for centre, axes in body_ellipsoids(pin_model, data):
        longest_axis = float(np.linalg.norm(axes, axis=0).max())
        distances.append(float(np.linalg.norm(centre - root)) + longest_axis)
    return float(np.clip(max(distances), *_SIZE_BOUNDS))


def bar_offsets(model: VMSModel, size: float) -> list[Array]:
    """Return where the energy bars of a robot of a reach ``size`` are from its root, (3,) m."""
    upright, factor = size * up_axes(model.gravity), _BAR_FACTORS[model.base]
    # Kinetic energy; on a moving base also its parts of base and shape.
    return [upright @ (factor * _FIRST_BAR + k * _SEPARATION) for k in range(3 if model.b else 1)]


def body_ellipsoids(model: pin.Model, data: pin.Data) -> Iterator[tuple[Array, Array]]:
    """Yield the homogeneous ellipsoid of each body: centre (3,) and semi-axes, columns of (3,3), m.

    The bodies are where the joint placements of ``data`` have them.
    """
    for body, pose in zip(model.inertias, data.oMi, strict=True):
        if body.mass > 0.0:
            moments, axes = np.linalg.eigh(body.inertia)
            yield pose.act(body.lever), pose.rotation @ axes * _half_axes(moments, body.mass)


def up_direction(gravity: Array) -> Array:
    """Return the unit vector (3,) against gravity; z without it."""
    magnitude = float(np.linalg.norm(gravity))
    return -gravity / magnitude if magnitude > 0.0 else np.array([0.0, 0.0, 1.0])


def up_axes(gravity: Array) -> Array:
    """Return a rotation (3,3) whose last column points against gravity; the identity without it."""
    z_axis = np.array([0.0, 0.0, 1.0])
    return pin.Quaternion.FromTwoVectors(z_axis, up_direction(gravity)).matrix()


class Shapes:
    """The shapes of a robot's motion."""

    def __init__(self, scales: Scales, task: PositionTask) -> None:
        self._scales, self._task = scales, task
        model = task.model
        self._root = model.link_names[0]
        self.size = reach(model)
        self._max_length = self.size * scales.max_length
        self._up_rotation = up_axes(model.gravity)
        styles = legend.styles(port_names(model))
        self._colours = {name: rgba(style.colour) for name, style in styles.items()}
        mass, slow_speed = model.total_mass, _SLOW_RATE * self.size
        self._ranges = {
            "linear momentum": FittedRange(mass * slow_speed),
            "angular momentum": FittedRange(mass * slow_speed * self.size),
            "locked velocity": FittedRange(slow_speed),
            "locked angular velocity": FittedRange(_SLOW_RATE),
            "inertia": FittedRange(1e-3 * mass),
            "power": FittedRange(mass * slow_speed**2),
            "energy": FittedRange(mass * slow_speed**2),
        }

    def shapes(self, d: Evaluation, ports: Ports) -> list[Shape]:
        """Return all shapes at a state, with the powers of the given port efforts."""
        momentum = momenta(d)
        return [
            *self._momentum_shapes(d, momentum),
            *self._inertia_shapes(d, momentum),
            *self._power_shapes(d, ports, momentum.centre_of_mass),
            *self._energy_shapes(d),
        ]

    def _momentum_shapes(self, d: Evaluation, momentum: Momenta) -> Iterator[Shape]:
        s, centre = self._scales, momentum.centre_of_mass
        yield Ellipsoid("centre of mass", centre, np.eye(3), np.full(3, 0.02 * self.size), POINT)
        linear, angular = momentum.centroidal[:3], momentum.centroidal[3:]
        yield self._arrow("linear momentum", centre, linear, s.momentum, LINEAR)
        yield self._arrow("angular momentum", centre, angular, s.momentum, ANGULAR)
        if d.model.b:
            pose = d.placement(self._root)
            linear, angular = in_space(d.model.b, d.v_hat)
            for name, value in (("locked velocity", linear), ("locked angular velocity", angular)):
                yield self._arrow(name, pose[:3, 3], pose[:3, :3] @ value, s.velocity, LOCKED)

    def _inertia_shapes(self, d: Evaluation, momentum: Momenta) -> Iterator[Shape]:
        axes, radii = locked_ellipsoid(d)
        yield Ellipsoid("locked inertia", momentum.centre_of_mass, axes, radii, BODY)
        jacobian = self._task.jacobian(d)
        mobility = jacobian @ np.linalg.solve(d.M, jacobian.T)
        mobilities, axes = np.linalg.eigh((mobility + mobility.T) / 2)
        if np.linalg.svd(jacobian, compute_uv=False)[-1] > _MIN_SINGULAR_VALUE:
            masses = 1.0 / mobilities
            # The half axes of a fitted ellipsoid are a quarter of a fitted arrow.
            scale = 0.25 * self._scale("inertia", 0.0, masses)
            radii = np.minimum((self._scales.inertia or scale) * masses, self._max_length / 2)
            yield Ellipsoid("task inertia", self._task.value(d), _right_handed(axes), radii, TASK)

    def _power_shapes(self, d: Evaluation, ports: Ports, centre: Array) -> Iterator[Shape]:
        """Arrows at the ports, which point into the robot where the power is positive."""
        powers = list(self._port_powers(d, ports))
        scale = self._scale("power", self._scales.power, np.array([power for *_, power in powers]))
        for port, name, position, power in powers:
            yield self._power_arrow(name, position, centre, power, scale, self._colours[port])

    def _port_powers(self, d: Evaluation, ports: Ports) -> Iterator[tuple[str, str, Array, float]]:
        """Yield port, name, position and power of every port, and of every joint."""
        model, port_powers = d.model, ports.supplied(d)
        tool_position = d.placement(model.end_effector)[:3, 3]
        end_port, base_port = "wrench_end_effector", "wrench_base"
        yield end_port, f"power {legend.label_of(end_port)}", tool_position, port_powers[end_port]
        for name in model.tools:
            yield name, f"power at {name}", d.placement(name)[:3, 3], port_powers[name]
        if model.b:
            position = d.placement(self._root)[:3, 3]
            yield base_port, f"power {legend.label_of(base_port)}", position, port_powers[base_port]
        if ports.torque is None:
            return
        pinocchio, powers = d.tree.pinocchio, ports.torque * d.v[model.b :]
        for name, power in zip(model.joint_names, powers.tolist(), strict=True):
            position = d.placement(pinocchio.getFrameId(name, pin.FrameType.JOINT))[:3, 3]
            yield "torque", f"power {name}", position, power

    def _energy_shapes(self, d: Evaluation) -> Iterator[Shape]:
        origin = d.placement(self._root)[:3, 3]
        energies = {"kinetic": d.kinetic_energy}
        if d.model.b:
            base_part = 0.5 * float(d.p @ d.v_hat)
            energies |= {"kinetic_base": base_part, "kinetic_shape": d.kinetic_energy - base_part}
        scale = self._scale("energy", self._scales.energy, np.array([*energies.values()]))
        offsets = bar_offsets(d.model, self.size)
        for offset, (name, value) in zip(offsets, energies.items(), strict=True):
            label, colour, dashes = legend.LEGEND[name]
            height, text = min(scale * value, self._max_length), f"{label}\n{value:.3g} J"
            tint = rgba(colour, 0.45 if dashes else 0.9)
            bar = f"kinetic energy{label.removeprefix('kinetic')}"
            yield Bar(bar, origin + offset, max(height, 1e-3), text, tint, self._up_rotation[:, 2])

    def _scale(self, quantity: str, factor: float, values: Array) -> float:
        """Return the given scale, or, if it is zero, that of the range of the quantity."""
        return factor or _FULL_LENGTH * self.size / self._ranges[quantity].include(*values.tolist())

    def _power_arrow(
        self, name: str, position: Array, centre: Array, power: float, scale: float, colour: Rgba
    ) -> Arrow:
        inward = centre - position
        length = float(np.linalg.norm(inward))
        inward = inward / length if length > 1e-6 else -self._up_rotation[:, 2]
        arrow_length = min(scale * abs(power), self._max_length)
        if power < 0:
            return Arrow(name, position, -arrow_length * inward, colour)
        return Arrow(name, position - arrow_length * inward, arrow_length * inward, colour)

    def _arrow(self, name: str, start: Array, value: Array, scale: float, colour: Rgba) -> Arrow:
        vector = value * self._scale(name, scale, np.linalg.norm(value, keepdims=True))
        length = float(np.linalg.norm(vector))
        if length > self._max_length:
            vector = vector * (self._max_length / length)
        return Arrow(name, start, vector, colour)


def is_visible(arrow: Arrow) -> bool:
    """Return whether an arrow is long enough to be seen."""
    return float(np.linalg.norm(arrow.vector)) > _MIN_LENGTH


def locked_ellipsoid(d: Evaluation) -> tuple[Array, Array]:
    """Return axes (3,3), as columns, and half axes (3,), m, of a robot as one ellipsoid.

    It is homogeneous, with the mass and the inertia of the robot with locked joints about its
    centre of mass, in the axes of the inertial frame and without added mass.
    """
    data = d.tree.data()
    pin.ccrba(d.tree.pinocchio, data, d.q_origin, d.v_full)
    moments, axes = np.linalg.eigh(data.Ig.inertia)
    return _right_handed(axes), _half_axes(moments, d.model.total_mass)


def _half_axes(moments: Array, mass: float) -> Array:
    """Return the half axes (3,), m, of the homogeneous ellipsoid of a mass and its moments.

    A flat one is at least a millimetre thick on either side.
    """
    return np.sqrt(np.maximum(5 / mass * (moments.sum() / 2 - moments), 1e-6))


def _right_handed(axes: Array) -> Array:
    """Return an orthonormal (3,3) matrix as a rotation: with determinant 1."""
    return axes if np.linalg.det(axes) > 0 else axes * np.array([1.0, 1.0, -1.0])
