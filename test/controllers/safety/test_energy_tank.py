# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy tank: passive whatever reference, gains and rate come in."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import EnergyTank, Reference, RobotState, Status, TaskSpaceIDAPBC
from vms_ph_dynamics import VMSModel

from ..support.closed_loops import HOLD, Q0, Sampled

REST = np.zeros(7)
Gains = TaskSpaceIDAPBC.Gains


def held(panda: VMSModel, **gains: float) -> TaskSpaceIDAPBC:
    law = TaskSpaceIDAPBC(panda, gains=Gains(**gains))
    law.reset(RobotState(Q0, REST))
    return law


@pytest.mark.usefixtures("core")
def test_tank_and_potential_give_no_more_than_they_had(panda: VMSModel) -> None:
    # A stiffness that rises whenever the arm is away and falls when it is back pumps energy in.
    law = held(panda, damping_task=0.5, damping_null=0.2, tank_capacity=1.0, tank_initial=0.2)
    plain = held(panda, damping_task=0.5, damping_null=0.2)
    given = []
    for each in (law, plain):
        loop = Sampled(panda, each, Q0 + 0.1, REST)
        start = 0.5 * 30.0 * 7 * 0.01
        # Out of phase with the motion: stiff on the way out of the middle, soft on the way back.
        most = 0.0
        for k in range(60):
            swinging = float((loop.q - Q0) @ loop.v) > 0.0
            each.gains = replace(each.gains, stiffness=5.0 if swinging else 60.0)
            loop.run(0.02)
            most = max(most, loop.work)
            if each is law and k:
                assert loop.commands[-1].energy.tank_level >= -1e-12  # rounding
        given.append(most)
        if each is law:
            assert loop.commands[-1].energy.unaccounted_energy < 1e-2
            assert most <= start + 0.2
            assert min(c.authority for c in loop.commands) < 1.0
    assert given[1] > given[0]


def test_the_account_is_exact_whatever_the_velocity_was_believed_to_be(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    # Storage of robot, potential and tank changes by nothing but what overflows: the velocities
    # handed in are wrong on purpose, the positions are right.
    law = held(panda, tank_capacity=100.0, tank_initial=5.0)
    loop = Sampled(panda, law, Q0 + 0.05, REST)
    honest = law.update

    def mistaken(state: RobotState, reference: Reference, dt: float):
        return honest(RobotState(state.q, state.v + rng.normal(0, 0.3, 7)), reference, dt)

    law.update = mistaken
    loop.run(0.15)
    final = law.update(RobotState(loop.q, loop.v), HOLD, 1e-3).energy
    potential = 0.5 * 30.0 * float((loop.q - Q0) @ (loop.q - Q0))
    start = 0.5 * 30.0 * 7 * 0.05**2
    assert loop.work + potential + final.tank_level == pytest.approx(start + 5.0, abs=1e-9)


@pytest.mark.usefixtures("core")
def test_a_reference_that_the_tank_cannot_pay_for_waits(panda: VMSModel) -> None:
    law = held(panda, tank_capacity=1.0, tank_initial=1e-4)
    aside = law.task.value(panda.evaluate(Q0, REST)) + np.array([0.0, 0.2, 0.0])
    far = Reference(position=aside)
    # The arm is held, so every step of the reference costs.
    state = RobotState(Q0, REST)
    reasons = set()
    for _ in range(2000):
        command = law.update(state, far, 1e-3)
        reasons.add(command.reason)
        assert command.energy.tank_level >= -1e-12
        assert command.energy.shaped_potential <= 1e-4 * (1 + 1e-9)
    assert command.status is Status.DEGRADED
    assert "the energy tank is empty" in command.reason
    free = held(panda)
    for _ in range(2000):
        command = free.update(state, far, 1e-3)
    assert command.energy.shaped_potential > 0.1


@pytest.mark.usefixtures("core")
def test_a_full_tank_lets_a_reference_pass_as_if_there_were_none(panda: VMSModel) -> None:
    goal = Reference(position=np.array([0.45, 0.05, 0.78]))
    positions = []
    for gains in ({"tank_capacity": 10.0, "tank_initial": 5.0}, {}):
        loop = Sampled(panda, held(panda, **gains), Q0, REST)
        loop.run(0.5, lambda t: goal)
        positions.append(loop.q)
    np.testing.assert_array_equal(*positions)


@pytest.mark.usefixtures("core")
def test_damping_fills_the_tank_to_its_capacity(panda: VMSModel) -> None:
    law = held(panda, tank_capacity=0.3, tank_initial=0.0)
    loop = Sampled(panda, law, Q0 + 0.1, REST)
    loop.run(1.0)
    levels = [c.energy.tank_level for c in loop.commands]
    assert levels[0] == 0.0
    assert max(levels) == pytest.approx(0.3)


@pytest.mark.usefixtures("core")
def test_gains_beyond_a_low_rate_give_no_more_than_the_spring_holds(panda: VMSModel) -> None:
    # Held as they are, these gains would give a hundred times as much at 100 Hz.
    gains = {"stiffness": 400.0, "damping_task": 2.0, "damping_null": 0.5}
    tanked = Sampled(
        panda, held(panda, **gains, tank_capacity=1.0, tank_initial=0.1), Q0 + 0.02, REST, 10
    )
    plain = Sampled(panda, held(panda, **gains), Q0 + 0.02, REST, 10)
    start = 0.5 * 400.0 * 7 * 0.02**2
    for _ in range(50):
        for loop in (tanked, plain):
            loop.run(0.02)
            assert loop.work <= start
    assert "stiffness reduced" in plain.commands[-1].reason
    assert panda.evaluate(plain.q, plain.v).kinetic_energy < 1e-3 * start


def test_the_tank_can_be_switched_on_and_off_while_running(panda: VMSModel) -> None:
    law = held(panda)
    state = RobotState(Q0 + 0.05, REST)
    assert law.update(state, HOLD, 1e-3).energy.tank_level == 0.0
    assert law.tank is None
    law.gains = replace(law.gains, tank_capacity=2.0)
    assert law.update(state, HOLD, 1e-3).energy.tank_level == 0.5
    law.gains = replace(law.gains, tank_capacity=0.0)
    assert law.update(state, HOLD, 1e-3).energy.tank_level == 0.0


def test_a_tank_keeps_account_of_what_comes_and_goes() -> None:
    tank = EnergyTank(1.0, 5.0)
    assert tank.level == 1.0
    tank.deposit(-0.4)
    assert (tank.level, tank.unaccounted_energy) == (0.6, 0.4)
    tank.withdraw(0.5)
    tank.deposit(3.0)
    assert tank.level == 1.0
    tank.withdraw(1.5)
    assert tank.available_energy == 0.0
