# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Time steps that no law can use."""

import numpy as np

from vms_ph_controllers import Controller, Reference, RobotState, Status
from vms_ph_io import robots

UNUSABLE_STEPS = [-1.0, np.nan, np.inf, 1e300, 1.1]


def check_that_it_works_on(kind: type[Controller], name: str, dt: float) -> None:
    """Check that a law holds the robot in such a step, and works on after it."""
    model = robots.load(name)
    state = RobotState(model.neutral_configuration(), np.full(model.nv, 0.1))
    pose = np.eye(4)
    pose[0, 3] = 0.4
    reference = Reference(position=pose[:3, 3], pose=pose, joints=np.full(model.n, 0.2))
    commands = []
    for steps in ([1e-3, dt, dt, 1e-3], [1e-3, 1e-3]):
        law = kind(model)
        law.reset(state)
        commands.append([law.update(state, reference, step) for step in steps])
    disturbed, plain = commands
    for command in disturbed[1:3]:
        assert command.status is Status.HOLDING
        assert command.reason
        assert np.isfinite([*command.wrench_base, *command.torque]).all()
    np.testing.assert_array_equal(disturbed[3].torque, plain[1].torque)
    np.testing.assert_array_equal(disturbed[3].wrench_base, plain[1].wrench_base)
