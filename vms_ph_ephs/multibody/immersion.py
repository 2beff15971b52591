# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A body in a fluid: added mass, buoyancy and drag with its heat.

The coefficients are those of :class:`~vms_ph_dynamics.actuation.fluid.ImmersedBody`. Kirchhoff's
equations of a body in an ideal fluid are Lie-Poisson equations with the added mass in the kinetic
energy, so that only energies change; drag is an Onsager structure.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from ..components import Component, Environment, Irreversible, Quadratic, Storage
from ..errors import StructureError
from ..patterns import power
from ..quantities import SE3_SPACE, entropy, momentum_of, pose_of
from ..systems import System, compose
from .body import Coupling, LiePoisson
from .joint import Offset
from .pairs import adjoint_of_inverse

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
