# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The surroundings of bodies: contact of feet with the ground, and immersion in a fluid.

The coefficients are those of :class:`~vms_ph_dynamics.actuation.fluid.ImmersedBody`. Kirchhoff's
equations of a body in an ideal fluid are Lie-Poisson equations with the added mass in the kinetic
energy, so that only energies change; drag is an Onsager structure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from ..components import Component, Contact, Environment, Irreversible, Quadratic, Storage
from ..errors import PatternError, StructureError
from ..patterns import power
from ..quantities import SE3_SPACE, entropy, momentum_of, pose_of
from ..systems import System, compose
from .body import Coupling, LiePoisson
from .joint import Offset
from .pairs import adjoint_of_inverse


def plane_axes(normal: Any) -> Array:
    """Return the unit normal of a plane and the directions across it as rows, (d,d).

    Raises:
        StructureError: the normal is not one of two or three numbers, or zero.
    """
    along = np.asarray(normal, dtype=np.float64)
    length = float(np.linalg.norm(along)) if along.shape in ((2,), (3,)) else 0.0
    if not 0.0 < length < np.inf:
        raise StructureError(
            f"the normal of a plane must be two or three numbers, not all zero; given: {normal}"
        )
    across = np.linalg.svd(along[None] / length)[2][1:]
    return frozen(np.vstack([along / length, across]))


@dataclass(frozen=True)
class Foot:
    """A point of a body and the plane that it may touch.

    Attributes:
        point: (3,) in the frame of the body or link that the foot is given for, m.
        friction: coefficient, not negative.
        restitution: share of the approach velocity that an impact returns, from 0 to 1.
        height: of the plane along its normal, m.
        normal: (3,) of the plane in the inertial frame; its length does not count.
    """

    point: Sequence[float] = (0.0, 0.0, 0.0)
    friction: float = 0.6
    restitution: float = 0.0
    height: float = 0.0
    normal: Sequence[float] = (0.0, 0.0, 1.0)

    def at(self, pose: Array) -> "Foot":
        """Return the foot with its point in the frame in which the present one has a pose."""
        return replace(self, point=tuple(pose[:3, :3] @ np.array(self.point) + pose[:3, 3]))


class FootContact(Contact):
    """The unilateral contact of a point of a body with a plane, with dry friction.

    Args:
        foot: with its point in the frame of the body.

    Raises:
        StructureError: a number of the foot is not accepted.
    """

    def __init__(self, foot: Foot) -> None:
        point, axes = np.array(foot.point, dtype=np.float64), plane_axes(foot.normal)
        fits = point.shape == (3,) and np.isfinite(point).all() and np.isfinite(foot.height)
        if not fits or axes.shape != (3, 3):
            raise StructureError(
                "a foot needs a point and a normal of three numbers and a finite height; given: "
                f"point {foot.point}, height {foot.height}, normal {foot.normal}"
            )
        self.foot = foot
        self._point, self._height = frozen(point), float(foot.height)
        self._axes = axes
        x, y, z = point.tolist()
        turning = -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        self._of_twist = frozen(np.hstack([np.eye(3), turning]))
        super().__init__(
            pose_of(SE3_SPACE),
            self._distance,
            self._moving,
            restitution=foot.restitution,
            friction=foot.friction,
        )

    def described(self) -> Mapping[str, Any]:
        """Return the numbers of the foot."""
        return {
            "kind": "foot",
            "point": self._point,
            "friction": self.friction,
            "restitution": self.restitution,
            "height": self._height,
            "normal": self._axes[0],
        }

    def _distance(self, q: Array) -> float:
        return float(self._axes[0] @ (q[:3, :3] @ self._point + q[:3, 3])) - self._height

    def _moving(self, q: Array) -> Array:
        return np.asarray(self._axes @ q[:3, :3] @ self._of_twist)


def with_feet(body: System, feet: Mapping[str, Foot], theta_0: float = 298.15) -> System:
    """Return a body with feet; its port p is as before, and its environment takes their heat.

    Args:
        body: made by :func:`.rigid_body` or :func:`.immersed_body`.
        feet: by name, with points in the frame of the body; each becomes a box.
        theta_0: temperature of the environment, K.

    Raises:
        PatternError: the name of a foot is taken by a box of the body.
        StructureError: a number of a foot is not accepted.
    """
    boxes: dict[str, System | Component] = dict(body.fillings)
    junctions = {name: tuple(ends) for name, ends in body.pattern.junctions.items()}
    if feet and "env" not in boxes:
        boxes["env"] = Environment(theta_0)
        junctions["s"] = ("env.s",)
    for name, foot in feet.items():
        if name in boxes:
            raise PatternError(
                f"a foot cannot be named '{name}', which is a box of its body; the boxes are "
                f"{', '.join(boxes)}"
            )
        boxes[name] = FootContact(foot)
        for port in ("q", "p", "s"):
            junctions[port] += (f"{name}.{port}",)
    return compose(boxes, junctions, body.interface)


_P = momentum_of(SE3_SPACE)


class Weights(Storage):
    """Potential energy of constant forces: ``V = -sum_k f_k . (R c_k + r)``, as buoyancy [C (17)].

    Args:
        forces: (k,3) in the inertial frame, N.
        points: (k,3) at which they act, in the body frame, m.
    """

    def __init__(self, forces: Any, points: Any) -> None:
        self._forces = frozen(np.array(forces, dtype=np.float64).reshape(-1, 3))
        self._points = frozen(np.array(points, dtype=np.float64).reshape(-1, 3))
        super().__init__({"q": power(pose_of(SE3_SPACE))}, self._value, self._slope)

    def described(self) -> Mapping[str, Any]:
        """Return forces and points."""
        return {"kind": "weights", "forces": self._forces, "points": self._points}

    def _value(self, q: Array) -> float:
        places = self._points @ q[:3, :3].T + q[:3, 3]
        return -float((self._forces * places).sum())

    def _slope(self, q: Array) -> Array:
        forces = self._forces @ q[:3, :3]
        return -np.concatenate([forces.sum(axis=0), np.cross(self._points, forces).sum(axis=0)])


class FluidDrag(Irreversible):
    """The wrench ``(D_1 + D_2 |V_i|) V_i`` against the twist V of a frame, with its heat.

    Args:
        linear: (6,) D_1, N s/m and N m s.
        quadratic: (6,) D_2, N s^2/m^2 and N m s^2.

    Raises:
        StructureError: a coefficient is negative, or their number is another one.
    """

    def __init__(self, linear: Any, quadratic: Any) -> None:
        d = [np.array(coefficients, dtype=np.float64) for coefficients in (linear, quadratic)]
        if any(coefficients.shape != (6,) or not (coefficients >= 0.0).all() for coefficients in d):
            raise StructureError(
                "the drag of a body must be two lists of six numbers that are not negative; "
                f"given: {linear}, {quadratic}"
            )
        self._linear, self._quadratic = (frozen(coefficients) for coefficients in d)
        ports = {"p": power(_P), "s": power(entropy)}
        super().__init__(ports, rows=self._root, conductance=1.0)

    def described(self) -> Mapping[str, Any]:
        """Return the coefficients."""
        return {"kind": "fluid_drag", "linear": self._linear, "quadratic": self._quadratic}

    def _root(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        return np.diag(np.sqrt(self._linear + self._quadratic * np.abs(e[:6])))


def immersed_body(
    mass: float,
    inertia: Any,
    gravity: Sequence[float],
    immersions: Sequence[tuple[Array, Any]],
    density: float,
    theta_0: float,
) -> System:
    """Return a rigid body in a fluid at rest; its port p is that of :func:`.rigid_body`.

    Boxes: those of the rigid body, and for drag ``frame_k``, ``drag_k`` and ``env``.

    Args:
        mass: kg.
        inertia: (3,3) about the centre of mass, in body axes, kg m^2.
        gravity: (3,) in the inertial frame, m/s^2.
        immersions: pose of every link in the body, (4,4), and its
            :class:`~vms_ph_dynamics.actuation.fluid.ImmersedBody`.
        density: of the fluid, kg/m^3.
        theta_0: temperature of the fluid, K.
    """
    total = np.zeros((6, 6))
    total[:3, :3], total[3:, 3:] = mass * np.eye(3), np.asarray(inertia, dtype=np.float64)
    g = np.array(gravity, dtype=np.float64)
    forces, points = [mass * g], [np.zeros(3)]
    for pose, link in immersions:
        to = adjoint_of_inverse(pose)
        total += to.T @ link.added_mass @ to
        forces.append(-density * link.volume * g)
        points.append(pose[:3, :3] @ link.centre_of_buoyancy + pose[:3, 3])
    inverse = np.linalg.inv(total)
    boxes: dict[str, System | Component] = {
        "pe": Weights(forces, points),
        "ke": Quadratic({"p": power(_P)}, 0.5 * (inverse + inverse.T)),
        "pkc": Coupling(pose_of(SE3_SPACE)),
        "lp": LiePoisson(SE3_SPACE),
    }
    junctions: dict[str, tuple[str, ...]] = {
        "q": ("pe.q", "pkc.q"),
        "p": ("ke.p", "pkc.p", "lp.p", "p"),
    }
    for k, (pose, link) in enumerate(immersions):
        if not (link.linear_drag.any() or link.quadratic_drag.any()):
            continue
        boxes[f"frame_{k}"] = Offset(pose, "p", "h")
        boxes[f"drag_{k}"] = FluidDrag(link.linear_drag, link.quadratic_drag)
        boxes["env"] = Environment(theta_0)
        junctions["p"] += (f"frame_{k}.p",)
        junctions[f"h_{k}"] = (f"frame_{k}.h", f"drag_{k}.p")
        junctions["s"] = (*junctions.get("s", ("env.s",)), f"drag_{k}.s")
    return compose(boxes, junctions, ["p"])
