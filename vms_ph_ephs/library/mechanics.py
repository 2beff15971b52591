# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Mechanical parts: spring, damper, strut, point mass and the contact with a plane."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from ..components import Component, Contact, Irreversible, Quadratic, Reversible, Storage
from ..errors import StructureError
from ..multibody.environment import plane_axes
from ..patterns import power, state
from ..quantities import Euclidean, Quantity, displacement, entropy, momentum, momentum_of, pose_of
from ..systems import System, compose
from .parameters import Parameter, check_all

SPRING = (
    Parameter("stiffness", "N/m or N m/rad", "force per deflection", least=0.0, required=True),
    Parameter("rest", "m or rad", "deflection without force"),
    Parameter("viscous", "N s/m or N m s/rad", "friction beside it", least=0.0),
    Parameter("grounded", "", "whether one end is fixed", number=False),
    Parameter("shaft", "", "quantity of the ports p_1 and p_2, or p", number=False),
)


class LinearSpring(Storage):
    """Stores ``stiffness (q - rest)^2 / 2`` of the deflection at the port q.

    Args:
        stiffness: N/m or N m/rad.
        rest: m or rad.
    """

    def __init__(self, stiffness: float, rest: float = 0.0) -> None:
        check_all("spring", SPRING, locals())
        self.stiffness, self.rest = float(stiffness), float(rest)
        super().__init__(
            {"q": power(displacement)}, self._value, self._slope, self._curve, lower_bound=0.0
        )

    def described(self) -> Mapping[str, Any]:
        """Return stiffness and rest."""
        return {"kind": "linear_spring", "stiffness": self.stiffness, "rest": self.rest}

    def _value(self, q: Array) -> float:
        return 0.5 * self.stiffness * float(q[0] - self.rest) ** 2

    def _slope(self, q: Array) -> Array:
        return self.stiffness * (q - self.rest)

    def _curve(self, q: Array) -> Array:
        return np.array([[self.stiffness]])


def spring(
    stiffness: float,
    rest: float = 0.0,
    viscous: float = 0.0,
    grounded: bool = False,
    shaft: Quantity = momentum,
) -> System:
    """Return a spring with the ports p_1 and p_2, or p where one end is fixed, and s with friction.

    The deflection ``pe.q`` grows at ``u_2 - u_1``, or u. Boxes: ``pe``, ``pkc``; between two
    bodies ``ends``, with friction ``mf``.

    Args:
        stiffness: N/m or N m/rad.
        rest: deflection without force, m or rad.
        viscous: friction beside the spring, N s/m or N m s/rad.
        grounded: whether one end is fixed.
        shaft: quantity of the ports.

    Raises:
        StructureError: a parameter is not accepted.
    """
    check_all("spring", SPRING, locals())
    inner = shaft if grounded else momentum
    ports = {"q": power(displacement), "p": power(inner)}
    boxes: dict[str, System | Component] = {
        "pe": LinearSpring(stiffness, rest),
        "pkc": Reversible(ports, skew=[[0, -1], [1, 0]]),
    }
    junctions: dict[str, tuple[str, ...]] = {"q": ("pe.q", "pkc.q"), "p": ("pkc.p",)}
    if grounded:
        junctions["p"] += ("p",)
        outer = ["p"]
    else:
        ends = {"p_1": power(shaft), "p_2": power(shaft), "p": power(momentum)}
        boxes["ends"] = Reversible(ends, constraint=[[-1.0, 1.0, -1.0]])
        junctions["p"] += ("ends.p",)
        junctions |= {"p_1": ("ends.p_1", "p_1"), "p_2": ("ends.p_2", "p_2")}
        outer = ["p_1", "p_2"]
    if viscous:
        boxes["mf"] = Damper(viscous, shaft=inner)
        junctions["p"] += ("mf.p",)
        junctions["s"] = ("mf.s", "s")
        outer.append("s")
    return compose(boxes, junctions, outer)


DAMPER = (
    Parameter("viscous", "N s/m or N m s/rad", "force per velocity", least=0.0),
    Parameter("dry", "N or N m", "force of sliding, smoothed", least=0.0),
    Parameter("slip", "m/s or rad/s", "velocity at which dry friction is reached", above=0.0),
    Parameter("shaft", "", "quantity of the port p", number=False),
)


class Damper(Irreversible):
    """The force ``viscous v + dry tanh(v / slip)`` at the port p, with its heat at the port s.

    Args:
        viscous: N s/m or N m s/rad.
        dry: N or N m.
        slip: m/s or rad/s.
        shaft: quantity of the port p, a momentum of one degree of freedom.
    """

    def __init__(
        self, viscous: float = 0.0, dry: float = 0.0, slip: float = 0.01, shaft: Quantity = momentum
    ) -> None:
        check_all("damper", DAMPER, {"viscous": viscous, "dry": dry, "slip": slip})
        self.viscous, self.dry, self.slip = float(viscous), float(dry), float(slip)
        ports = {"p": power(shaft), "s": power(entropy)}
        super().__init__(ports, rows=self._root, conductance=1.0)

    def described(self) -> Mapping[str, Any]:
        """Return the coefficients."""
        return {
            "kind": "damper",
            "viscous": self.viscous,
            "dry": self.dry,
            "slip": self.slip,
            "shaft": self.interface["p"].quantity,
        }

    def flows(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        """Return the force and the heat."""
        v = float(e[0])
        force = self.viscous * v + self.dry * np.tanh(v / self.slip)
        return np.array([force, -v * force / (theta_0 + float(e[1]))])

    def _root(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        slope = self.viscous + self.dry / self.slip * tanh_ratio(float(e[0]) / self.slip)
        return np.array([[np.sqrt(slope)]])


def damper(**values: Any) -> Damper:
    """Return a :class:`Damper`."""
    return Damper(**values)


def tanh_ratio(x: float) -> float:
    """Return ``tanh(x) / x``, one at zero."""
    return float(np.tanh(x) / x) if abs(x) > 1e-4 else 1.0 - x * x / 3.0


STRUT = (Parameter("dimension", "", "of space, 2 or 3", number=False),)


class Strut(Reversible):
    """A massless telescopic strut: ``0 = n . (v_2 - v_1) - u`` along the line between two points.

    Its ports p_1 and p_2 are those of the points, q_1 and q_2 read their positions, and the port p
    is that of the length: its effort is the rate u, and a force that shortens the strut acts at it.

    Args:
        dimension: of space, 2 or 3.

    Raises:
        StructureError: the dimension is another one.
    """

    def __init__(self, dimension: int = 3) -> None:
        if dimension not in (2, 3):
            raise StructureError(f"a strut is in a space of 2 or 3 dimensions; given: {dimension}")
        self._dimension = dimension
        position, force = pose_of(Euclidean(dimension)), momentum_of(Euclidean(dimension))
        super().__init__(
            {
                "q_1": state(position),
                "q_2": state(position),
                "p_1": power(force),
                "p_2": power(force),
                "p": power(momentum),
            },
            constraint=self._matrix,
            constraint_rate=self._rate,
            reads=("q_1", "q_2"),
            constant_columns=("p",),
        )

    def described(self) -> Mapping[str, Any]:
        """Return the dimension."""
        return {"kind": "strut", "dimension": self._dimension}

    def _matrix(self, q_1: Array, q_2: Array) -> Array:
        n = _along(q_2 - q_1)[0]
        return np.concatenate([-n, n, [-1.0]])[None]

    def _rate(self, states: tuple[Array, ...], rates: Array, e: Array) -> Array:
        d = self._dimension
        n, length = _along(states[1] - states[0])
        across = rates[d:] - rates[:d]
        across = across - n * float(n @ across)
        return np.array([float(across @ (e[d : 2 * d] - e[:d])) / length])


def _along(line: Array) -> tuple[Array, float]:
    """Return the unit vector of a line and its length, which is kept from zero."""
    length = max(float(np.sqrt(line @ line)), 1e-12)
    return line / length, length


def strut(**values: Any) -> Strut:
    """Return a :class:`Strut`."""
    return Strut(**values)


POINT_MASS = (
    Parameter("mass", "kg", "of the point", above=0.0, required=True),
    Parameter("gravity", "m/s^2", "two or three numbers", number=False),
)


class PointWeight(Storage):
    """Potential energy ``V = w . r`` of a point at the position r.

    Args:
        weight: (d,) w, minus the force of gravity, N.
    """

    def __init__(self, weight: Any) -> None:
        self._weight = frozen(np.array(weight, dtype=np.float64).ravel())
        position = pose_of(Euclidean(self._weight.size))
        super().__init__({"q": power(position)}, self._value, self._slope)

    def described(self) -> Mapping[str, Any]:
        """Return the weight."""
        return {"kind": "point_weight", "weight": self._weight}

    def _value(self, q: Array) -> float:
        return float(self._weight @ q)

    def _slope(self, q: Array) -> Array:
        return self._weight


def point_mass(mass: float, gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> System:
    """Return a point mass with the port p and, for what reads its position, the state port q.

    Boxes: ``pe``, ``ke``, ``pkc``. The port p takes a force and gives the velocity, in the axes of
    the inertial frame.

    Args:
        mass: kg.
        gravity: (2,) or (3,), m/s^2; it also says whether the point moves in a plane.

    Raises:
        StructureError: a parameter is not accepted.
    """
    check_all("point_mass", POINT_MASS, {"mass": mass})
    g = np.asarray(gravity, dtype=np.float64)
    if g.shape not in ((2,), (3,)) or not np.isfinite(g).all():
        raise StructureError(
            f"the gravity of a point mass must be two or three finite numbers; given: {gravity}"
        )
    d = g.size
    position, momentum = pose_of(Euclidean(d)), momentum_of(Euclidean(d))
    zero, unit = np.zeros((d, d)), np.eye(d)
    ports = {"q": power(position), "p": power(momentum)}
    return compose(
        {
            "pe": PointWeight(-mass * g),
            "ke": Quadratic({"p": power(momentum)}, unit / mass),
            "pkc": Reversible(ports, skew=np.block([[zero, -unit], [unit, zero]])),
        },
        {"q": ("pe.q", "pkc.q", "q"), "p": ("ke.p", "pkc.p", "p")},
        {"q": state(position), "p": power(momentum)},
    )


PLANE_CONTACT = (
    Parameter("friction", "", "coefficient", least=0.0),
    Parameter("restitution", "", "share of an approach velocity that returns", least=0.0),
    Parameter("height", "m", "of the plane along its normal"),
    Parameter("normal", "", "two or three numbers", number=False),
)


class PlaneContact(Contact):
    """A point that cannot pass a plane, with dry friction; ports q (read), p and s.

    Args:
        friction: coefficient.
        restitution: from 0 to 1.
        height: of the plane along its normal, m.
        normal: (2,) or (3,) in the inertial frame; its length does not count.

    Raises:
        StructureError: a parameter is not accepted.
    """

    def __init__(
        self,
        friction: float = 0.6,
        restitution: float = 0.0,
        height: float = 0.0,
        normal: Sequence[float] = (0.0, 0.0, 1.0),
    ) -> None:
        numbers = {"friction": friction, "restitution": restitution, "height": height}
        check_all("plane_contact", PLANE_CONTACT, numbers)
        self._axes, self._height = plane_axes(normal), float(height)
        super().__init__(
            pose_of(Euclidean(self._axes.shape[1])),
            self._distance,
            lambda q: self._axes,
            restitution=restitution,
            friction=friction,
        )

    def described(self) -> Mapping[str, Any]:
        """Return the parameters."""
        return {
            "kind": "plane_contact",
            "friction": self.friction,
            "restitution": self.restitution,
            "height": self._height,
            "normal": self._axes[0],
        }

    def _distance(self, q: Array) -> float:
        return float(self._axes[0] @ q) - self._height


def plane_contact(**values: Any) -> PlaneContact:
    """Return a :class:`PlaneContact`."""
    return PlaneContact(**values)
