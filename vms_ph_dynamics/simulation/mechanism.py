# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A door, a lever or a valve: a body that turns about an axis fixed in the surroundings."""

from dataclasses import dataclass
from math import cos, cosh, sin, tanh

import numpy as np

from ..arrays import Array, frozen, parameter
from ..errors import ModelError, StateError

# Newton iterations of a step, halvings of one of them, and the relative size of the last.
_MAX_ITERATIONS, _MAX_HALVINGS, _RELATIVE_TOLERANCE = 60, 30, 1e-14

# Beyond this argument the square of cosh has no room for its inverse.
_MAX_RATIO = 300.0


@dataclass(frozen=True, eq=False)
class Mechanism:
    r"""A body with one degree of freedom, and the grip by which an end effector holds its handle.

    ``H = p^2 / (2 inertia) + closer angle^2 / 2 + stiffness |s|^2 / 2`` with the momentum p and the
    distance s from the end effector to the handle. The grip transmits the force
    ``stiffness s + grip_damping ds/dt`` and no moment. The body is balanced about its axis: its
    weight does no work.

    Attributes:
        hinge: (3,) a point of the axis, relative to the handle at angle zero, in inertial axes, m.
        axis: (3,) direction of the axis in inertial axes; its length does not matter.
        inertia: about the axis, kg m^2.
        damping: viscous friction, N m s/rad.
        friction: Coulomb friction, N m, smoothed as that of joints, see :class:`.Friction`.
        slip: angular velocity over which it is smoothed, rad/s.
        closer: stiffness of a spring towards angle zero, N m/rad.
        grip_stiffness: N/m.
        grip_damping: N s/m.

    Raises:
        ModelError: a value is not accepted, or the handle lies on the axis.
    """

    hinge: Array
    axis: Array
    inertia: float
    damping: float = 0.0
    friction: float = 0.0
    slip: float = 0.01
    closer: float = 0.0
    grip_stiffness: float = 5000.0
    grip_damping: float = 100.0

    def __post_init__(self) -> None:
        """Check that it can turn and only loses energy."""
        positive = ("inertia", "slip", "grip_stiffness")
        for name in (*positive, "damping", "friction", "closer", "grip_damping"):
            number = getattr(self, name)
            if not (np.isfinite(number) and number >= 0.0) or (name in positive and number == 0.0):
                accepted = "be above zero" if name in positive else "not be negative"
                raise ModelError(f"{name} of a mechanism must {accepted}; given: {number}")
        hinge = parameter(self.hinge, 3, "hinge of a mechanism")
        axis = parameter(self.axis, 3, "axis of a mechanism")
        axis_norm = float(np.linalg.norm(axis))
        if axis_norm < 1e-9:
            raise ModelError("axis of a mechanism must be a direction; its length is zero")
        axis = axis / axis_norm
        radial = -(hinge - axis * (axis @ hinge))
        if np.linalg.norm(radial) < 1e-6:
            raise ModelError(
                f"the handle of a mechanism must be beside its axis; with hinge={hinge.tolist()} "
                f"and axis={axis.tolist()} it lies on it"
            )
        object.__setattr__(self, "axis", frozen(axis))
        object.__setattr__(self, "hinge", frozen(np.array(hinge)))
        object.__setattr__(self, "_arms", (radial, np.cross(axis, radial)))

    def displacement(self, angle: float) -> Array:
        """Return how far the handle is from its place at angle zero, (3,), inertial axes, m."""
        radial, tangential = self._arms  # type: ignore[attr-defined]
        return np.asarray((cos(angle) - 1.0) * radial + sin(angle) * tangential)

    def arm(self, angle: float) -> Array:
        """Return the handle relative to the nearest point of the axis, (3,), inertial axes, m."""
        radial, tangential = self._arms  # type: ignore[attr-defined]
        return np.asarray(cos(angle) * radial + sin(angle) * tangential)

    def lever(self, angle: float) -> Array:
        """Return the velocity of the handle per angular velocity, (3,), inertial axes, m/rad."""
        radial, tangential = self._arms  # type: ignore[attr-defined]
        return np.asarray(cos(angle) * tangential - sin(angle) * radial)

    def mean_lever(self, angle: float, angle_change: float) -> Array:
        """Return the displacement of the handle from ``angle`` on per change of the angle, (3,).

        It is the discrete gradient of :meth:`displacement`: a force held meanwhile does the work
        ``force . mean_lever angle_change``.
        """
        half_change = 0.5 * angle_change
        sinc = sin(half_change) / half_change if abs(half_change) > 1e-8 else 1.0
        return sinc * self.lever(angle + half_change)

    def energy(self, angle: float, rate: float) -> float:
        """Return kinetic energy and that of the closer, J."""
        return 0.5 * (self.inertia * rate * rate + self.closer * angle * angle)

    def friction_moment(self, rate: float) -> float:
        """Return the moment of friction at an angular velocity, N m; it acts against it."""
        return self.damping * rate + self.friction * tanh(rate / self.slip)

    def step(
        self, angle: float, rate: float, dt: float, locked_force: Array, stiffness: Array
    ) -> tuple[float, Array]:
        r"""Return the angle by which a step turns, and the force of the grip on the end effector.

        The implicit midpoint rule in the angle, with discrete gradients: kinetic energy, closer and
        friction account for the work of the grip to rounding.

        Args:
            angle: at the start of the step, rad.
            rate: likewise, rad/s.
            dt: the step, s.
            locked_force: (3,) force if the handle did not move, N.
            stiffness: (3,3) change of the force with the displacement of the handle, N/m.

        Raises:
            StateError: there is no finite solution.
        """

        def moment_balance(x: float) -> tuple[float, Array]:
            lever = self.mean_lever(angle, x)
            force = locked_force + stiffness @ (x * lever)
            moment = self.inertia * (2.0 * x / dt - 2.0 * rate) / dt + self.friction_moment(x / dt)
            moment += self.closer * (angle + 0.5 * x) + float(force @ lever)
            return moment, force

        x = dt * rate
        moment_error, force = moment_balance(x)
        for _ in range(_MAX_ITERATIONS):
            ratio = x / (dt * self.slip)
            slope = self.friction / self.slip / cosh(ratio) ** 2 if abs(ratio) < _MAX_RATIO else 0.0
            slope = 2.0 * self.inertia / dt**2 + (self.damping + slope) / dt + 0.5 * self.closer
            slope += float(self.mean_lever(angle, x) @ stiffness @ self.lever(angle + x))
            increment = -moment_error / slope
            for _ in range(_MAX_HALVINGS):
                new_error, new_force = moment_balance(x + increment)
                if abs(new_error) <= abs(moment_error):
                    break
                increment *= 0.5
            if not abs(new_error) < np.inf:
                raise StateError("the motion of the mechanism is not finite")
            if abs(new_error) >= abs(moment_error):
                break
            x, moment_error, force = x + increment, new_error, new_force
            if abs(increment) <= _RELATIVE_TOLERANCE * (abs(x) + dt * self.slip):
                break
        return x, force
