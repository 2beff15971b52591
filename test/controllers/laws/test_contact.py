# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Laws of motion whose reference is behind a wall."""

import numpy as np
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    Controller,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_io import robots

from ..support.observed_robots import Wall, samples

_NORMAL = np.array([1.0, 0.0, 0.0])


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("kind", [CartesianImpedance, TaskSpaceIDAPBC])
def test_a_reference_behind_a_wall_presses_on_it_and_comes_to_rest(kind: type[Controller]) -> None:
    model, dt = robots.load("panda"), 5e-3
    q = model.configuration(robots.get("panda").home)
    law = kind(model)
    law.reset(RobotState(q, np.zeros(7)))
    at = model.evaluate(q, np.zeros(7)).placement(model.end_effector)[:3, 3]
    wall = Wall(model, at + 5e-3 * _NORMAL, _NORMAL, 50.0)
    behind = Reference(position=at + 25e-3 * _NORMAL)

    def effort(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return law.update(RobotState(q, v), behind, dt).torque

    forces, speeds = [], []
    for moment in samples(model, q, effort, wall, dt, 320, fine=4):
        d = model.evaluate(moment.q, moment.v)
        row = _NORMAL @ d.placement(model.end_effector)[:3, :3] @ d.J_end_effector[:3]
        forces.append(-float(wall(0.0, moment.q, moment.v) @ row) / float(row @ row))
        speeds.append(abs(float(row @ moment.v)))
    assert max(forces) > 0.0
    # No bouncing: from half of the time on it touches always, and in the end it rests there.
    assert min(forces[160:]) > 0.0
    assert speeds[-1] < 1e-3
    # The wall stores nothing that it did not take: the work on the robot is negative.
    assert wall.work < 0.0
    if kind is CartesianImpedance:
        # Stiffness times what is left of the way, 25 mm less 5 mm, less the depth in the wall.
        assert forces[-1] == pytest.approx(200.0 * 0.02, rel=0.05)
