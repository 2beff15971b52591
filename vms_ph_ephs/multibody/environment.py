# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The surroundings of bodies: contact of feet with the ground, and immersion in a fluid.

The coefficients are those of :class:`~vms_ph_dynamics.actuation.fluid.ImmersedBody`. Kirchhoff's
equations of a body in an ideal fluid are Lie-Poisson equations with the added mass in the kinetic
energy, so that only energies change; drag is an Onsager structure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen

from ..components import (
    Component,
    Contact,
    Dissipation,
    Environment,
    NumberSpec,
    Quadratic,
    StorageLaw,
    kind,
)
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
    normal_vector = np.asarray(normal, dtype=np.float64)
    norm = float(np.linalg.norm(normal_vector)) if normal_vector.shape in ((2,), (3,)) else 0.0
    if not 0.0 < norm < np.inf:
        raise StructureError(
            f"the normal of a plane must be two or three numbers, not all zero; given: {normal}"
        )
    tangents = np.linalg.svd(normal_vector[None] / norm)[2][1:]
    return frozen(np.vstack([normal_vector / norm, tangents]))


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

    def in_frame(self, pose: Array) -> "Foot":
        """Return the foot with its point in the frame in which the present one has a pose."""
        return replace(self, point=tuple(pose[:3, :3] @ np.array(self.point) + pose[:3, 3]))


@kind("foot", "a point of a body that cannot pass a plane")
class FootContact(Contact):
    """The unilateral contact of a point of a body with a plane, with dry friction.

    Args:
        point, friction, restitution, height, normal: as those of a :class:`Foot`, with the point
            in the frame of the body.

    Raises:
        StructureError: a number of the foot is not accepted.
    """

    def __init__(
        self,
        point: Annotated[Any, NumberSpec("m")] = (0.0, 0.0, 0.0),
        friction: float = 0.6,
        restitution: float = 0.0,
        height: Annotated[float, NumberSpec("m")] = 0.0,
        normal: Sequence[float] = (0.0, 0.0, 1.0),
    ) -> None:
        self._axes = plane_axes(normal)
        self.point, self.height = frozen(np.array(point, dtype=np.float64)), float(height)
        self.normal = self._axes[0]
        if not (self.point.shape == self.normal.shape == (3,) and np.isfinite(self.point).all()):
            raise StructureError(
                "a foot needs a point and a normal of three finite numbers; given: "
                f"point {point}, normal {normal}"
            )
        x, y, z = self.point.tolist()
        skew = -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        self._jacobian = frozen(np.hstack([np.eye(3), skew]))
        super().__init__(
            pose_of(SE3_SPACE),
            self._distance,
            self._contact_rows,
            restitution=restitution,
            friction=friction,
        )

    def _distance(self, q: Array) -> float:
        return float(self.normal @ (q[:3, :3] @ self.point + q[:3, 3])) - self.height

    def _contact_rows(self, q: Array) -> Array:
        return np.asarray(self._axes @ q[:3, :3] @ self._jacobian)


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
        boxes[name] = FootContact(**vars(foot))
        for port in ("q", "p", "s"):
            junctions[port] += (f"{name}.{port}",)
    return compose(boxes, junctions, body.interface)


_BODY_P = momentum_of(SE3_SPACE)


@kind("weights", "constant forces")
class Weights(StorageLaw):
    """Potential energy of constant forces: ``V = -sum_k f_k . (R c_k + r)``, as buoyancy [C (17)].

    Args:
        forces: (k,3) in the inertial frame, N.
        points: (k,3) at which they act, in the body frame, m.
    """

    def __init__(
        self, forces: Annotated[Any, NumberSpec("N")], points: Annotated[Any, NumberSpec("m")]
    ) -> None:
        self.forces = frozen(np.array(forces, dtype=np.float64).reshape(-1, 3))
        self.points = frozen(np.array(points, dtype=np.float64).reshape(-1, 3))
        super().__init__({"q": power(pose_of(SE3_SPACE))})

    def _energy_at(self, q: Array) -> float:
        positions = self.points @ q[:3, :3].T + q[:3, 3]
        return -float((self.forces * positions).sum())

    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return minus the sums of the forces and of their moments, in the frame of the pose."""
        q, sums = states[0], [0.0] * 6
        for k in range(self.forces.shape[0]):
            f = [sum(q[j, i] * self.forces[k, j] for j in range(3)) for i in range(3)]
            x, y, z = (self.points[k, i] for i in range(3))
            moment = (y * f[2] - z * f[1], z * f[0] - x * f[2], x * f[1] - y * f[0])
            sums = [sum_entry - term for sum_entry, term in zip(sums, (*f, *moment), strict=True)]
        return sums


@kind("fluid_drag", "drag of a body in a fluid")
class FluidDrag(Dissipation):
    """The wrench ``(D_1 + D_2 |V_i|) V_i`` against the twist V of a frame, with its heat.

    Args:
        linear: (6,) D_1, N s/m and N m s.
        quadratic: (6,) D_2, N s^2/m^2 and N m s^2.

    Raises:
        StructureError: a coefficient is negative, or their number is another one.
    """

    def __init__(
        self,
        linear: Annotated[Any, NumberSpec("N s/m, N m s")],
        quadratic: Annotated[Any, NumberSpec("N s^2/m^2, N m s^2")],
    ) -> None:
        coefficients = [np.array(c, dtype=np.float64) for c in (linear, quadratic)]
        if any(c.shape != (6,) or not (c >= 0.0).all() for c in coefficients):
            raise StructureError(
                "the drag of a body must be two lists of six numbers that are not negative; "
                f"given: {linear}, {quadratic}"
            )
        self.linear, self.quadratic = (frozen(coefficient) for coefficient in coefficients)
        super().__init__({"p": power(_BODY_P), "s": power(entropy)})

    def forces(self, ops: Any, states: Any, u: Any, theta: Any) -> list[Any]:
        """Return the wrench."""
        return [
            (self.linear[i] + self.quadratic[i] * ops.function("abs", u[i])) * u[i]
            for i in range(6)
        ]


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
    mass_matrix = mass * np.eye(6)
    mass_matrix[3:, 3:] = np.asarray(inertia, dtype=np.float64)
    g = np.array(gravity, dtype=np.float64)
    forces, points = [mass * g], [np.zeros(3)]
    for pose, immersion in immersions:
        adjoint = adjoint_of_inverse(pose)
        mass_matrix += adjoint.T @ immersion.added_mass @ adjoint
        forces.append(-density * immersion.volume * g)
        points.append(pose[:3, :3] @ immersion.centre_of_buoyancy + pose[:3, 3])
    inverse = np.linalg.inv(mass_matrix)
    boxes: dict[str, System | Component] = {
        "pe": Weights(forces, points),
        "ke": Quadratic({"p": power(_BODY_P)}, 0.5 * (inverse + inverse.T)),
        "pkc": Coupling(pose_of(SE3_SPACE)),
        "lp": LiePoisson(SE3_SPACE),
    }
    junctions: dict[str, tuple[str, ...]] = {
        "q": ("pe.q", "pkc.q"),
        "p": ("ke.p", "pkc.p", "lp.p", "p"),
    }
    for k, (pose, immersion) in enumerate(immersions):
        if not (immersion.linear_drag.any() or immersion.quadratic_drag.any()):
            continue
        boxes[f"frame_{k}"] = Offset(pose, "p", "h")
        boxes[f"drag_{k}"] = FluidDrag(immersion.linear_drag, immersion.quadratic_drag)
        boxes["env"] = Environment(theta_0)
        junctions["p"] += (f"frame_{k}.p",)
        junctions[f"h_{k}"] = (f"frame_{k}.h", f"drag_{k}.p")
        junctions["s"] = (*junctions.get("s", ("env.s",)), f"drag_{k}.s")
    return compose(boxes, junctions, ["p"])
