# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms of a robot over a network: one leads, the other follows, and their tanks bound both."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import Reference, RobotState, Status, Teleoperation
from vms_ph_dynamics import ModelError, OptionError, VMSModel
from vms_ph_io import Push, robots, simulate

STIFFNESS = 100.0  # N m/rad


def arm(side: str, y: float) -> str:
    links = "".join(
        f'<link name="{side}_{k}"><inertial><origin xyz="0 0 -0.15"/><mass value="1.0"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for k in range(2)
    )
    return (
        f'{links}<link name="{side}_hand"/><joint name="{side}_tip" type="fixed">'
        f'<parent link="{side}_1"/><child link="{side}_hand"/><origin xyz="0 0 -0.3"/></joint>'
        + "".join(
            f'<joint name="{side}_joint{k}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{side}_{k}"/><origin xyz="{origin}"/><axis xyz="0 1 0"/>'
            '<limit lower="-3" upper="3" effort="40" velocity="10"/></joint>'
            for k, (parent, origin) in enumerate((("base", f"0 {y} 0"), (f"{side}_0", "0 0 -0.3")))
        )
    )


def two_arms(extra: str = "") -> VMSModel:
    text = (
        f'<robot name="two_arms"><link name="base"/>{arm("a", 0.3)}{arm("b", -0.3)}{extra}</robot>'
    )
    return VMSModel.from_urdf(text, base="fixed", end_effector="b_hand")


def law_of(model: VMSModel, damping: float = 6.0, **gains: float) -> Teleoperation:
    return Teleoperation(model, Teleoperation.Gains(**gains), stiffness=STIFFNESS, damping=damping)


def test_the_arm_of_the_end_effector_leads_and_the_other_one_follows() -> None:
    law = law_of(two_arms(), delay=0.02)
    push = Push("wrench_end_effector", [5.0, 0, 0, 0, 0, 0], 0.1, 0.5, axes="world")
    run = simulate(law.model, law, 2.0, rate=1000.0, disturbances=[push])
    leader, follower = run.q[:, 2:], run.q[:, :2]
    assert np.abs(leader[600]).max() > 0.05  # at the end of the push
    assert np.abs(follower[800] - leader[800]).max() < 0.3 * np.abs(leader[800]).max()
    assert follower[-1] == pytest.approx(leader[-1], abs=1e-3)
    assert [side.guard.certificate.verdict for side in law.sides] == ["kept", "kept"]


@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_a_delay_creates_no_more_energy_than_the_tanks_held(delay: float) -> None:
    speed, created = {}, {}
    for budget in (0.5, 1e6):
        law = law_of(two_arms(), 2.0, delay=delay, jitter=0.5, loss=0.2, budget=budget)
        push = Push("wrench_end_effector", [5.0, 0, 0, 0, 0, 0], 0.1, 0.5, axes="world")
        run = simulate(law.model, law, 8.0, rate=500.0, disturbances=[push])
        speed[budget] = np.abs(run.v[-1000:]).max()
        # The weight is carried by the same torques.
        weight = run.potential_energy - run.potential_energy[0]
        created[budget] = float(np.max(run.port_energy["torque"] - weight))
    assert created[0.5] <= 2 * 0.5
    assert speed[0.5] < 2.0
    if delay:  # without a bound the same springs shake the arms apart
        assert created[1e6] > 100.0
        assert speed[1e6] > 20.0


def test_the_leader_returns_to_its_start_where_it_is_centred() -> None:
    law = law_of(two_arms(), delay=0.02, centring=0.3)
    push = Push("wrench_end_effector", [5.0, 0, 0, 0, 0, 0], 0.1, 0.5, axes="world")
    run = simulate(law.model, law, 4.0, rate=1000.0, disturbances=[push])
    assert np.abs(run.q[600]).max() > 0.03
    assert np.abs(run.q[-1]).max() < 1e-3


def test_the_record_of_energy_is_that_of_springs_and_motion() -> None:
    law = law_of(two_arms(), 2.0, delay=0.0, centring=0.5)
    law.reset(RobotState(np.zeros(4), np.zeros(4)))
    state = RobotState(np.array([0.0, 0.0, 0.1, -0.2]), np.array([0.0, 0.0, 1.0, 0.0]))
    command = law.update(state, Reference(), 1e-3)
    d = law.model.evaluate(state.q, state.v)
    spring = 0.5 * STIFFNESS * 1.5 * (0.1**2 + 0.2**2)
    assert command.energy.shaped_potential == pytest.approx(spring, rel=1e-12)
    assert command.energy.closed_loop_energy == pytest.approx(spring + d.kinetic_energy, rel=1e-12)
    assert command.energy.damping_shape == pytest.approx(2.0, rel=1e-12)
    wanted = d.g + np.array([0.0, 0.0, -1.5 * STIFFNESS * 0.1 - 2.0, 1.5 * STIFFNESS * 0.2])
    assert command.torque == pytest.approx(wanted, rel=1e-12)


def test_an_unusable_state_gets_the_safe_output() -> None:
    law = law_of(two_arms())
    for q in (np.full(4, np.nan), np.zeros(3)):
        command = law.update(RobotState(q, np.zeros(4)), Reference(), 1e-3)
        assert command.status is Status.HOLDING
        assert command.torque == pytest.approx(law.model.evaluate(np.zeros(4), np.zeros(4)).g)


def test_what_is_no_pair_of_arms_is_refused() -> None:
    with pytest.raises(ModelError, match="of the 7 joints of 'panda', 7 move"):
        Teleoperation(robots.load("panda"))
    with pytest.raises(ModelError, match="fixed base"):
        Teleoperation(robots.load("hextilt"))
    with pytest.raises(OptionError, match="stiffness must be"):
        Teleoperation(two_arms(), stiffness=-1.0)
    with pytest.raises(ModelError, match="gain delay"):
        Teleoperation(two_arms(), replace(Teleoperation.Gains(), delay=3.0))
