# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Legs hop by sampled laws that do not know masses, noise and another start."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vms_ph_dynamics.errors import OptionError
from vms_ph_hopping import Leg, LegMotion, hopping_tasks
from vms_ph_hopping.laws.hopping import PoseFilter
from vms_ph_io import robots
from vms_ph_io.tasks.uncertainty import Uncertainty
from vms_ph_studies.tasks import late_hops
from vms_ph_studies.tasks.late_hops import run_delayed_hops, with_relaxed_bounds
from vms_ph_studies.tasks.monte_carlo import uncertain_task

ERRORS: dict[str, Any] = {
    "mass": 0.2,
    "inertia": 0.2,
    "spread": 0.05,
    "noise": 1.0,
    "delay": 0.01,
    "slack": 5.0,
    "settle": 2.8,
    "seconds": 4.4,
    "explain": False,
}
LEGS = hopping_tasks.names()


@pytest.mark.parametrize("name", LEGS)
def test_a_leg_hops_as_wanted_by_a_late_law_that_does_not_know_its_masses(name: str) -> None:
    found = uncertain_task(task=name, **ERRORS, seed=5)
    assert found["success"], found
    assert 0.0 < float(str(found["share"])) < 5.0


@pytest.mark.slow
@pytest.mark.parametrize("name", LEGS)
def test_of_twelve_legs_nearly_all_hop_as_wanted_and_more_than_by_the_baseline(name: str) -> None:
    def met(law: str, count: int) -> float:
        results = [uncertain_task(task=name, law=law, **ERRORS, seed=k) for k in range(count)]
        return float(np.mean([bool(found["success"]) for found in results]))

    ours, theirs = met("task", 12), met("decentralised", 8)
    # Of 200 draws 94 % or more are within the bounds: fewer than ten of twelve is one in thirty.
    assert ours >= 10.0 / 12.0
    assert ours >= theirs


@pytest.mark.parametrize("name", LEGS)
def test_the_baseline_hops_at_the_wanted_height_where_nothing_is_uncertain(name: str) -> None:
    found = uncertain_task(
        task=name, law="decentralised", slack=8.0, settle=3.0, seconds=4.2, explain=False
    )
    assert found["success"], found


def test_without_the_prediction_over_the_delay_the_leg_misses_its_goals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The law is told that there is no delay.
    class Unaware(late_hops.HoppingOverDelay):
        def __init__(self, controller: Any, reference: Any, late: int) -> None:
            super().__init__(controller, reference, 0)

    task = replace(with_relaxed_bounds(hopping_tasks.load("hop_in_place"), 12.0, 0.6), shortest=1.6)
    assert run_delayed_hops(task, Uncertainty(delay=0.01))["met"]
    monkeypatch.setattr(late_hops, "HoppingOverDelay", Unaware)
    assert not run_delayed_hops(task, Uncertainty(delay=0.01))["met"]


def test_the_integration_of_the_study_is_finer_than_what_it_judges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = replace(hopping_tasks.load("hop_in_place"), shortest=1.2)

    def errors() -> list[float]:
        goals = run_delayed_hops(task, Uncertainty(mass=0.2, noise=1.0, delay=0.01, seed=3))[
            "goals"
        ]
        return [float(goals[name]["obtained"]) for name in task.goals]

    coarse = errors()
    monkeypatch.setattr(late_hops, "_TOLERANCE", 1e-6)
    monkeypatch.setattr(late_hops, "_STAGES", 5)
    np.testing.assert_allclose(coarse, errors(), atol=1e-4)


def test_the_filtered_pose_follows_a_motion_without_lag_and_averages_its_noise() -> None:
    leg = Leg(robots.load("prismatic_hopper"))
    rng, dt = np.random.default_rng(1), 2e-3
    filtered, raw = [], []
    pose, rates = PoseFilter(leg), np.array([1.0, -2.0, 0.0, 0.5])
    for k in range(400):
        true = np.array([k * dt, 1.0 - 2.0 * k * dt, 0.0, 0.12 + 0.5 * k * dt])
        noise = 1e-3 * rng.standard_normal(4)
        seen = LegMotion(leg.configuration(true + noise), rates, False)
        filtered.append(leg.coordinates(pose.update(seen, dt).q) - true)
        raw.append(noise)
    late = np.array(filtered)[100:]
    # An average that moves by a share s has s / (2 - s) of the variance.
    wanted = np.std(np.array(raw)[100:]) * np.sqrt(0.1 / 1.9)
    assert np.std(late) == pytest.approx(wanted, rel=0.25)
    assert np.abs(late.mean(axis=0)).max() < 1e-4


def test_a_mistake_in_a_draw_of_a_leg_is_said() -> None:
    with pytest.raises(OptionError, match="slack=0"):
        uncertain_task(task="hop_in_place", slack=0.0)
    with pytest.raises(OptionError, match="seconds=-1"):
        uncertain_task(task="hop_in_place", seconds=-1.0)
    task = hopping_tasks.load("hop_in_place")
    speed = {name: goal for name, goal in task.goals.items() if goal.of == "speed"}
    with pytest.raises(OptionError, match="has no goal of an apex"):
        run_delayed_hops(replace(task, goals=speed), Uncertainty())
