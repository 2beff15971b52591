# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction with its heat, heat capacities and heat conduction [C (29)]."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from vms_ph_dynamics import Array

from ..components import Dissipation, NumberSpec, ProcessLaw, StorageLaw, kind
from ..components.component import NUMERIC, States
from ..components.irreversible import MIN_SPEED, semidefinite_matrix
from ..errors import LawError, StructureError
from ..patterns import power, state
from ..quantities import entropy, momentum_of, relative_pose_of
from .pairs import LowerPair

Tensor = Callable[[Array, Array, float], Array]


Viscous = Annotated[float, NumberSpec("N s/m or N m s/rad", "force per velocity", least=0.0)]
Dry = Annotated[float, NumberSpec("N or N m", "force of sliding, smoothed", least=0.0)]
Slip = Annotated[
    float, NumberSpec("m/s or rad/s", "velocity at which dry friction is reached", above=0.0)
]


def coulomb_force(ops: Any, coefficients: Any, v: Any, theta: Any) -> Any:
    """Return the force of friction with the coefficients of :class:`Coulomb`, N or N m."""
    force = coefficients.viscous * v
    if not is_zero(coefficients.softening):
        exponent = -coefficients.softening * (theta - coefficients.reference)
        force = force * ops.function("exp", exponent)
    # A part without dry friction has the equation of the source, without a function.
    if is_zero(coefficients.dry):
        return force
    return force + coefficients.dry * ops.function("tanh", v / coefficients.slip)


def is_zero(x: Any) -> bool:
    """Return whether a number or expression is the number zero."""
    return isinstance(x, float | int) and x == 0


@dataclass(frozen=True)
class Coulomb:
    """The tensor of viscous and Coulomb friction of one degree of freedom, smoothed.

    The force is ``viscous u + dry tanh(u / slip)``; a joint that is loaded below ``dry`` creeps.

    Args:
        viscous: N m s/rad or N s/m.
        dry: N m or N.
        slip: rad/s or m/s.
        softening: share by which the viscous part falls per kelvin, 1/K: it is
            ``viscous exp(-softening (theta - reference))``, as of oil and grease.
        reference: temperature at which ``viscous`` is given, K.

    Raises:
        StructureError: a coefficient is negative or not finite, or the slip is not above zero.
    """

    viscous: float
    dry: float
    slip: float = 0.01
    softening: float = 0.0
    reference: float = 298.15

    def __post_init__(self) -> None:
        """Check the numbers."""
        numbers = np.array([self.viscous, self.dry, self.softening, self.slip, self.reference])
        if not ((numbers >= 0.0) & np.isfinite(numbers)).all() or not numbers[3:].all():
            raise StructureError(
                "friction must not be negative, and its slip and the reference of its softening "
                f"must be above zero; given: {self}"
            )

    def __call__(self, q: Array, u: Array, theta: float) -> Array:
        """Return the tensor at a velocity, (1,1)."""
        speed = max(abs(float(u[0])), MIN_SPEED)
        return np.array([[coulomb_force(NUMERIC, self, speed, theta) / speed]])


class Friction(Dissipation):
    """Mechanical friction: the force ``mu u`` and the entropy ``mu(u, u) / theta`` [C (29)].

    Args:
        tensor: mu, (d,d) symmetric and positive semidefinite; a number for one degree of freedom or
            for the same friction in all; or a function of pose, velocity and temperature, K, that
            returns it.
        pair: the space of relative poses.

    Raises:
        StructureError: the tensor has a wrong shape, or is not symmetric and positive semidefinite.
    """

    def __init__(self, tensor: Any, pair: LowerPair) -> None:
        ports = {"p_r": power(momentum_of(pair)), "s": power(entropy)}
        self.pair, d = pair, pair.dimension
        if callable(tensor):
            self.tensor: Array | Tensor = tensor
            super().__init__({"q_r": state(relative_pose_of(pair)), **ports}, reads=("q_r",))
            if isinstance(tensor, Coulomb):
                vars(self).update(vars(tensor))
        else:
            super().__init__(ports)
            mu = np.asarray(tensor, dtype=np.float64)
            if mu.shape not in ((), (d,), (d, d)):
                raise StructureError(
                    f"the friction of a {pair} must be a number, {d} numbers or a ({d}, {d}) "
                    f"tensor; given: shape {mu.shape}"
                )
            matrix = mu * np.eye(d) if mu.ndim < 2 else mu
            self.tensor = semidefinite_matrix(matrix, f"the friction of a {pair}")

    @property
    def is_lawful(self) -> bool:
        """Whether the tensor is a constant or :class:`Coulomb`, whose numbers have been checked."""
        return isinstance(self.tensor, Coulomb) or not callable(self.tensor)

    def to_parameters(self) -> Mapping[str, Any] | None:
        """Return the constant tensor, or the coefficients of :class:`Coulomb`."""
        if not self.is_lawful or type(self) is not Friction:
            return None
        law = vars(self.tensor) if isinstance(self.tensor, Coulomb) else {"tensor": self.tensor}
        return {"kind": "joint_friction", "pair": self.pair, **law}

    def check_flows(self, name: str, e: Array, flow: Array, theta_0: float) -> None:
        """Raise an error if a tensor given as a function destroys entropy; energy is conserved.

        Raises:
            LawError: it does; the message names the box.
        """
        if flow[-1] > 0.0:
            raise LawError(
                f"the second law fails in box '{name}': at the velocity {e[:-1].tolist()} its "
                f"friction destroys entropy at {flow[-1]:.6g} W/K; the tensor must be positive "
                "semidefinite at all velocities"
            )

    def forces(self, ops: Any, states: Any, u: Any, theta: Any) -> list[Any]:
        """Return ``mu u``."""
        if isinstance(self.tensor, Coulomb):
            return [coulomb_force(ops, self, u[0], theta)]
        indices = range(len(u))
        mu: Any = self.tensor
        if callable(mu):
            mu = np.reshape(mu(states[0], np.array(u), theta), (len(u), len(u)))
        return [sum((mu[index, j] * u[j] for j in indices), start=0) for index in indices]

    def mu(self, states: States, u: Array, theta: float) -> Array:
        """Return mu, (d,d)."""
        if not callable(self.tensor):
            return self.tensor
        return np.asarray(self.tensor(states[0], u, theta), dtype=np.float64).reshape(u.size, -1)


@kind("joint_friction", "friction in a kinematic pair", component_class=Friction)
def joint_friction(
    pair: LowerPair,
    tensor: Any = None,
    viscous: Viscous = 0.0,
    dry: Dry = 0.0,
    slip: Slip = 0.01,
    softening: Annotated[float, NumberSpec("1/K")] = 0.0,
    reference: Annotated[float, NumberSpec("K")] = 298.15,
) -> Friction:
    """Return friction as files hold it: with a tensor, or with the coefficients of Coulomb."""
    law = Coulomb(viscous, dry, slip, softening, reference) if tensor is None else tensor
    return Friction(law, pair)


@kind("heat_capacity", "stores heat")
class HeatCapacity(StorageLaw):
    """A heat capacity: ``U = c theta_1 exp(s / c)``, so its temperature is ``theta_1 exp(s/c)``.

    Args:
        capacity: c, J/K.
        theta_1: absolute temperature at s = 0, K.

    Raises:
        StructureError: a number is not above zero.
    """

    def __init__(
        self,
        capacity: Annotated[float, NumberSpec("J/K", above=0.0)],
        theta_1: Annotated[float, NumberSpec("K", above=0.0)] = 298.15,
    ) -> None:
        self.capacity, self.theta_1 = float(capacity), float(theta_1)
        super().__init__({"s": power(entropy)}, lower_bound=0.0)

    def check(self, name: str, theta_0: float, rng: np.random.Generator) -> None:
        """Check nothing: energy and slope are given, and small capacities need small samples."""

    def _energy_at(self, s: Array) -> Array:
        return self.capacity * self.theta_1 * np.exp(s / self.capacity)

    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return the temperature."""
        return [self.theta_1 * ops.function("exp", states[0][0] / self.capacity)]

    def hessian(self, *states: Array) -> Array:
        """Return its derivative."""
        return np.array([self.gradient(NUMERIC, *states)]) / self.capacity

    def discrete(self, before: States, middle: States, after: States, u: Array) -> Array:
        """Return the mean temperature over a step of entropy, without differences of energies.

        The rounding of kilojoules of heat would exceed the difference over the step.
        """
        x = u / self.capacity
        mean_factor = np.expm1(x) / x if x[0] != 0.0 else np.ones(1)
        return self.differential(*before) * mean_factor


@kind("conduction", "conducts heat")
class Conduction(ProcessLaw):
    """Heat conduction from the warmer to the colder port: ``q = h (theta_a - theta_b)``.

    Args:
        conductance: h, W/K.
    """

    def __init__(self, conductance: Annotated[float, NumberSpec("W/K", least=0.0)]) -> None:
        self.conductance = float(conductance)
        super().__init__({"a": power(entropy), "b": power(entropy)})

    def conductance_at(self, a: Any, b: Any) -> Any:
        """Return the heat between two temperatures by their difference, W/K."""
        return self.conductance

    def law(self, ops: Any, states: Any, e: Any, theta_0: Any) -> list[Any]:
        """Return the entropy that leaves a, and minus what arrives at b."""
        a, b = theta_0 + e[0], theta_0 + e[1]
        heat = self.conductance_at(a, b) * (a - b)
        return [heat / a, -heat / b]

    def _onsager(self, states: States, e: Array, theta_0: float) -> Array:
        a, b = theta_0 + e[0], theta_0 + e[1]
        # N^T K N with N = (sqrt(b / a), -sqrt(a / b)) and K = h.
        return self.conductance_at(a, b) * np.array([[b / a, -1.0], [-1.0, a / b]])
