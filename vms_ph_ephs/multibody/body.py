# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Rigid bodies and the ground."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen
from vms_ph_dynamics.robot.inertia import check_inertia

from ..components import BracketLaw, NumberSpec, Quadratic, Reversible, StorageLaw, kind
from ..components.component import NUMERIC, States
from ..errors import StructureError
from ..patterns import power
from ..quantities import SE3_SPACE, LieGroup, Quantity, momentum_of, pose_of
from ..systems import System, compose


@kind("ground", "a body at rest")
class Ground(Reversible):
    """A body that does not move: ``0 = u``; the multiplier is the reaction wrench.

    Args:
        pose: (4,4) of its frame in the inertial frame; the identity when None.
    """

    def __init__(self, pose: Array | None = None) -> None:
        self.pose = frozen(np.eye(4) if pose is None else np.array(pose, dtype=np.float64))
        super().__init__({"p": power(momentum_of(SE3_SPACE))}, constraint=np.eye(6))
        self.fixed_frame = ("p", self.pose)


GRAVITY = (0.0, 0.0, -9.81)


@kind("gravity", "of a pose in SE(3)")
class Gravity(StorageLaw):
    """Potential energy ``V = w.r`` of a mass whose pose is in SE(3) or SO(3) x R^3 [C (17)].

    Source C writes ``V = m g(r)`` with g the upward gradient, so that ``w = m g``.

    Args:
        weight: w, (3,), minus the force of gravity in the inertial frame, N.
        space: of the pose.
    """

    def __init__(
        self, weight: Annotated[Any, NumberSpec("N")], space: LieGroup = SE3_SPACE
    ) -> None:
        self.weight = frozen(np.array(weight, dtype=np.float64))
        self.space, self._is_body_fixed = space, space.name == "SE(3)"
        super().__init__({"q": power(pose_of(space))})

    def to_parameters(self) -> Mapping[str, Any] | None:
        """Return the weight, for a pose in SE(3)."""
        return super().to_parameters() if self._is_body_fixed else None

    def _energy_at(self, q: Array) -> float:
        return float(self.weight @ q[:3, 3])

    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return the weight in the frame of the pose, without a moment."""
        w, q = [self.weight[i] for i in range(3)], states[0]
        if self._is_body_fixed:
            w = [q[0, i] * w[0] + q[1, i] * w[1] + q[2, i] * w[2] for i in range(3)]
        return [*w, 0.0, 0.0, 0.0]

    def discrete(self, before: States, middle: States, after: States, u: Array) -> Array:
        """Return the effort whose product with a Cayley step is the change of energy, exactly."""
        f = np.array(self.gradient(NUMERIC, before[0]))
        if self._is_body_fixed:
            phi = u[3:]
            f[:3] = (f[:3] + 0.5 * np.cross(f[:3], phi)) / (1.0 + 0.25 * float(phi @ phi))
        return f


@kind("lie_poisson", "gyroscopic forces in SE(3)")
class LiePoisson(BracketLaw):
    """Gyroscopic forces: ``f = -ad*_e(p)``, the Lie-Poisson structure [C (19)].

    Args:
        space: the group.
    """

    def __init__(self, space: LieGroup = SE3_SPACE) -> None:
        self.space = space
        super().__init__({"p": power(momentum_of(space))}, reads=("p",))

    def to_parameters(self) -> Mapping[str, Any] | None:
        """Return nothing further, for SE(3)."""
        return super().to_parameters() if self.space is SE3_SPACE else None

    def law(self, ops: Any, states: Any, e: Any) -> list[Any]:
        """Return ``-(f x w, m x w + f x v)`` for the momentum (f, m) and the twist (v, w)."""
        if self.space is not SE3_SPACE:
            return list(-(self.space.group.coad(np.array(e)) @ states[0]))
        a, b, c, d, f, g = (states[0][i] for i in range(6))
        u, v, w, x, y, z = (e[i] for i in range(6))
        return [
            c * y - b * z,
            a * z - c * x,
            b * x - a * y,
            g * y - f * z + c * v - b * w,
            d * z - g * x + a * w - c * u,
            f * x - d * y + b * u - a * v,
        ]


@kind("coupling", "potential and kinetic energy")
class Coupling(Reversible):
    """Potential and kinetic energy: ``qdot = q hat(u)``, and the force of the potential [C (21)].

    Flows and efforts of poses are left-trivialised, so the structure is constant.

    Args:
        quantity: of the state.
        pose, velocity: names of the ports.
    """

    def __init__(self, quantity: Quantity, pose: str = "q", velocity: str = "p") -> None:
        self.quantity, self.pose, self.velocity = quantity, pose, velocity
        d = quantity.space.dimension
        ports = {pose: power(quantity), velocity: power(momentum_of(quantity.space))}
        zero, identity = np.zeros((d, d)), np.eye(d)
        super().__init__(ports, skew=np.block([[zero, -identity], [identity, zero]]))
        self.integral_ports = (pose, velocity)


@kind("rigid_body", "with gravity; port p")
def rigid_body(
    mass: Annotated[float, NumberSpec("kg")],
    inertia: Annotated[Any, NumberSpec("kg m^2")],
    gravity: Annotated[Sequence[float], NumberSpec("m/s^2")] = GRAVITY,
    space: LieGroup = SE3_SPACE,
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
            "pe": Gravity(-mass * np.array(gravity, dtype=np.float64), space),
            "ke": Quadratic({"p": power(momentum_of(space))}, 0.5 * (inverse + inverse.T)),
            "pkc": Coupling(pose_of(space)),
            "lp": LiePoisson(space),
        },
        {"q": ("pe.q", "pkc.q"), "p": ("ke.p", "pkc.p", "lp.p", "p")},
        ["p"],
    )
