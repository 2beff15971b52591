# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""MobileManipulation: the end effector is held while the base drives."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers import MobileManipulation, Reference, RobotState
from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.groups import SE3
from vms_ph_io import robots

NOW, HOLD = 0.0, Reference()


def cart() -> tuple[VMSModel, np.ndarray]:
    robot = robots.get("omnidirectional_panda")
    model = robot.load()
    return model, model.configuration(robot.home)


def test_the_rate_of_the_energy_is_what_the_bookkeeping_says(rng: np.random.Generator) -> None:
    model, q = cart()
    law, pinocchio = MobileManipulation(model), model.pinocchio
    law.reset(RobotState(q, np.zeros(model.nv)))
    goal = model.base_pose(q) @ SE3().exp(np.array([0.3, -0.2, 0.0, 0.0, 0.0, 0.4]))
    target = Reference(pose=goal, position=np.array([0.7, 0.1, 1.0]))
    for _ in range(10):
        law.update(RobotState(q, np.zeros(model.nv)), target, 0.02)
    base, tool = law._base_reference, law._tool_ref

    def stored(q: np.ndarray, v: np.ndarray, a: np.ndarray, time: float) -> float:
        kept = base.pose.copy(), tool.pose.copy()
        base.pose = base.pose @ SE3().exp(time * base.twist)
        tool.pose = tool.pose @ SE3().exp(time * tool.twist)
        there = model.integrate(q, time * v + 0.5 * time**2 * a)
        told = law.update(RobotState(there, v + time * a), HOLD, NOW)
        base.pose, tool.pose = kept
        return float(told.energy.closed_loop_energy)

    assert np.linalg.norm(base.twist) > 0.05
    for _ in range(5):
        there = model.integrate(q, 0.05 * rng.uniform(-1, 1, model.nv))
        v = 0.2 * rng.uniform(-1, 1, model.nv)
        told = law.update(RobotState(there, v), HOLD, NOW)
        force = np.concatenate([told.wrench_base, told.torque])
        a = np.array(pin.aba(pinocchio, pinocchio.createData(), there, v, force))
        h = 1e-5
        rate = (stored(there, v, a, h) - stored(there, v, a, -h)) / (2 * h)
        e = told.energy
        said = e.reference_power + e.clipped_power - e.damping_task - e.damping_null
        assert rate == pytest.approx(said, rel=1e-5, abs=1e-6)
        assert abs(e.reference_power) > 1e-3


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("share", [0.0, 0.7])
def test_the_base_takes_over_its_share_of_the_way(share: float) -> None:
    model, q = cart()
    law = MobileManipulation(model, MobileManipulation.Gains(base_share=share, speed=0.5))
    law.reset(RobotState(q, np.zeros(model.nv)))
    start = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)[:3, 3]
    way, base = np.array([0.0, 0.1, -0.05]), model.base_pose(q)[:3, 3]
    v, step = np.zeros(model.nv), 0.02
    pinocchio = model.pinocchio
    data = pinocchio.createData()
    for _ in range(250):
        told = law.update(RobotState(q, v), Reference(position=start + way), step)
        a = np.array(
            pin.aba(pinocchio, data, q, v, np.concatenate([told.wrench_base, told.torque]))
        )
        v = v + step * a
        q = model.integrate(q, step * v)
    reached = model.evaluate(q, v).placement(model.end_effector)[:3, 3]
    np.testing.assert_allclose(reached, start + way, atol=2e-3)
    moved = model.base_pose(q)[:3, 3] - base
    np.testing.assert_allclose(moved, [0.0, share * 0.1, 0.0], atol=3e-3)


def test_a_base_that_cannot_be_driven_everywhere_is_refused() -> None:
    with pytest.raises(
        ModelError, match="moves a base that can apply every wrench; that of 'panda"
    ):
        MobileManipulation(robots.load("panda"))
    borinot = robots.get("borinot")
    with pytest.raises(ModelError, match="can apply every wrench"):
        MobileManipulation(borinot.load(), allocation=borinot.own_actuators().allocation)
