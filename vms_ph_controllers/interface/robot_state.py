"""The measured state of a robot."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array


@dataclass(frozen=True, slots=True)
class RobotState:
    """The measured state of a robot.

    Attributes:
        q: (nq,) configuration.
        v: (nv,) velocity.
    """

    q: Array
    v: Array

    def is_usable(self, model: VMSModel) -> bool:
        """Return whether the state has the dimensions of this robot and is finite."""
        if np.shape(self.q) != (model.nq,) or np.shape(self.v) != (model.nv,):
            return False
        return bool(np.isfinite(self.q.sum() + self.v.sum()))
