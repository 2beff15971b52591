# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction in the joints."""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..arrays import Array, frozen
from ..errors import ModelError

F = TypeVar("F", bound="Friction")


@dataclass(frozen=True)
class Friction:
    """Viscous and Coulomb friction: ``tau = -(viscous qdot + coulomb tanh(qdot / slip))``.

    The sign function of Coulomb's law is smoothed over the speed ``slip``, which makes friction a
    function of the state; a joint under a load below ``coulomb`` creeps instead of sticking. An
    explicit integrator needs steps below about 2 * inertia * slip / coulomb.

    Attributes:
        viscous: (n,) N m s/rad or N s/m.
        coulomb: (n,) N m or N.
        slip: speed over which Coulomb friction is smoothed, rad/s or m/s.

    Raises:
        ModelError: a coefficient is negative or not finite, sizes differ, or the slip speed is not
            positive.

    Examples:
        >>> from vms_ph_dynamics import Ports, StandardForm
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> friction = Friction(viscous=np.full(panda.n, 0.5), coulomb=np.zeros(panda.n))
        >>> form = StandardForm(panda)
        >>> x = form.state(panda.home, np.ones(panda.nv))
        >>> print(f"{form.power_balance(x, Ports(friction=friction)).dissipated:.1f} W")
        3.5 W
    """

    viscous: Array
    coulomb: Array
    slip: float = 0.01

    def __post_init__(self) -> None:
        """Check that friction dissipates energy at every joint."""
        for name in ("viscous", "coulomb"):
            numbers = np.array(getattr(self, name), dtype=np.float64)
            if numbers.ndim != 1 or not np.isfinite(numbers).all() or (numbers < 0).any():
                raise ModelError(
                    f"{name} friction must be one number per joint, not negative; given: {numbers}"
                )
            object.__setattr__(self, name, frozen(numbers))
        if self.viscous.shape != self.coulomb.shape:
            raise ModelError(
                f"viscous friction is given for {len(self.viscous)} joints, Coulomb friction for "
                f"{len(self.coulomb)}"
            )
        if not (np.isfinite(self.slip) and self.slip > 0):
            raise ModelError(f"the slip speed of friction must be positive; given: {self.slip}")

    @classmethod
    def from_model(cls: type[F], model: Any) -> F:
        """Return the friction declared in the robot's URDF."""
        return cls(model.joints.damping, model.joints.friction)

    def force(self, rates: Array) -> Array:
        """Return the torques of friction, (n,), N m or N, at joint rates (n,), rad/s or m/s."""
        torques = -self.viscous * rates
        if self.coulomb.any():
            torques = torques - self.coulomb * np.tanh(rates / self.slip)
        return torques

    def secant(self, rates: Array) -> Array:
        """Return the coefficients of a linear friction with the same torques, (n,), at joint rates.

        ``-force / rates`` in N m s/rad or N s/m, with its limit at rest.
        """
        x = np.abs(rates) / self.slip
        # tanh(x) / x, which is 1 - x^2 / 3 near zero: 1 to rounding below 1e-8.
        ratio = np.where(x > 1e-8, np.tanh(x) / np.maximum(x, 1e-8), 1.0)
        return self.viscous + self.coulomb / self.slip * ratio

    def slope(self, rates: Array) -> Array:
        """Return the negative derivative of each torque by its joint rate, (n,).

        In N m s/rad or N s/m, at joint rates (n,) in rad/s or m/s.
        """
        # The square of 1/cosh, which would overflow at high speed.
        return self.viscous + self.coulomb / self.slip * (1.0 - np.tanh(rates / self.slip) ** 2)
