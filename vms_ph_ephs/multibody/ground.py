# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The ground."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from ..components import Reversible
from ..patterns import power
from ..quantities import SE3_SPACE, momentum_of


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
