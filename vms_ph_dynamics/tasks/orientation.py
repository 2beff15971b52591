# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The orientation of a frame as a task."""

from ..arrays import Array
from ..evaluation import Evaluation
from .frame import FrameTask


class OrientationTask(FrameTask):
    """``eta`` is the angular velocity of a frame in inertial axes, rad/s.

    It is not integrable: it is not the derivative of any three coordinates.
    """

    dimension = 3
    _rows = slice(3, 6)

    def value(self, d: Evaluation) -> Array:
        """Return the rotation from the frame's axes to inertial axes, (3,3)."""
        return d.placement(self.frame)[:3, :3]
