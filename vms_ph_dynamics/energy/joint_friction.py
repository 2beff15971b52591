# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The friction with which a recording is audited: that of the URDF, or one that was identified."""

from dataclasses import dataclass, field

import numpy as np

from ..actuation.friction import Friction
from ..arrays import Array, frozen, zeros
from ..errors import ModelError
from ..model import VMSModel


@dataclass(frozen=True)
class JointFriction(Friction):
    """``tau = -(viscous qdot + coulomb tanh((qdot + shift) / slip) + offset)`` at each joint.

    With ``coulomb = a/2``, ``slip = 2/b``, ``shift = c`` and ``offset = a/2 - a/(1 + exp(-b c))``
    this is the sigmoid ``a/(1 + exp(-b (qdot + c))) - a/(1 + exp(-b c))``.

    Attributes:
        viscous: (n,) N m s/rad or N s/m.
        coulomb: (n,) N m or N.
        slip: (n,) speed over which Coulomb friction is smoothed, rad/s or m/s.
        shift: (n,) rad/s or m/s.
        offset: (n,) N m or N; a constant effort, which need not be dissipative.
    """

    slip: Array = field(default_factory=lambda: np.array(0.01))  # type: ignore[assignment]
    shift: Array = field(default_factory=zeros)
    offset: Array = field(default_factory=zeros)

    def __post_init__(self) -> None:
        """Check the sizes and signs.

        Raises:
            ModelError: a coefficient is not finite, viscous or Coulomb friction is negative, or a
                slip speed is not positive.
        """
        for name in ("viscous", "coulomb", "slip", "shift", "offset"):
            numbers = np.array(getattr(self, name), dtype=np.float64)
            if numbers.ndim == 0:  # the same at all joints
                numbers = np.full(np.shape(self.viscous), numbers)
            if numbers.shape != np.shape(self.viscous) or not np.isfinite(numbers).all():
                raise ModelError(f"{name} friction must be one number per joint; given: {numbers}")
            object.__setattr__(self, name, frozen(numbers))
        if (self.viscous < 0.0).any() or (self.coulomb < 0.0).any() or (self.slip <= 0.0).any():
            text = "viscous and Coulomb friction must not be negative and slip speeds positive; "
            text += f"given: viscous {self.viscous}, coulomb {self.coulomb}, slip {self.slip}"
            raise ModelError(text)

    @classmethod
    def none(cls, model: VMSModel) -> "JointFriction":
        """Return no friction."""
        return cls(np.zeros(model.n), np.zeros(model.n))

    def force(self, rates: Array) -> Array:
        """Return the joint efforts of friction at joint rates, both (..., n)."""
        direction = np.tanh((rates + self.shift) / self.slip)
        return np.asarray(-(self.viscous * rates + self.coulomb * direction + self.offset))
