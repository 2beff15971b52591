# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A steady uniform current of the water around a robot."""

from dataclasses import dataclass

import numpy as np

from .. import VMSModel
from ..arrays import Array
from ..errors import OptionError


@dataclass(frozen=True)
class WaterCurrent:
    """A current, whose water is the frame in which a motion in it is integrated.

    The equations of bodies in a steady uniform current, added mass included, are those in water at
    rest, seen from the water. Energies and momenta are then those seen from the water.

    Attributes:
        velocity: (3,) of the water, in inertial axes, m/s.
    """

    velocity: Array

    def check(self, model: VMSModel) -> None:
        """Check that a robot is in water that can flow.

        Raises:
            OptionError: it is in no fluid, or its base does not float.
        """
        if model.fluid is None or model.base != "floating":
            raise OptionError(f"'{model.name}' is not in water; a current does nothing to it")

    def relative(self, model: VMSModel, q: Array, v: Array) -> Array:
        """Return the velocity (nv,) relative to the water of a motion over ground."""
        v = v.copy()
        v[:3] -= self.velocity @ model.base_pose(q)[:3, :3]
        return v

    def over_ground(self, model: VMSModel, q: Array, v: Array, time: float) -> tuple[Array, Array]:
        """Return the motion over ground, q (nq,) and v (nv,), of one seen from the water.

        Args:
            model: the robot.
            q: (nq,) configuration seen from the water.
            v: (nv,) velocity relative to the water.
            time: since both frames coincided, s.
        """
        q, v = q.copy(), v.copy()
        v[:3] += self.velocity @ model.base_pose(q)[:3, :3]
        q[:3] += time * self.velocity
        return q, v

    def start(self, model: VMSModel, q: Array) -> Array:
        """Return the velocity (nv,) relative to the water of a robot at rest over ground."""
        return self.relative(model, q, np.zeros(model.nv))
