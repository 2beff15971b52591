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
