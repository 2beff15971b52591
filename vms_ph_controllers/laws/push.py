# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A force along one direction in place of the impedance there."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array

USED_UP = "the energy for pushing is used up"


@dataclass(frozen=True, slots=True)
class Push:
    """A push of the end effector along one direction; all in end-effector axes.

    Attributes:
        wrench: (6,) that the law adds, N and N m.
        across: (6,6) projection on the directions of the impedance.
        damping: (6,6) damping along the direction of the push.
        authority: share of the desired force in force, in [0, 1].
        reason: why it is not the whole, in words; empty otherwise.
    """

    wrench: Array
    across: Array
    damping: Array
    authority: float
    reason: str

    @classmethod
    def along(cls, direction: Array, force: float, damping: float, authority: float) -> "Push":
        """Return the push with a force, N, and a damping, N s/m, along a unit vector (3,)."""
        axis = np.concatenate([direction, np.zeros(3)])
        own = np.outer(axis, axis)
        reason = USED_UP if authority < 1.0 else ""
        return cls(force * axis, np.eye(6) - own, damping * own, authority, reason)
