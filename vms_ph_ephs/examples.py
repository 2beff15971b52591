# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The example systems of source C, and the leg of source B."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.groups import SO3, pose

from . import multibody as mb
from .components import Environment, Quadratic, Reversible
from .equations import Equations
from .library import Damper, PlaneContact, Strut, point_mass, spring
from .patterns import power
from .quantities import displacement, momentum
from .systems import System, compose


def oscillator(stiffness: float = 2.0, mass: float = 3.0) -> System:
    """Return a mass on a spring [C fig. 5]; its port ``p``: force and velocity.

    Args:
        stiffness: N/m.
        mass: kg.
    """
    return compose(
        {
            "pe": Quadratic({"q": power(displacement)}, stiffness),
            "ke": Quadratic({"p": power(momentum)}, 1.0 / mass),
            "pkc": Reversible(
                {"q": power(displacement), "p": power(momentum)}, skew=[[0, -1], [1, 0]]
            ),
        },
        {"q": ("pe.q", "pkc.q"), "p": ("pkc.p", "ke.p", "p")},
        ["p"],
    )


def damped_oscillator(
    stiffness: float = 2.0, mass: float = 3.0, friction: float = 0.7, theta_0: float = 300.0
) -> System:
    """Return the oscillator with friction and the environment that takes its heat [C fig. 6].

    Args:
        stiffness: N/m.
        mass: kg.
        friction: N s/m.
        theta_0: temperature of the environment, K.
    """
    return compose(
        {"osc": oscillator(stiffness, mass), "mf": Damper(friction), "env": Environment(theta_0)},
        {"p": ("osc.p", "mf.p"), "s": ("mf.s", "env.s")},
    )


def _pose(angle: float, axis: Sequence[float], position: Sequence[float]) -> Array:
    direction = np.array(axis) / np.linalg.norm(axis)
    return pose(SO3().exp(angle * direction), np.array(position))


@dataclass(frozen=True)
class TwoBodies:
    """Two bodies and revolute joints with friction, heat and a spring [C fig. 1, section 6].

    The source gives no numbers; these are chosen such that every term of its equations matters.

    Attributes:
        masses: kg.
        inertias: diagonals about the centres of mass, kg m^2.
        friction: of the joint to the ground and of that between the bodies, N m s/rad.
        stiffness: of the same, N m/rad.
        heat: of both joints.
    """

    masses: tuple[float, float] = (1.3, 0.8)
    inertias: tuple[tuple[float, ...], ...] = ((0.021, 0.019, 0.009), (0.012, 0.010, 0.006))
    friction: tuple[float, float] = (0.03, 0.015)
    stiffness: tuple[float, float] = (0.0, 0.4)
    heat: mb.Heat = field(default_factory=mb.Heat)

    @property
    def bodies(self) -> dict[str, System]:
        """Both bodies."""
        return {f"b{i + 1}": mb.rigid_body(self.masses[i], self.inertias[i]) for i in range(2)}

    @property
    def offsets(self) -> tuple[Array, Array]:
        """The joint between the bodies in the frame of each, (4,4)."""
        return (
            _pose(0.7, (1.0, 0.3, 0.2), (0.05, 0.02, -0.25)),
            _pose(0.5, (-0.2, -1.0, 0.4), (-0.03, 0.01, 0.21)),
        )

    @property
    def suspension(self) -> tuple[Array, Array]:
        """The joint to the ground in the inertial frame and in that of the first body, (4,4)."""
        return (
            _pose(1.2, (0.0, 1.0, 0.1), (0.1, 0.0, 0.5)),
            _pose(0.4, (0.3, 0.1, 1.0), (0.02, -0.01, 0.24)),
        )

    def free(self) -> System:
        """Return the two bodies in free fall, joined by ``j`` [C section 6]."""
        joint = self._hinge(self.offsets, 1)
        return mb.mechanism(self.bodies, {"j": mb.Between("b1", "b2", joint)})

    def pendulum(self) -> System:
        """Return the two bodies as a double pendulum: ``j1`` to the ground, ``j2`` between."""
        return mb.mechanism(
            self.bodies,
            {
                "j1": mb.Between(mb.GROUND, "b1", self._hinge(self.suspension, 0)),
                "j2": mb.Between("b1", "b2", self._hinge(self.offsets, 1)),
            },
        )

    def free_state(self, equations: Equations) -> Array:
        """Return a state of the free bodies in which all velocities differ from zero."""
        return mb.consistent_state(
            equations,
            {"j": -0.8},
            {"j": -2.2},
            poses={"b1": _pose(0.9, (1.0, 2.0, 3.0), (0.1, 0.2, 0.3))},
            twists={"b1": np.array([0.3, -0.2, 0.4, 0.8, -1.1, 0.6])},
        )

    def pendulum_state(self, equations: Equations) -> Array:
        """Return a swinging state of the pendulum."""
        return mb.consistent_state(equations, {"j1": 0.4, "j2": -0.8}, {"j1": 1.5, "j2": -2.2})

    def _hinge(self, offsets: tuple[Array, Array], i: int) -> System:
        pair = mb.Revolute()
        return mb.joint(
            pair,
            *offsets,
            friction=self.friction[i],
            potential=mb.Spring(pair, self.stiffness[i]),
            heat=self.heat,
        )


@dataclass(frozen=True)
class HoppingLeg:
    """The prismatic leg of source B on a floor that does not yield, in a plane with y up [B 4.2].

    Hip and foot are point masses, the radial spring of the source acts along the strut between
    them, and an impact stops the foot at once: its energy becomes heat.

    Attributes:
        hip, foot: masses, kg.
        stiffness: of the spring in the distance from the centre of mass to the foot, N/m.
        rest: that distance without force, m.
        friction: of the foot on the floor.
    """

    hip: float = 0.957
    foot: float = 0.05
    stiffness: float = 2200.0
    rest: float = 0.114
    friction: float = 0.6

    def system(self) -> System:
        """Return the leg: boxes ``hip``, ``foot``, ``leg``, ``spring``, ``floor`` and ``env``."""
        gravity, ratio = (0.0, -9.81), self.hip / (self.hip + self.foot)
        return compose(
            {
                "hip": point_mass(self.hip, gravity),
                "foot": point_mass(self.foot, gravity),
                "leg": Strut(2),
                "spring": spring(self.stiffness * ratio**2, self.rest / ratio, grounded=True),
                "floor": PlaneContact(self.friction, normal=(0.0, 1.0)),
                "env": Environment(298.15),
            },
            {
                "hip": ("hip.p", "leg.p_1"),
                "foot": ("foot.p", "leg.p_2", "floor.p"),
                "hip_at": ("hip.q", "leg.q_1"),
                "foot_at": ("foot.q", "leg.q_2", "floor.q"),
                "length": ("leg.p", "spring.p"),
                "s": ("floor.s", "env.s"),
            },
        )

    @staticmethod
    def state(
        equations: Equations, height: float = 0.3, lean: float = 0.1, length: float = 0.12
    ) -> Array:
        """Return a state at rest.

        Args:
            equations: of the system.
            height: of the hip, m.
            lean: of the leg from the vertical, the foot forward, rad.
            length: from hip to foot, m.
        """
        hip = np.array([0.0, height])
        foot = hip + length * np.array([np.sin(lean), -np.cos(lean)])
        values = {"hip_at": hip, "foot_at": foot, "spring.q": length}
        return equations.states.vector(values)


EXAMPLES: dict[str, Callable[[], System]] = {
    "oscillator": oscillator,
    "damped_oscillator": damped_oscillator,
    "body": lambda: TwoBodies().bodies["b1"],
    "joint": lambda: TwoBodies()._hinge(TwoBodies().offsets, 1),
    "two_bodies": lambda: TwoBodies().free(),
    "pendulum": lambda: TwoBodies().pendulum(),
    "heated_pendulum": lambda: TwoBodies(heat=mb.Heat(capacity=20.0, conductance=0.1)).pendulum(),
    "hopping_leg": lambda: HoppingLeg().system(),
}
