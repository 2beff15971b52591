# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
