# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The position of a frame as a task."""

from ..arrays import Array
from ..evaluation import Evaluation
from .frame import FrameTask


class PositionTask(FrameTask):
    """``eta`` is the velocity of a frame's origin in the inertial frame, m/s.

    It is integrable: the derivative of :meth:`value`.
    """

    dimension = 3
    _rows = slice(0, 3)

    def value(self, d: Evaluation) -> Array:
        """Return the position in the inertial frame, (3,), m."""
        return d.frame_placement(self.frame_id)[:3, 3]
