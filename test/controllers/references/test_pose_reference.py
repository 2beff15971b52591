# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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
