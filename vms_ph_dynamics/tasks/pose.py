# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The pose of a frame as a task."""

from ..arrays import Array
from ..evaluation import Evaluation
from .frame import FrameTask


class PoseTask(FrameTask):
    """``eta = J v`` with the geometric Jacobian: (velocity of the origin, angular velocity).

    In inertial axes, m/s and rad/s, linear first. The angular part is not integrable.
    """

    dimension = 6
    _rows = slice(0, 6)

    def value(self, d: Evaluation) -> Array:
        """Return the pose in the inertial frame, (4,4)."""
        return d.placement(self.frame)
