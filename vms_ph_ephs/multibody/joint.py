# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joints: a lower pair with offsets, potential, friction and heat [C 5, fig. 3]."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen
from vms_ph_dynamics.groups import SE3

from ..components import (
    Component,
    Environment,
    NumberSpec,
    Quadratic,
    Reversible,
    Storage,
    StorageLaw,
    ZeroEnergy,
    kind,
)
from ..components.component import NUMERIC, States
from ..errors import StructureError
from ..patterns import power, state
from ..quantities import SE3_SPACE, momentum_of, relative_pose_of
from ..systems import System, compose
from .body import Coupling
from .friction import Conduction, Friction, HeatCapacity
from .pairs import LowerPair, adjoint_of_inverse

_SE3 = SE3()


@kind("offset", "from body to joint frame")
class Offset(Reversible):
    """The map from the frame of a body to that of a joint: ``u_j = Ad_{o^-1} u`` [C (27)].

    Args:
        pose: o, (4,4): the joint frame in the body frame.
        body_port, joint_port: names of the ports.
    """

    def __init__(self, pose: Array, body_port: str = "p", joint_port: str = "p_j") -> None:
        quantity = momentum_of(SE3_SPACE)
        ports = {body_port: power(quantity), joint_port: power(quantity)}
        self.pose = frozen(np.array(pose, dtype=np.float64))
        self.body_port, self.joint_port = body_port, joint_port
        transport = adjoint_of_inverse(self.pose)
        super().__init__(ports, constraint=np.hstack([transport, -np.eye(6)]))
        self.offset = (body_port, joint_port, self.pose)


@kind("joint_constraint", "kinematics of a pair")
class HolonomicConstraint(Reversible):
    """The kinematics of a joint: ``0 = Ad_{I(q_r)^-1} u_j1 - u_j2 + i u_r`` [C (28)].

    Its multiplier is the joint force in frame C2, and so is u_r (the source says C1).

    Args:
        pair: the subgroup.
    """

    def __init__(self, pair: LowerPair) -> None:
        self.pair = pair
        body_momentum = momentum_of(SE3_SPACE)
        super().__init__(
            {
                "q_r": state(relative_pose_of(pair)),
                "p_r": power(momentum_of(pair)),
                "p_j1": power(body_momentum),
                "p_j2": power(body_momentum),
            },
            constraint=lambda q_r: self.law(NUMERIC, q_r),
            constraint_rate=lambda states, u_r, e: np.array(
                self.rate_law(NUMERIC, states[0], u_r, e)
            ),
            reads=("q_r",),
            constant_columns=("p_r", "p_j2"),
        )
        self.closure_ports = ("q_r", "p_j1", "p_j2")

    def to_parameters(self) -> Mapping[str, Any] | None:
        """Return the pair, if it is one of this package."""
        is_bundled = type(self.pair).__module__ == LowerPair.__module__
        return super().to_parameters() if is_bundled else None

    def law(self, ops: Any, q_r: Any) -> Any:
        """Return C, (6,width); ops has the operations, ``NumericOps`` or an ``Algebra``."""
        adjoint = self.pair.adjoint_of_inverse(q_r, ops)
        return ops.hstack([ops.constant(self.pair.subspace), adjoint, ops.constant(-np.eye(6))])

    def rate_law(self, ops: Any, q_r: Any, u_r: Any, e: Any) -> list[Any]:
        """Return ``Cdot e = -ad_{i u_r} Ad_{I(q_r)^-1} u_j1``."""
        d = self.pair.dimension
        x, y, z, a, b, c = ops.product(ops.constant(self.pair.subspace), [u_r[j] for j in range(d)])
        adjoint = self.pair.adjoint_of_inverse(q_r, ops)
        p, q, r, s, t, u = ops.product(adjoint, [e[d + j] for j in range(6)])
        return [
            c * q - b * r - y * u + z * t,
            a * r - c * p - z * s + x * u,
            b * p - a * q - x * t + y * s,
            c * t - b * u,
            a * u - c * s,
            b * s - a * t,
        ]

    def residual(self, q_r: Array, first_motion: Array, second_motion: Array) -> Array:
        """Return the step from C2 to its pose by C1 and q_r, (6,)."""
        return SE3_SPACE.difference(second_motion, first_motion @ self.pair.inclusion(q_r))


@dataclass(frozen=True)
class Heat:
    """The destination of the heat of friction.

    Attributes:
        capacity: of the joint, J/K; None for heat directly to the environment.
        conductance: from the joint to the environment, W/K; 0 for none. Only with a capacity.
        theta_0: temperature of the environment, K.
        theta: temperature of the joint at zero entropy, K; that of the environment when None.

    Raises:
        StructureError: a conductance or a temperature of a joint without heat capacity.
    """

    capacity: float | None = None
    conductance: float = 0.0
    theta_0: float = 298.15
    theta: float | None = None

    def __post_init__(self) -> None:
        """Check that no value is given that would have no effect."""
        if self.capacity is None and (self.conductance or self.theta is not None):
            raise StructureError(
                "heat without a capacity goes directly to the environment, so that a conductance "
                f"({self.conductance} W/K) or a temperature of the joint ({self.theta} K) has no "
                "effect; give the capacity too"
            )


@kind("no_potential", "holds a relative pose")
class NoPotential(ZeroEnergy):
    """The storage of a joint without potential, which holds the relative pose only.

    Args:
        pair: of the joint.
    """

    def __init__(self, pair: LowerPair) -> None:
        self.pair = pair
        super().__init__({"q_r": power(relative_pose_of(pair))})


@kind("joint_spring", "linear spring in a kinematic pair")
class Spring(StorageLaw):
    """A linear spring of a pair whose coordinates form a vector space.

    Args:
        pair: revolute, prismatic, screw or cylindrical.
        stiffness: N m/rad or N/m; a number, or one per degree of freedom.
        rest: position without force, rad or m.

    Raises:
        StructureError: the coordinates of the pair form no vector space, or the stiffness is
            negative or not finite.
    """

    def __init__(
        self,
        pair: LowerPair,
        stiffness: Annotated[Any, NumberSpec("N/m or N m/rad")],
        rest: Annotated[Any, NumberSpec("m or rad")] = 0.0,
    ) -> None:
        if not pair.is_vector_space:
            raise StructureError(f"a linear spring has no meaning on a {pair}; use potential")
        d = (pair.dimension,)
        self.stiffness = np.broadcast_to(np.asarray(stiffness, dtype=np.float64), d).copy()
        if not (np.isfinite(self.stiffness).all() and (self.stiffness >= 0.0).all()):
            raise StructureError(
                f"the stiffness of a spring must be finite and not negative; given: {stiffness}"
            )
        self.rest = np.broadcast_to(np.asarray(rest, dtype=np.float64), d).copy()
        self.pair = pair
        super().__init__({"q_r": power(relative_pose_of(pair))}, lower_bound=0.0)

    def _energy_at(self, q: Array) -> float:
        return 0.5 * float(self.stiffness @ (q - self.rest) ** 2)

    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return the force."""
        k, rest, q = self.stiffness, self.rest, states[0]
        return [k[i] * (q[i] - rest[i]) for i in range(self.width)]

    def hessian(self, *states: Array) -> Array:
        """Return the stiffness."""
        return np.diag(self.stiffness)

    def discrete(self, before: States, middle: States, after: States, u: Array) -> Array:
        """Return the force at the midpoint, which is exact for a quadratic energy."""
        return self.stiffness * (before[0] + 0.5 * u - self.rest)


def potential(
    pair: LowerPair,
    energy: Callable[[Array], float],
    differential: Callable[[Array], Array],
    lower_bound: float | None = None,
) -> Storage:
    """Return a storage of potential energy ``V_r(q_r)`` [C (25)].

    Args:
        pair: the subgroup.
        energy: of an element of it, J.
        differential: left-trivialised, (dimension,).
        lower_bound: of the energy, J; None for none.
    """
    ports = {"q_r": power(relative_pose_of(pair))}
    return Storage(ports, energy, differential, lower_bound=lower_bound)


def joint(
    pair: LowerPair,
    offset_1: Array | None = None,
    offset_2: Array | None = None,
    *,
    potential: Storage | None = None,
    friction: Any = None,
    heat: Heat | None = None,
    armature: float = 0.0,
    driven: bool = False,
) -> System:
    """Return a joint between two bodies [C fig. 3].

    Boxes: ``o1``, ``o2``, ``hc``, ``pkc``, ``pe``, with friction ``mf``, and ``env`` or, with a
    heat capacity, ``th``, ``ht`` and ``env``; with armature ``ke``. Outer ports: ``p_1``, ``p_2``
    of the bodies; ``p_r`` if driven, with the joint force as flow and u_r as effort.

    Args:
        pair: the relative motions that it allows.
        offset_1: (4,4) pose of the joint frame C1 in the first body's; the identity when None.
        offset_2: (4,4) pose of C2 in the second body's.
        potential: of the relative pose; None for none.
        friction: a number, tensor or function as in :class:`.Friction`; a component with the same
            ports, such as :class:`.DryFriction`; None for none.
        heat: destination of the heat; an environment of 298.15 K when None.
        armature: inertia that a geared rotor adds to the joint's own motion, kg m^2 or kg; its
            kinetic energy is ``armature * u_r^2 / 2``.
        driven: whether the joint's own port is open.

    Raises:
        StructureError: heat without friction, or armature that is negative, not finite or at a
            joint of several degrees of freedom.
    """
    if heat is not None and friction is None:
        raise StructureError(
            f"heat is given for a {pair} without friction, which makes none; give the friction too"
        )
    if not 0.0 <= armature < np.inf or (armature and pair.dimension > 1):
        raise StructureError(
            "armature must be finite, not negative and at a joint of one degree of freedom; given: "
            f"{armature} at a {pair}"
        )
    identity = np.eye(4)
    boxes: dict[str, System | Component] = {
        "o1": Offset(identity if offset_1 is None else offset_1, "p_1", "p_j1"),
        "o2": Offset(identity if offset_2 is None else offset_2, "p_2", "p_j2"),
        "hc": HolonomicConstraint(pair),
        "pkc": Coupling(relative_pose_of(pair), "q_r", "p_r"),
        "pe": NoPotential(pair) if potential is None else potential,
    }
    junctions: dict[str, tuple[str, ...]] = {
        "p_1": ("o1.p_1", "p_1"),
        "p_2": ("o2.p_2", "p_2"),
        "p_j1": ("o1.p_j1", "hc.p_j1"),
        "p_j2": ("o2.p_j2", "hc.p_j2"),
        "q_r": ("pe.q_r", "pkc.q_r", "hc.q_r"),
        "p_r": ("pkc.p_r", "hc.p_r"),
    }
    if friction is not None:
        boxes["mf"] = friction if isinstance(friction, Component) else Friction(friction, pair)
        junctions["p_r"] += ("mf.p_r",)
        if "q_r" in boxes["mf"].interface:
            junctions["q_r"] += ("mf.q_r",)
        _add_heat(boxes, junctions, heat or Heat())
    if armature:
        boxes["ke"] = Quadratic({"p_r": power(momentum_of(pair))}, 1.0 / armature)
        junctions["p_r"] += ("ke.p_r",)
    if driven:
        junctions["p_r"] += ("p_r",)
    return compose(boxes, junctions, ["p_1", "p_2"] + ["p_r"] * driven)


def _add_heat(
    boxes: dict[str, System | Component], junctions: dict[str, tuple[str, ...]], heat: Heat
) -> None:
    if heat.capacity is None:
        boxes["env"] = Environment(heat.theta_0)
        junctions["s"] = ("mf.s", "env.s")
        return
    boxes["th"] = HeatCapacity(heat.capacity, heat.theta_0 if heat.theta is None else heat.theta)
    junctions["s"] = ("mf.s", "th.s")
    if heat.conductance:
        boxes["ht"], boxes["env"] = Conduction(heat.conductance), Environment(heat.theta_0)
        junctions["s"] += ("ht.a",)
        junctions["s_0"] = ("ht.b", "env.s")
