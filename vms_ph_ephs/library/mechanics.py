# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Mechanical parts: spring, damper, strut, point mass and the contact with a plane."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen

from ..components import (
    Component,
    Contact,
    Dissipation,
    NumberSpec,
    Quadratic,
    Reversible,
    StorageLaw,
    kind,
)
from ..errors import StructureError
from ..multibody.environment import plane_axes
from ..multibody.friction import Dry, Slip, Viscous, coulomb_force
from ..patterns import power, state
from ..quantities import Euclidean, Quantity, displacement, entropy, momentum, momentum_of, pose_of
from ..systems import System, compose

Stiffness = Annotated[float, NumberSpec("N/m or N m/rad", "force per deflection", least=0.0)]
RestPosition = Annotated[float, NumberSpec("m or rad", "deflection without force")]


@kind("linear_spring", "energy")
class LinearSpring(StorageLaw):
    """Stores ``stiffness (q - rest)^2 / 2`` of the deflection at the port q.

    Args:
        stiffness: N/m or N m/rad.
        rest: m or rad.
    """

    def __init__(self, stiffness: Stiffness, rest: RestPosition = 0.0) -> None:
        self.stiffness, self.rest = float(stiffness), float(rest)
        super().__init__({"q": power(displacement)}, lower_bound=0.0)

    def _energy_at(self, q: Array) -> float:
        return 0.5 * self.stiffness * float(q[0] - self.rest) ** 2

    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return the force."""
        return [self.stiffness * (states[0][0] - self.rest)]

    def hessian(self, *states: Array) -> Array:
        """Return the stiffness."""
        return np.array([[self.stiffness]])


@kind("spring", "between two bodies or to the ground; ports p_1, p_2 or p")
def spring(
    stiffness: Stiffness,
    rest: RestPosition = 0.0,
    viscous: Viscous = 0.0,
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
    length_quantity = shaft if grounded else momentum
    ports = {"q": power(displacement), "p": power(length_quantity)}
    boxes: dict[str, System | Component] = {
        "pe": LinearSpring(stiffness, rest),
        "pkc": Reversible(ports, skew=[[0, -1], [1, 0]]),
    }
    junctions: dict[str, tuple[str, ...]] = {"q": ("pe.q", "pkc.q"), "p": ("pkc.p",)}
    if grounded:
        junctions["p"] += ("p",)
        outer_ports = ["p"]
    else:
        ends = {"p_1": power(shaft), "p_2": power(shaft), "p": power(momentum)}
        boxes["ends"] = Reversible(ends, constraint=[[-1.0, 1.0, -1.0]])
        junctions["p"] += ("ends.p",)
        junctions |= {"p_1": ("ends.p_1", "p_1"), "p_2": ("ends.p_2", "p_2")}
        outer_ports = ["p_1", "p_2"]
    if viscous:
        boxes["mf"] = Damper(viscous, shaft=length_quantity)
        junctions["p"] += ("mf.p",)
        junctions["s"] = ("mf.s", "s")
        outer_ports.append("s")
    return compose(boxes, junctions, outer_ports)


@kind("damper", "viscous and dry friction with heat; ports p, s")
class Damper(Dissipation):
    """The force ``viscous v + dry tanh(v / slip)`` at the port p, with its heat at the port s.

    Args:
        viscous: N s/m or N m s/rad.
        dry: N or N m.
        slip: m/s or rad/s.
        shaft: quantity of the port p, a momentum of one degree of freedom.
    """

    softening = reference = 0.0  # does not depend on temperature

    def __init__(
        self, viscous: Viscous = 0.0, dry: Dry = 0.0, slip: Slip = 0.01, shaft: Quantity = momentum
    ) -> None:
        self.shaft = shaft
        self.viscous, self.dry, self.slip = float(viscous), float(dry), float(slip)
        super().__init__({"p": power(shaft), "s": power(entropy)})

    def forces(self, ops: Any, states: Any, u: Any, theta: Any) -> list[Any]:
        """Return the force."""
        return [coulomb_force(ops, self, u[0], theta)]


@kind("strut", "the distance of two points; ports q_1, q_2, p_1, p_2, p")
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
        self.dimension = dimension
        position, point_momentum = pose_of(Euclidean(dimension)), momentum_of(Euclidean(dimension))
        super().__init__(
            {
                "q_1": state(position),
                "q_2": state(position),
                "p_1": power(point_momentum),
                "p_2": power(point_momentum),
                "p": power(momentum),
            },
            constraint=self._matrix,
            constraint_rate=self._rate,
            reads=("q_1", "q_2"),
            constant_columns=("p",),
        )

    def _matrix(self, q_1: Array, q_2: Array) -> Array:
        n = _direction(q_2 - q_1)[0]
        return np.concatenate([-n, n, [-1.0]])[None]

    def _rate(self, states: tuple[Array, ...], rates: Array, e: Array) -> Array:
        d = self.dimension
        n, length = _direction(states[1] - states[0])
        velocity = rates[d:] - rates[:d]
        velocity = velocity - n * float(n @ velocity)
        return np.array([float(velocity @ (e[d : 2 * d] - e[:d])) / length])


def _direction(separation: Array) -> tuple[Array, float]:
    """Return the unit vector of a line and its length, which is kept from zero."""
    length = max(float(np.sqrt(separation @ separation)), 1e-12)
    return separation / length, length


@kind("point_weight", "weight of a point mass")
class PointWeight(StorageLaw):
    """Potential energy ``V = w . r`` of a point at the position r.

    Args:
        weight: (d,) w, minus the force of gravity, N.
    """

    def __init__(self, weight: Annotated[Any, NumberSpec("N")]) -> None:
        self.weight = frozen(np.array(weight, dtype=np.float64).ravel())
        super().__init__({"q": power(pose_of(Euclidean(self.weight.size)))})

    def _energy_at(self, q: Array) -> float:
        return float(self.weight @ q)

    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return the weight."""
        return [self.weight[i] for i in range(self.width)]


@kind("point_mass", "a mass without extent; ports q (read), p")
def point_mass(
    mass: Annotated[float, NumberSpec("kg", "of the point", above=0.0)],
    gravity: Annotated[Sequence[float], NumberSpec("m/s^2", "two or three numbers")] = (
        0,
        0,
        -9.81,
    ),
) -> System:
    """Return a point mass with the port p and, for what reads its position, the state port q.

    Boxes: ``pe``, ``ke``, ``pkc``. The port p takes a force and gives the velocity, in the axes of
    the inertial frame.

    Args:
        mass: kg.
        gravity: (2,) or (3,), m/s^2; it also says whether the point moves in a plane.

    Raises:
        StructureError: a parameter is not accepted.
    """
    g = np.asarray(gravity, dtype=np.float64)
    if g.shape not in ((2,), (3,)) or not np.isfinite(g).all():
        raise StructureError(
            f"the gravity of a point mass must be two or three finite numbers; given: {gravity}"
        )
    d = g.size
    position_quantity, momentum_quantity = pose_of(Euclidean(d)), momentum_of(Euclidean(d))
    zero, identity = np.zeros((d, d)), np.eye(d)
    ports = {"q": power(position_quantity), "p": power(momentum_quantity)}
    return compose(
        {
            "pe": PointWeight(-mass * g),
            "ke": Quadratic({"p": power(momentum_quantity)}, identity / mass),
            "pkc": Reversible(ports, skew=np.block([[zero, -identity], [identity, zero]])),
        },
        {"q": ("pe.q", "pkc.q", "q"), "p": ("ke.p", "pkc.p", "p")},
        {"q": state(position_quantity), "p": power(momentum_quantity)},
    )


@kind("plane_contact", "a point that cannot pass a plane; ports q (read), p, s")
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
        friction: Annotated[float, NumberSpec("", "coefficient", least=0.0)] = 0.6,
        restitution: Annotated[
            float, NumberSpec("", "share of an approach velocity that returns", least=0.0)
        ] = 0.0,
        height: Annotated[float, NumberSpec("m", "of the plane along its normal")] = 0.0,
        normal: Annotated[Sequence[float], NumberSpec("", "two or three numbers")] = (
            0.0,
            0.0,
            1.0,
        ),
    ) -> None:
        self._axes, self.height = plane_axes(normal), float(height)
        self.normal = self._axes[0]
        super().__init__(
            pose_of(Euclidean(self._axes.shape[1])),
            self._distance,
            lambda q: self._axes,
            restitution=restitution,
            friction=friction,
        )

    def _distance(self, q: Array) -> float:
        return float(self.normal @ q) - self.height
