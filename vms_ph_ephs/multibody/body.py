# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Rigid bodies and the ground."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen
from vms_ph_dynamics.robot.inertia import check_inertia

from ..components import Quadratic, Reversible, Storage
from ..errors import StructureError
from ..patterns import power
from ..quantities import SE3_SPACE, LieGroup, momentum_of, pose_of
from ..systems import System, compose


class Ground(Reversible):
    """A body that does not move: ``0 = u``; the multiplier is the reaction wrench.

    Args:
        pose: (4,4) of its frame in the inertial frame; the identity when None.
    """

    def __init__(self, pose: Array | None = None) -> None:
        fixed = frozen(np.eye(4) if pose is None else np.array(pose, dtype=np.float64))
        super().__init__({"p": power(momentum_of(SE3_SPACE))}, constraint=np.eye(6))
        self.fixes = ("p", fixed)

    def described(self) -> Mapping[str, Any]:
        """Return its pose."""
        return {"kind": "ground", "pose": self.fixes[1]}


GRAVITY = (0.0, 0.0, -9.81)


class Gravity(Storage):
    """Potential energy ``V = -m g.r`` of a mass whose pose is in SE(3) or SO(3) x R^3 [C (17)].

    Source C writes ``V = m g(r)`` with g the upward gradient; here g is the acceleration of
    gravity, as in a URDF.

    Args:
        mass: kg.
        gravity: (3,) in the inertial frame, m/s^2.
        space: of the pose.
    """

    def __init__(self, mass: float, gravity: Sequence[float], space: LieGroup) -> None:
        self._weight = frozen(-mass * np.array(gravity, dtype=np.float64))
        self._body_fixed = space.name == "SE(3)"
        super().__init__({"q": power(pose_of(space))}, self._value, self._slope)

    def described(self) -> Mapping[str, Any] | None:
        """Return the weight, for a pose in SE(3)."""
        return {"kind": "gravity", "weight": self._weight} if self._body_fixed else None

    def _value(self, q: Array) -> float:
        return float(self._weight @ q[:3, 3])

    def _slope(self, q: Array) -> Array:
        out = np.zeros(6)
        out[:3] = self._weight @ q[:3, :3] if self._body_fixed else self._weight
        return out

    def discrete(
        self,
        before: tuple[Array, ...],
        middle: tuple[Array, ...],
        after: tuple[Array, ...],
        u: Array,
    ) -> Array:
        """Return the effort whose product with a Cayley step is the change of energy, exactly."""
        f = self._slope(before[0])
        if self._body_fixed:
            w = u[3:]
            f[:3] = (f[:3] + 0.5 * np.cross(f[:3], w)) / (1.0 + 0.25 * float(w @ w))
        return f


class LiePoisson(Reversible):
    """Gyroscopic forces: ``f = -ad*_e(p)``, the Lie-Poisson structure [C (19)].

    Args:
        space: the group.
    """

    def __init__(self, space: LieGroup) -> None:
        self._group = space.group
        ports = {"p": power(momentum_of(space))}
        super().__init__(ports, skew=self._matrix, reads=("p",))
        self._fast = space.name == "SE(3)"

    @property
    def is_lawful(self) -> bool:
        """True: coadjoint motions keep the energy."""
        return True

    def described(self) -> Mapping[str, Any] | None:
        """Return nothing further, for SE(3)."""
        return {"kind": "lie_poisson"} if self._fast else None

    def _matrix(self, p: Array) -> Array:
        return -self._group.lie_poisson(p)

    def bracket(self, states: tuple[Array, ...], e: Array) -> Array:
        """Return ``-(f x w, m x w + f x v)`` for the momentum (f, m) and the twist (v, w)."""
        p = states[0]
        if not self._fast:
            return -(self._group.coad(e) @ p)
        a, b, c, d, f, g = p.tolist()
        u, v, w, x, y, z = e.tolist()
        return np.array(
            [
                c * y - b * z,
                a * z - c * x,
                b * x - a * y,
                g * y - f * z + c * v - b * w,
                d * z - g * x + a * w - c * u,
                f * x - d * y + b * u - a * v,
            ]
        )


class Coupling(Reversible):
    """Potential and kinetic energy: ``qdot = q hat(u)``, and the force of the potential [C (21)].

    Flows and efforts of poses are left-trivialised, so the structure is constant.

    Args:
        pose: quantity of the state.
        velocity_port, pose_port: names of the ports.
    """

    def __init__(self, pose: Any, pose_port: str = "q", velocity_port: str = "p") -> None:
        d = pose.space.dimension
        ports = {pose_port: power(pose), velocity_port: power(momentum_of(pose.space))}
        zero, unit = np.zeros((d, d)), np.eye(d)
        super().__init__(ports, skew=np.block([[zero, -unit], [unit, zero]]))
        self.integrates = (pose_port, velocity_port)

    def described(self) -> Mapping[str, Any]:
        """Return the names of its ports."""
        return {"kind": "coupling", "pose": self.integrates[0], "velocity": self.integrates[1]}


def rigid_body(
    mass: float, inertia: Any, gravity: Sequence[float] = GRAVITY, space: LieGroup = SE3_SPACE
) -> System:
    """Return a rigid body with its frame at the centre of mass [C fig. 2].

    Boxes: ``pe``, ``ke``, ``pkc``, ``lp``. The outer port ``p`` takes a wrench at the centre of
    mass, in body axes, and gives the body twist (in SO(3) x R^3 the linear parts are in inertial
    axes).

    Args:
        mass: kg.
        inertia: (3,3) about the centre of mass, in body axes, kg m^2; a sequence of three is its
            diagonal.
        gravity: (3,) in the inertial frame, m/s^2.
        space: SE(3), or SO(3) x R^3, the second group structure of the source.

    Raises:
        ModelError: an inertia that no rigid body has.
        StructureError: no mass, or rotational inertia that cannot be inverted.
    """
    rotational = np.asarray(inertia, dtype=np.float64)
    rotational = np.diag(rotational) if rotational.ndim == 1 else rotational
    check_inertia("rigid body", mass, rotational)
    if not mass > 0.0 or np.linalg.matrix_rank(rotational) < 3:
        raise StructureError(
            "a rigid body needs a mass and a rotational inertia about every axis; given: mass "
            f"{mass} kg, inertia {rotational.tolist()} kg m^2"
        )
    inverse = np.zeros((6, 6))
    inverse[:3, :3], inverse[3:, 3:] = np.eye(3) / mass, np.linalg.inv(rotational)
    return compose(
        {
            "pe": Gravity(mass, gravity, space),
            "ke": Quadratic({"p": power(momentum_of(space))}, 0.5 * (inverse + inverse.T)),
            "pkc": Coupling(pose_of(space)),
            "lp": LiePoisson(space),
        },
        {"q": ("pe.q", "pkc.q"), "p": ("ke.p", "pkc.p", "lp.p", "p")},
        ["p"],
    )
