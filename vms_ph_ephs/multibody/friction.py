# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction with its heat, heat capacities and heat conduction [C (29)]."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Irreversible, Storage
from ..components.irreversible import semidefinite
from ..errors import LawError, StructureError
from ..patterns import power, state
from ..quantities import Space, entropy, momentum_of, relative_pose_of

Tensor = Callable[[Array, Array, float], Array]


class Friction(Irreversible):
    """Mechanical friction: the force ``mu u`` and the entropy ``mu(u, u) / theta`` [C (29)].

    Args:
        tensor: mu, (d,d) symmetric and positive semidefinite; a number for one degree of freedom or
            for the same friction in all; or a function of pose, velocity and temperature, K, that
            returns it.
        pair: the space of relative poses.

    Raises:
        StructureError: the tensor has a wrong shape, or is not symmetric and positive semidefinite.
    """

    def __init__(self, tensor: Any, pair: Space) -> None:
        ports = {"p_r": power(momentum_of(pair)), "s": power(entropy)}
        self._tensor: Tensor | None = None
        reads: tuple[str, ...] = ()
        d = pair.dimension
        if callable(tensor):
            self._tensor, reads = tensor, ("q_r",)
            super().__init__({"q_r": state(relative_pose_of(pair)), **ports}, self._onsager, reads)
        else:
            super().__init__(ports, self._onsager)
            mu = np.asarray(tensor, dtype=np.float64)
            if mu.shape not in ((), (d,), (d, d)):
                raise StructureError(
                    f"the friction of a {pair} must be a number, {d} numbers or a ({d}, {d}) "
                    f"tensor; given: shape {mu.shape}"
                )
            full = mu * np.eye(d) if mu.ndim < 2 else mu
            self._constant = semidefinite(full, f"the friction of a {pair}")

    @property
    def is_lawful(self) -> bool:
        """Whether the tensor is a constant or :func:`coulomb`, whose numbers have been checked."""
        return self._tensor is None or type(self._tensor) is Coulomb

    def described(self) -> Mapping[str, Any] | None:
        """Return the constant tensor, or the coefficients of :func:`coulomb`."""
        if self._tensor is None:
            return {"kind": "friction", "tensor": self._constant}
        if type(self._tensor) is Coulomb:
            return {"kind": "friction", **self._tensor.coefficients}
        return None

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

    def tensor(self, states: tuple[Array, ...], u: Array, theta: float) -> Array:
        """Return mu, (d,d)."""
        if self._tensor is None:
            return self._constant
        d = u.size
        return np.asarray(self._tensor(states[0], u, theta), dtype=np.float64).reshape(d, d)

    def flows(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        """Return ``(mu u, -mu(u, u) / theta)``."""
        u, theta = e[:-1], theta_0 + e[-1]
        out = np.empty(e.size)
        out[:-1] = self.tensor(states, u, float(theta)) @ u
        out[-1] = -(u @ out[:-1]) / theta
        return out

    def _onsager(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        u, theta = e[:-1], theta_0 + e[-1]
        mu = self.tensor(states, u, float(theta))
        force = mu @ u
        m = np.empty((e.size, e.size))
        m[:-1, :-1], m[:-1, -1], m[-1, :-1] = theta * mu, -force, -(u @ mu)
        m[-1, -1] = u @ force / theta
        return m


class Coulomb:
    """The tensor of :func:`coulomb`.

    Args:
        viscous, dry, slip, softening, reference: as there.

    Raises:
        StructureError: as there.
    """

    def __init__(
        self,
        viscous: float,
        dry: float,
        slip: float,
        softening: float = 0.0,
        reference: float = 298.15,
    ) -> None:
        if not (0.0 <= viscous < np.inf and 0.0 <= dry < np.inf and 0.0 < slip < np.inf):
            raise StructureError(
                "friction must not be negative and its slip must be above zero; given: viscous "
                f"{viscous}, dry {dry}, slip {slip}"
            )
        if not (0.0 <= softening < np.inf and 0.0 < reference < np.inf):
            raise StructureError(
                "the softening of friction must not be negative and its reference temperature must "
                f"be above zero; given: {softening} 1/K from {reference} K on"
            )
        self._viscous, self._dry, self._slip = float(viscous), float(dry), float(slip)
        self._softening, self._reference = float(softening), float(reference)

    @property
    def coefficients(self) -> Mapping[str, float]:
        """By name."""
        return {
            "viscous": self._viscous,
            "dry": self._dry,
            "slip": self._slip,
            "softening": self._softening,
            "reference": self._reference,
        }

    def __call__(self, q: Array, u: Array, theta: float) -> Array:
        """Return the tensor at a velocity, (1,1)."""
        speed = abs(float(u[0])) / self._slip
        # tanh(x)/x, 1 - x^2/3 where the quotient loses digits.
        ratio = np.tanh(speed) / speed if speed > 1e-4 else 1.0 - speed * speed / 3.0
        viscous = self._viscous
        if self._softening:
            viscous *= float(np.exp(-self._softening * (theta - self._reference)))
        return np.array([[viscous + self._dry / self._slip * ratio]])


def coulomb(
    viscous: float,
    dry: float,
    slip: float = 0.01,
    softening: float = 0.0,
    reference: float = 298.15,
) -> Tensor:
    """Return the tensor of viscous and Coulomb friction of one degree of freedom, smoothed.

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
    return Coulomb(viscous, dry, slip, softening, reference)


class HeatCapacity(Storage):
    """A heat capacity: ``U = c theta_1 exp(s / c)``, so its temperature is ``theta_1 exp(s/c)``.

    Args:
        capacity: c, J/K.
        theta_1: absolute temperature at s = 0, K.

    Raises:
        StructureError: a number is not above zero.
    """

    def __init__(self, capacity: float, theta_1: float = 298.15) -> None:
        if not (capacity > 0.0 and theta_1 > 0.0):
            raise StructureError(
                "a heat capacity and its temperature must be above zero; given: "
                f"{capacity} J/K at {theta_1} K"
            )
        self.capacity, self.theta_1 = float(capacity), float(theta_1)
        ports = {"s": power(entropy)}
        super().__init__(ports, self._value, self._slope, self._curvature, lower_bound=0.0)

    def check(self, name: str, theta_0: float, rng: np.random.Generator) -> None:
        """Check nothing: energy and slope are given, and small capacities need small samples."""

    def described(self) -> Mapping[str, Any]:
        """Return capacity and temperature."""
        return {"kind": "heat", "capacity": self.capacity, "theta": self.theta_1}

    def _value(self, s: Array) -> Array:
        return self.capacity * self.theta_1 * np.exp(s / self.capacity)

    def _slope(self, s: Array) -> Array:
        return self.theta_1 * np.exp(s / self.capacity)

    def _curvature(self, s: Array) -> Array:
        return self.theta_1 / self.capacity * np.exp(s / self.capacity)[:, None]

    def discrete(
        self,
        before: tuple[Array, ...],
        middle: tuple[Array, ...],
        after: tuple[Array, ...],
        u: Array,
    ) -> Array:
        """Return the mean temperature over a step of entropy, without differences of energies.

        The rounding of kilojoules of heat would exceed the difference over the step.
        """
        x = u / self.capacity
        mean = np.expm1(x) / x if x[0] != 0.0 else np.ones(1)
        return self._slope(before[0]) * mean

    def entropy_at(self, theta: float) -> float:
        """Return the entropy at an absolute temperature, J/K."""
        return self.capacity * float(np.log(theta / self.theta_1))


class Conduction(Irreversible):
    """Heat conduction from the warmer to the colder port: ``q = h (theta_a - theta_b)``.

    Args:
        conductance: h, W/K.
    """

    def __init__(self, conductance: float) -> None:
        self._h = float(semidefinite(conductance, "a conductance"))
        super().__init__({"a": power(entropy), "b": power(entropy)}, self._onsager)

    @property
    def is_lawful(self) -> bool:
        """True."""
        return True

    def described(self) -> Mapping[str, Any]:
        """Return the conductance."""
        return {"kind": "conduction", "conductance": self._h}

    def _onsager(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        a, b = theta_0 + e[0], theta_0 + e[1]
        # N^T K N with N = (sqrt(b / a), -sqrt(a / b)) and K = h.
        return self._h * np.array([[b / a, -1.0], [-1.0, a / b]])
