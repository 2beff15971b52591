# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Pushing a wall with a desired force, losing it, and running out of energy."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from vms_ph_controllers import PushingImpedance, Reference, RobotState, Status
from vms_ph_io import robots

from ..support.observed_robots import Wall, samples

_NORMAL = np.array([1.0, 0.0, 0.0])


@dataclass
class Run:
    """A push of a wall in front of the end effector, which is taken away after a while."""

    name: str
    force: float
    dt: float
    gains: dict[str, float] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    forces: list[float] = field(default_factory=list)
    levels: list[float] = field(default_factory=list)
    reasons: set[str] = field(default_factory=set)

    def go(self, until: float, lost: float) -> "Run":
        model, dt = robots.load(self.name), self.dt
        q = model.configuration(robots.get(self.name).home)
        law = self.law = PushingImpedance(model, PushingImpedance.Gains(**self.gains))
        law.reset(RobotState(q, np.zeros(model.nv)))
        at = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)[:3, 3]
        wall = Wall(model, at + 2e-3 * _NORMAL, _NORMAL, 50.0)
        none = np.zeros(model.nv)
        exerted = Reference(wrench=np.concatenate([self.force * _NORMAL, np.zeros(3)]))

        def effort(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            command = law.update(RobotState(q, v), exerted, dt)
            self.reasons |= set(command.reason.split("; "))
            return np.concatenate([command.wrench_base, command.torque])

        def outside(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return wall(t, q, v) if t < lost else none

        steps = round(until / dt)
        for moment in samples(model, q, effort, outside, dt, steps, fine=4):
            d = model.evaluate(moment.q, moment.v)
            row = _NORMAL @ d.placement(model.end_effector)[:3, :3] @ d.J_end_effector[:3]
            self.times.append(moment.time)
            self.speeds.append(float(row @ moment.v))
            pressed = outside(moment.time, moment.q, moment.v)
            self.forces.append(-float(pressed @ row) / float(row @ row))
            self.levels.append(law.push_level)
            mobility = float(row @ np.linalg.solve(d.M, row))
        gained = (1.0 + 2.0 * law.gains.delay) * dt * self.force * mobility
        speed = law.gains.push_speed
        self.bound = max(speed, 0.5 * speed + gained)
        return self


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(("name", "force"), [("panda", 20.0), ("satellite_panda", 15.0)])
def test_the_force_is_the_desired_one_and_where_contact_is_lost_the_speed_is_bounded(
    name: str, force: float
) -> None:
    lost = 0.65
    run = Run(name, force, 5e-3).go(0.85, lost)
    times = np.array(run.times)
    pushing = (times > 0.5) & (times < lost)
    assert np.array(run.forces)[pushing] == pytest.approx(force, rel=0.05)
    assert run.law.observed_force == pytest.approx(0.0, abs=0.5)
    free = np.array(run.speeds)[times > lost]
    assert free.max() < run.bound
    assert free.max() > 0.5 * run.law.gains.push_speed


@pytest.mark.usefixtures("core")
def test_a_push_into_the_void_gives_no_more_energy_than_its_tank_had() -> None:
    run = Run("panda", 20.0, 5e-3, {"push_energy": 0.2, "push_routing": 0.0}).go(0.8, 0.0)
    assert min(run.levels) > -0.01
    assert run.levels[-1] < 0.05
    # 0.2 J at 20 N last for 10 mm at full force; what is left decays.
    assert sum(run.speeds) * run.dt < 0.06
    assert abs(run.speeds[-1]) < 0.02
    assert "the energy for pushing is used up" in run.reasons


@pytest.mark.parametrize("relative", [False, True])
def test_the_reference_slides_along_the_push_however_the_base_is_turned(relative: bool) -> None:
    model = robots.load("satellite_panda")
    q, v = model.configuration(robots.get("satellite_panda").home), np.zeros(13)
    q = model.integrate(q, np.array([0.5, -0.3, 0.2, 1.0, -0.7, 0.4, *np.zeros(7)]))
    law = PushingImpedance(model, PushingImpedance.Gains(relative_to_base=relative))
    law.reset(RobotState(q, v))
    d, base, normal = model.evaluate(q, v), model.base_pose(q), np.array([0.6, 0.0, -0.8])
    law._direction = normal

    def place() -> np.ndarray:
        """Return the place of the reference in the inertial frame."""
        pose = base @ law._tool_ref.pose if relative else law._tool_ref.pose
        return pose[:3, 3]

    before, placement = place().copy(), d.placement(model.end_effector).copy()
    placement[:3, 3] += [0.03, -0.02, 0.01]
    law._slide_reference(d, placement)
    along = float(normal @ (placement[:3, 3] - before))
    np.testing.assert_allclose(place() - before, along * normal, atol=1e-12)


def test_only_damping_across_the_push_and_of_turning_pays_for_it(rng: np.random.Generator) -> None:
    model = robots.load("panda")
    law = PushingImpedance(model)
    law._direction = np.array([0.6, 0.0, -0.8])
    d = model.evaluate(model.random_configuration(rng), rng.normal(size=7))
    placement = d.placement(model.end_effector)
    law._update_tank(d, placement, law.gains, 1e-3)
    twist = d.J_end_effector @ d.v
    velocity = placement[:3, :3] @ twist[:3]
    across = float(velocity @ velocity) - float(velocity @ law._direction) ** 2
    turning = float(twist[3:] @ twist[3:])
    expected = law.gains.damping * across + law.gains.damping_rotation * turning
    assert law._routable_power == pytest.approx(expected)
    law._held_push = placement[:3, 3].copy(), 20.0, law._direction
    law._tank.drain(0.5 * law._tank.level)
    for power in (expected, 0.0):
        before, law._routable_power = law.push_level, power
        law._update_tank(d, placement, law.gains, 1e-3)
        assert law.push_level - before == pytest.approx(law.gains.push_routing * power * 1e-3)


def test_a_wrench_of_zero_ends_a_push_and_the_pose_is_held() -> None:
    model = robots.load("panda")
    q, v = model.configuration(robots.get("panda").home), np.zeros(7)
    law = PushingImpedance(model, PushingImpedance.Gains(push_feedback=0.0))
    law.reset(RobotState(q, v))
    rest = law.update(RobotState(q, v), Reference(), 1e-3).torque
    push = Reference(wrench=np.array([0.0, 0.0, -5.0, 0.0, 0.0, 0.0]))
    for _ in range(100):
        pushing = law.update(RobotState(q, v), push, 1e-3)
    j = model.evaluate(q, v)
    force = j.placement(model.end_effector)[:3, :3].T @ np.array([0.0, 0.0, -5.0])
    expected = j.J_end_effector[:3].T @ force
    np.testing.assert_allclose(pushing.torque - rest, expected, atol=1e-6)
    for _ in range(100):
        ended = law.update(RobotState(q, v), Reference(wrench=np.zeros(6)), 1e-3)
    np.testing.assert_allclose(ended.torque, rest, atol=1e-9)


def test_a_wrench_that_is_not_usable_changes_nothing() -> None:
    model = robots.load("panda")
    state = RobotState(model.configuration(robots.get("panda").home), np.zeros(7))
    law = PushingImpedance(model)
    law.reset(state)
    rest = law.update(state, Reference(), 1e-3).torque
    for wrench in (np.full(6, np.nan), np.ones(3)):
        command = law.update(state, Reference(wrench=wrench), 1e-3)
        assert command.status == Status.OK
        np.testing.assert_array_equal(command.torque, rest)


def test_a_light_push_is_damped_by_no_more_than_its_speed_asks_for() -> None:
    model = robots.load("panda")
    q = model.configuration(robots.get("panda").home)
    law = PushingImpedance(model)
    law.reset(RobotState(q, np.zeros(model.nv)))
    d = model.evaluate(q, np.zeros(model.nv))
    push = law._update_push(d, Reference(wrench=np.array([1.0, 0, 0, 0, 0, 0])), 0.0, 0.0)
    assert push is not None
    along = d.placement(model.end_effector)[:3, :3].T @ _NORMAL
    np.testing.assert_allclose(push.wrench, [*along, 0.0, 0.0, 0.0], atol=1e-12)
    # The force is zero at this speed; the damping of the gains is twice as large.
    expected = np.zeros((6, 6))
    expected[:3, :3] = np.outer(along, along) / law.gains.push_speed
    np.testing.assert_allclose(push.damping, expected, atol=1e-12)
    assert push.authority == 1.0
