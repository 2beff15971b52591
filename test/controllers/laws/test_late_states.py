# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots whose states come late: laws that know the age are stable, and others are braked."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    Command,
    Controller,
    DecoupledVMSController,
    PoseIDAPBC,
    Reference,
    RobotState,
    Status,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_controllers.laws.sampled_impedance import holds_weight, horizon
from vms_ph_dynamics import Ports, StandardForm, VMSModel
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import Push, robots, simulate
from vms_ph_io.tasks.uncertainty import Uncertainty

from ..support.pushed_robots import LAWS, Case, random_case, run

PUSH = Push("wrench_end_effector", [10, 10, 10, 0, 0, 0], start=0.2, duration=0.2)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("law", [TaskSpaceIDAPBC, CartesianImpedance, PoseIDAPBC])
def test_a_pushed_panda_comes_to_rest_at_100_hz_with_up_to_nine_samples_of_delay(
    law: type[Controller],
) -> None:
    for late in (3, 9):
        unknown = Uncertainty(delay=0.01 * late)
        motion = simulate("panda", law, 3.0, rate=100, uncertainty=unknown, disturbances=[PUSH])
        assert np.abs(motion.v).max() < 5.0
        assert np.abs(motion.v[-1]).max() < 0.5


def test_the_torque_without_an_age_is_that_of_the_horizon_without_one(panda: VMSModel) -> None:
    q, v = panda.home, np.full(7, 0.3)
    torques = []
    for age, delay in ((0.0, 1.0), (0.02, 0.0), (0.0, 2.0)):
        law = TaskSpaceIDAPBC(panda, gains=TaskSpaceIDAPBC.Gains(delay=delay))
        law.reset(RobotState(q, 0.0 * v))
        torques.append(law.update(RobotState(q, v, age), Reference(), 0.01).torque)
    np.testing.assert_allclose(torques[1], torques[2], rtol=1e-13)
    assert np.abs(torques[0] - torques[1]).max() > 0.1


def late_corners(cases: range, seconds: float) -> None:
    """Push robots with gains at corners, and states as late as their weight allows."""
    for k in cases:
        rng = np.random.default_rng([47, k])
        case = random_case(rng, True)
        outcome = run(replace(case, age=int(rng.integers(1, 10))), rng, seconds)
        assert outcome.most < 4.0 * outcome.pushed + 1e-2, case
        assert outcome.last < 0.1 * outcome.pushed, case


@pytest.mark.usefixtures("core")
def test_robots_pushed_at_corners_of_the_gains_come_to_rest_with_late_states() -> None:
    late_corners(range(4), 1.0)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(
    ("robot", "rate", "age", "gains"),
    [
        ("panda", 100, 9, {"stiffness_rotation": 500.0, "null_stiffness": 500.0}),
        # The posture pulls on a base that springs and damping hold too.
        ("omnidirectional_panda", 100, 9, {"stiffness_rotation": 500.0, "null_stiffness": 500.0}),
        ("satellite_panda", 250, 6, {"stiffness": 0.0, "null_stiffness": 500.0}),
        # About one axis alone, so that the light gripper turns far about the others.
        ("hextilt", 250, 5, {
            "stiffness": 5000.0, "stiffness_rotation": 500.0,
            "stiffness_share_rx": 0.0, "stiffness_share_rz": 0.0,
            "stiffness_share_y": 0.0, "stiffness_share_z": 0.0,
        }),
    ],
)  # fmt: skip
def test_a_posture_and_springs_along_single_axes_are_stable_with_late_states(
    robot: str, rate: int, age: int, gains: dict[str, float]
) -> None:
    stiff = {
        "delay": 3.0, "damping": 1000.0, "damping_rotation": 100.0, "damping_null": 100.0,
        "hold_base": False, "null_energy": 100.0, **gains,
    }  # fmt: skip
    for seed in range(2):
        outcome = run(
            Case("CartesianImpedance", robot, rate, 1, stiff, age), np.random.default_rng(seed), 2.0
        )
        assert outcome.most < 4.0 * outcome.pushed + 1e-6
        assert outcome.last < 0.1 * outcome.pushed


@pytest.mark.usefixtures("core")
def test_springs_that_oppose_each_other_come_to_rest_with_late_states() -> None:
    # At home, the fourth joint of this arm is within the margin of its limit: its spring stores
    # energy, and in the end pulls against that of the pose. Reduced together, they would be no
    # potential, and drive a motion that does not end.
    stiff = {
        "delay": 0.0, "damping": 1000.0, "damping_rotation": 100.0, "damping_null": 100.0,
        "stiffness": 5000.0, "stiffness_rotation": 500.0,
        "limit_frequency": 100.0, "limit_margin": 1.0,
    }  # fmt: skip
    case = Case("CartesianImpedance", "fr3", 100, 0, stiff, 3)
    outcome = run(case, np.random.default_rng(0), 1.0)
    assert outcome.last < 1e-3 * outcome.pushed


@pytest.mark.usefixtures("core")
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_robots_pushed_at_500_corners_of_the_gains_come_to_rest_with_late_states() -> None:
    late_corners(range(500), 4.0)


def supervised_run(name: str, law: Controller, age: int, rate: float) -> tuple[float, set[str]]:
    """Move a robot whose supervisor gets late states; return its last speed and the reasons."""
    model, dt = law.model, 1.0 / rate
    home = model.configuration(robots.get(name).home)
    supervisor, seen, reasons = Supervisor(law), deque(maxlen=age + 1), set()
    supervisor.reset(RobotState(home, np.zeros(model.nv)))

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> Command:
        seen.append((q.copy(), v.copy()))
        state = RobotState(*seen[0], (len(seen) - 1) * dt)
        command = supervisor.update(state, Reference(), dt)
        if command.status is Status.HOLDING:
            reasons.add(command.reason)
        return command

    moving = np.full(model.nv, 0.05)
    simulation = Simulation(StandardForm(model), home, dt, control, start_velocity=moving)
    simulation.advance(round(1.5 * rate), Ports())
    return float(np.abs(simulation.v).max()), reasons


@pytest.mark.parametrize(
    ("name", "kind"),
    [("panda", TaskSpaceIDAPBC), ("omnidirectional_panda", DecoupledVMSController)],
)
def test_states_that_come_too_late_to_hold_the_weight_are_told_and_braked(
    name: str, kind: type[Controller]
) -> None:
    model = robots.load(name)
    home = model.configuration(robots.get(name).home)
    assert holds_weight(model, home, horizon(0.01, 1.0, 0.09))
    assert not holds_weight(model, home, horizon(0.01, 1.0, 0.15))
    supervisor = Supervisor(kind(model))
    v = 0.01 * np.ones(model.nv)
    supervisor.reset(RobotState(home, v))
    late = RobotState(home, v, 0.15)
    command = supervisor.update(late, Reference(), 0.01)
    assert command.status is Status.HOLDING
    assert "states 0.15 s old come too late to hold the weight" in command.reason
    assert not supervisor.holds_weight(late, 0.01)
    d = model.evaluate(home, v)
    force = np.concatenate([command.wrench_base, command.torque]) - d.g
    assert float(force @ v) < 0.0


@pytest.mark.usefixtures("core")
def test_states_without_a_weight_may_be_older() -> None:
    model = robots.load("satellite_panda")
    assert holds_weight(model, model.home, horizon(0.01, 1.0, 0.5))
    speed, reasons = supervised_run("satellite_panda", CartesianImpedance(model), 15, 100.0)
    assert not reasons
    assert speed < 0.1


class Damped(Controller):
    """A law of somebody, that knows nothing of the age."""

    def reset(self, state: RobotState) -> None:
        pass

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        d = self.model.evaluate(state.q, state.v)
        return Command(d.g[:0], d.g - 20.0 * (d.M @ state.v))


@pytest.mark.parametrize("age", [1, 3, 6])
def test_a_law_that_does_not_know_the_age_is_replaced_by_a_brake_beyond_a_sample(
    panda: VMSModel, age: int
) -> None:
    speed, reasons = supervised_run("panda", Damped(panda), age, 100.0)
    assert speed < 0.05
    assert bool(reasons) == (age > 1)
    assert all("the law has no gain 'delay'" in reason for reason in reasons)


@pytest.mark.parametrize("age", [-1.0, np.nan, np.inf, 2.0])
def test_an_age_that_is_none_is_held(panda: VMSModel, age: float) -> None:
    supervisor = Supervisor(TaskSpaceIDAPBC(panda))
    supervisor.reset(RobotState(panda.home, np.zeros(7)))
    command = supervisor.update(RobotState(panda.home, np.zeros(7), age), Reference(), 0.01)
    assert command.status is Status.HOLDING
    assert np.isfinite(command.torque).all()


def test_every_law_of_the_corners_has_the_gain_that_says_it_takes_an_age() -> None:
    assert all(hasattr(kind.Gains(), "delay") for kind, _ in LAWS.values())
