"""Friction in the joints."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .arrays import Array

if TYPE_CHECKING:
    from .model import VMSModel


@dataclass(frozen=True)
class Friction:
    """Viscous and Coulomb friction: ``tau = -(viscous qdot + coulomb tanh(qdot / slip))``.

    The sign function of Coulomb's law is rounded over the speed ``slip``, which makes friction a
    function of the state; a joint under a load below ``coulomb`` creeps instead of sticking. An
    explicit integrator needs steps below about 2 * inertia * slip / coulomb.

    Attributes:
        viscous: (n,) N m s/rad or N s/m.
        coulomb: (n,) N m or N.
        slip: rad/s or m/s.
    """

    viscous: Array
    coulomb: Array
    slip: float = 0.01

    @classmethod
    def of(cls, model: "VMSModel") -> "Friction":
        """Return the friction that the robot's URDF gives."""
        return cls(model.joints.damping, model.joints.friction)

    def force(self, rates: Array) -> Array:
        """Return the joint torques of friction, (n,), at joint rates (n,)."""
        force = -self.viscous * rates
        if self.coulomb.any():
            force = force - self.coulomb * np.tanh(rates / self.slip)
        return force

    def slope(self, rates: Array) -> Array:
        """Return minus the derivative of each torque by its rate, (n,)."""
        return self.viscous + self.coulomb / self.slip / np.cosh(rates / self.slip) ** 2
