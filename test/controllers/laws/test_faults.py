# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Input that no law can use: states, time steps, references and gains."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    Controller,
    DecoupledVMSController,
    PoseIDAPBC,
    Reference,
    RobotState,
    Status,
    TaskSpaceIDAPBC,
)
from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_io import robots, simulate
from vms_ph_io.simulation import ControlFault

from ..support.closed_loops import HOLD, Q0
from ..support.unusable_steps import UNUSABLE_STEPS, check_that_it_works_on

REST = np.zeros(7)
Gains = TaskSpaceIDAPBC.Gains


LAWS = [
    (TaskSpaceIDAPBC, "panda"),
    (CartesianImpedance, "satellite_panda"),
    (PoseIDAPBC, "omnidirectional_panda"),
    (DecoupledVMSController, "omnidirectional_panda"),
]


@pytest.mark.parametrize("dt", UNUSABLE_STEPS)
def test_a_time_step_that_is_none_moves_nothing(law: TaskSpaceIDAPBC, dt: float) -> None:
    command = law.update(RobotState(Q0, REST), Reference(position=np.zeros(3)), dt)
    np.testing.assert_array_equal(law.q_star, Q0)
    assert np.isfinite(command.torque).all()
    assert command.energy.reference_power == 0.0


@pytest.mark.parametrize("dt", UNUSABLE_STEPS)
@pytest.mark.parametrize(("kind", "name"), LAWS)
def test_after_a_time_step_that_is_none_a_law_works_on(
    kind: type[Controller], name: str, dt: float
) -> None:
    check_that_it_works_on(kind, name, dt)


@pytest.mark.parametrize("q", [np.zeros(3), Q0 + np.inf], ids=["short", "infinite"])
def test_a_state_that_is_none_of_the_robot_gets_the_safe_torque(
    panda: VMSModel, law: TaskSpaceIDAPBC, q: np.ndarray
) -> None:
    command = law.update(RobotState(q, REST), HOLD, 1e-3)
    assert command.status is Status.HOLDING
    np.testing.assert_allclose(command.torque, panda.evaluate(Q0, REST).g)


def test_arms_with_and_without_redundancy_are_served() -> None:
    xml = robots.get("panda").description()
    held = {"panda_joint3": 0.0, "panda_joint5": 0.0, "panda_joint6": 1.5, "panda_joint7": 0.0}
    three = VMSModel.from_urdf(xml, end_effector="panda_link8", locked_joints=held)
    for model in (three, robots.load("baxter")):
        q = model.neutral_configuration() + 0.3
        controller = TaskSpaceIDAPBC(model, TaskSpaceIDAPBC.Gains(cancel_coupling=True))
        controller.reset(RobotState(q, np.zeros(model.nv)))
        state = RobotState(q + 0.01, np.full(model.nv, 0.1))
        energy = controller.update(state, HOLD, 1e-3).energy
        assert energy.damping_task > 0.0
        assert abs(energy.routing_power) < 1e-12
        if model is three:
            assert (energy.kinetic_null, energy.null_to_task) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        (Reference(pose=np.zeros(7)), r"pose of a reference must be \(4, 4\)"),
        (Reference(pose=2.0 * np.eye(4)), "with a rotation"),
        (Reference(joints=np.zeros(3)), r"joints of a reference must be \(5,\)"),
        (Reference(joints={"arm": 1.0}), "given: {'arm': 1.0}"),  # type: ignore[arg-type]
        (Reference(twist=np.full(6, np.nan)), r"\(6,\), finite;"),
        (Reference(position=np.zeros(3)), "follows no position of a reference; give Reference"),
    ],
)
def test_a_simulation_refuses_a_reference_that_its_law_cannot_follow(
    reference: Reference, reason: str
) -> None:
    with pytest.raises(ControlFault, match=reason):
        simulate("hextilt", DecoupledVMSController, 0.01, reference=reference)


def test_gains_that_are_no_record_of_the_law_are_refused(panda: VMSModel) -> None:
    with pytest.raises(ModelError, match=r"a record, TaskSpaceIDAPBC\.Gains\(stiffness=\.\.\.\)"):
        TaskSpaceIDAPBC(panda, gains={"stiffness": 40.0})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [DecoupledVMSController, CartesianImpedance])
def test_a_reference_beyond_all_bounds_ends_in_the_safe_output(kind: type[Controller]) -> None:
    model = robots.load("satellite_panda" if kind is DecoupledVMSController else "panda")
    controller, q, far = kind(model), model.neutral_configuration(), np.eye(4)
    q[-7:], far[0, 3] = Q0, 1e307
    rest = RobotState(q, np.zeros(model.nv))
    controller.reset(rest)
    weight = model.evaluate(q, rest.v).g
    with np.errstate(all="ignore"):
        for reference in (Reference(pose=far), HOLD, HOLD):
            command = controller.update(rest, reference, 1e-3)
            assert command.status is Status.HOLDING
            assert "the next reset" in command.reason
            force = np.concatenate([command.wrench_base, command.torque])
            np.testing.assert_allclose(force, weight, atol=1e-12)
    controller.reset(rest)
    assert controller.update(rest, HOLD, 1e-3).status is Status.OK


@pytest.mark.parametrize(("kind", "name"), LAWS)
@pytest.mark.parametrize("capacity", [0.0, 1.0])
def test_a_time_step_of_zero_is_the_law_in_continuous_time(
    kind: type[Controller], name: str, capacity: float
) -> None:
    model = robots.load(name)
    state = RobotState(model.neutral_configuration(), np.full(model.nv, 0.1))
    law = kind(model)
    if hasattr(law.gains, "tank_capacity"):
        law.gains = replace(law.gains, tank_capacity=capacity)
    law.reset(state)
    first = law.update(state, Reference(), 0.0)
    soon = law.update(state, Reference(), 1e-9)
    assert first.status is not Status.HOLDING
    np.testing.assert_allclose(first.torque, soon.torque, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("kind", "name"), LAWS[:3])
def test_a_law_that_continues_at_another_pose_keeps_the_level_of_its_tank(
    kind: type[Controller], name: str
) -> None:
    model = robots.load(name)
    q, rest = model.neutral_configuration() + 0.0, np.zeros(model.nv)
    elsewhere = model.integrate(q, np.full(model.nv, 0.2))
    law = kind(model)
    law.gains = replace(law.gains, tank_capacity=1.0, tank_initial=0.25)
    law.reset(RobotState(q, rest))
    law.update(RobotState(q, rest), HOLD, 1e-3)
    law.gains = replace(law.gains, tank_initial=0.75)
    for restart, level in ((law.resume, 0.25), (law.reset, 0.75)):
        restart(RobotState(elsewhere, rest))
        command = law.update(RobotState(elsewhere, rest), HOLD, 1e-3)
        assert command.status is not Status.HOLDING
        assert command.energy.tank_level == pytest.approx(level, abs=1e-9)
