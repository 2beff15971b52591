# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""References of the decoupled law: poses, twists, joints, and values that are ignored."""

import numpy as np
import pytest

from vms_ph_controllers import DecoupledVMSController, Reference, RobotState
from vms_ph_io import robots

from ..support.decoupled_plants import HOLD, ROBOTS, STEP, goal, plant


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n != "hextilt" else n for n in ROBOTS],
)
def test_a_moving_reference_is_followed_and_puts_no_energy_in(
    name: str, rng: np.random.Generator
) -> None:
    one = plant(name, rng, speed=0.0)
    model, law = one.law.model, one.law
    one.q = one.goal.copy()
    law.reset(RobotState(one.q, one.v))
    step = np.concatenate([0.2 * rng.uniform(-1, 1, model.b), 0.3 * rng.uniform(-1, 1, model.n)])
    target = model.integrate(one.goal, step)
    told = one.step(Reference(pose=model.base_pose(target), joints=model.joint_positions(target)))
    largest = 0.0
    for _ in range(round(15.0 / STEP)):
        told = one.step()
        largest = max(largest, told.energy.closed_loop_energy)
    # Feed-forward of velocity and acceleration: what is left is the error of the hold of a stage.
    d = model.evaluate(one.q, np.full(model.nv, 0.1))
    assert largest < 1e-4 * d.kinetic_energy
    assert np.abs(model.difference(target, one.q)).max() < 1e-3
    assert told.energy.closed_loop_energy < 1e-8


@pytest.mark.usefixtures("core")
def test_a_twist_moves_the_reference_of_the_base_on(rng: np.random.Generator) -> None:
    one = plant("omnidirectional_panda", rng, speed=0.0)
    one.q = one.goal.copy()
    one.law.reset(RobotState(one.q, one.v))
    for _ in range(round(5.0 / STEP)):
        one.step(Reference(twist=np.array([0.1, 0, 0, 0, 0, 0.2])))
    assert one.v[:3] == pytest.approx([0.1, 0.0, 0.2], abs=1e-3)
    for _ in range(round(5.0 / STEP)):
        one.step()
    assert np.abs(one.v).max() < 1e-3


def test_a_reference_that_is_not_finite_or_of_another_shape_is_not_taken(
    rng: np.random.Generator,
) -> None:
    model = robots.load("satellite_panda")
    law = DecoupledVMSController(model)
    state = RobotState(goal(model, "satellite_panda"), np.zeros(model.nv))
    law.reset(state)
    nothing = law.update(state, HOLD, 1e-3)
    wrong = Reference(
        pose=np.full((4, 4), np.nan),
        twist=np.full(6, np.inf),
        joints=np.full(model.n, np.nan),
    )
    of_another_shape = Reference(pose=np.zeros(3), twist=np.ones(3), joints=np.ones(model.n + 1))
    for reference in (wrong, of_another_shape):
        told = law.update(state, reference, 1e-3)
        np.testing.assert_array_equal(told.torque, nothing.torque)
        np.testing.assert_array_equal(told.wrench_base, nothing.wrench_base)
