# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy tank over samples that nobody saw: nothing is earned there."""

import numpy as np
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    Controller,
    DecoupledVMSController,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_dynamics import Array
from vms_ph_io import robots

from ..support.closed_loops import HOLD

ROBOT = {
    TaskSpaceIDAPBC: "panda",
    CartesianImpedance: "panda",
    DecoupledVMSController: "hextilt",
}


class Pulled:
    """A robot that stands still away from where its controller wants it."""

    def __init__(self, kind: type[Controller]) -> None:
        self.model = robots.load(ROBOT[kind])
        self.law = kind(self.model)
        self.law.gains = kind.Gains(tank_capacity=100.0, tank_initial=1.0)
        self.rest = np.zeros(self.model.nv)
        middle = 0.5 * (self.model.joints.lower + self.model.joints.upper)
        home = self.model.neutral_configuration()
        if not self.model.b:
            home = np.array(middle)
        self.law.reset(RobotState(home, self.rest))
        self.way = np.full(self.model.nv, 0.05)
        self.q = self.model.integrate(home, self.way)
        self.begun = self.available(self.q)

    def available(self, q: Array) -> float:
        """Return all that the law may put into the robot from here on."""
        energy = self.law.update(RobotState(q, self.rest), HOLD, 1e-3).energy
        # The other laws pay for all they do from the tank, this one for changes of its potential.
        kept = energy.shaped_potential if isinstance(self.law, TaskSpaceIDAPBC) else 0.0
        return energy.tank_level + kept

    def effort(self) -> Array:
        command = self.law.update(RobotState(self.q, self.rest), HOLD, 1e-3)
        d = self.model.evaluate(self.q, self.rest)
        return np.concatenate([command.wrench_base, command.torque]) - d.g

    def miss_an_update(self, by_host: bool) -> None:
        if by_host:
            self.law.note_missed_updates()
            return
        nowhere = RobotState(np.full(self.model.nq, np.nan), np.full(self.model.nv, np.nan))
        self.law.update(nowhere, Reference(), 1e-3)


@pytest.mark.parametrize("by_host", [False, True])
@pytest.mark.parametrize("kind", ROBOT)
def test_what_is_moved_against_the_spring_unseen_is_no_income(
    kind: type[Controller], by_host: bool
) -> None:
    seen, unseen = Pulled(kind), Pulled(kind)
    away = 0.02 * np.sign(-seen.effort())
    there = seen.model.integrate(seen.q, away)
    work = -float(seen.effort() @ away)
    assert work > 0.0
    unseen.effort()
    unseen.miss_an_update(by_host)
    # Seen, the spring has taken the work of the hand. Unseen, there was no spring.
    assert seen.available(there) == pytest.approx(seen.begun + work, rel=1e-2)
    assert unseen.available(there) <= unseen.begun + 1e-12


@pytest.mark.parametrize("kind", ROBOT)
def test_after_what_was_not_seen_the_tank_earns_again(kind: type[Controller]) -> None:
    loop, plain = Pulled(kind), Pulled(kind)
    for each in (loop, plain):
        each.effort()
    loop.miss_an_update(by_host=True)
    for each in (loop, plain):
        each.available(each.q)
    away = loop.model.integrate(loop.q, 1e-3 * np.sign(-loop.effort()))
    plain.effort()
    gained = [each.available(away) - each.available(each.q) for each in (loop, plain)]
    assert gained[0] == pytest.approx(gained[1], abs=1e-12)
