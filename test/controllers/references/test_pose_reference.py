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

"""The pose reference."""

import numpy as np

from vms_ph_controllers.references.pose_reference import PoseReference
from vms_ph_dynamics.groups import SE3


def test_the_pose_reference_arrives_and_rests() -> None:
    reference, target = PoseReference(), SE3().exp(np.array([1.0, -0.5, 0.2, 0.3, 2.0, -0.4]))
    reference.go_to(target)
    for _ in range(20_000):
        reference.advance(None, 0.3, 0.5, 1.5, 1e-3)
        assert np.linalg.norm(reference.twist[:3]) < 0.3 + 1e-9
        assert np.linalg.norm(reference.twist[3:]) < 0.5 + 1e-9
    np.testing.assert_allclose(reference.pose, target, atol=1e-5)
