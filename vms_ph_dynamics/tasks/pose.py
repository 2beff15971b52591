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
