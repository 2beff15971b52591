# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Hopping beyond source B: controller III, a floor with a friction cone, basins of attraction."""

from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_studies import Check, get
from vms_ph_studies.hopping.basin import COARSE_TOLERANCES, START
from vms_ph_studies.hopping.controller_iii import upright_frame_angle
from vms_ph_studies.hopping.outcome import Ending, outcome_of, outcomes
from vms_ph_studies.reproduce.feurstein.experiments import trial_of


def run(identifier: str, out: Path | None = None, **given: str) -> dict[str, Check]:
    study = get(f"hopping-{identifier}")
    outcome = study.run(study.settings(given), out)
    if out is not None:
        assert all(file.stat().st_size > 5_000 for file in outcome.files)
    checks = {check.name: check for check in outcome.checks}
    assert {check.origin for check in checks.values()} == {"bound"}
    return checks


def differing(checks: dict[str, Check]) -> set[str]:
    return {name for name, check in checks.items() if check.verdict == "differs"}


@pytest.mark.slow
def test_controller_iii_falls_at_angle_zero_and_hops_on_with_damping() -> None:
    checks = run("controller-iii", duration="3.5")
    # Too short for a gait to be found.
    hopping = "with that angle and D_p = 0.3 N m s/rad"
    assert differing(checks) == {"frame angle of the vertical bent leg", hopping}
    assert str(checks[hopping].obtained) == "13 hops"


@pytest.mark.slow
def test_controller_iii_is_stable_with_damping() -> None:
    checks = run("controller-iii", duration="6")
    assert differing(checks) == {"frame angle of the vertical bent leg"}
    leaning = float(checks["frame angle of the vertical bent leg"].obtained)
    assert leaning == pytest.approx(-31.5, abs=0.1)


@pytest.mark.slow
def test_on_a_floor_that_does_not_pull_controller_iii_hops_forward(tmp_path: Path) -> None:
    checks = run(
        "physical-floor", tmp_path, K_p="3", D_p="0.5", duration="6",
        points="2", lean="10", speed="0.3", basin_duration="0.4",
    )  # fmt: skip
    # The trials of the map are too short to converge to a gait.
    assert differing(checks) == {"largest Floquet multipliers of the gaits reached"}
    assert str(checks["gaits reached under its law"].obtained) == "100 % still hop without a gait"
    second = checks["controller II, gains of the polar spring that keep hopping"]
    assert second.obtained == "0 of 1"
    forward = str(checks["the fastest of them"].obtained)
    # 0.178 where the foot has left at 1e-8 m instead of 1e-6 m: it bounces as it slides off.
    assert float(forward.split()[0]) == pytest.approx(0.175, abs=0.005)


@pytest.mark.slow
def test_a_map_of_starts_shows_the_gaits_they_reach(tmp_path: Path) -> None:
    checks = run("basin", tmp_path, points="2", lean="30", speed="0.4")
    assert not differing(checks)
    assert str(checks["gaits reached"].obtained) == "50 % to +0.234 N s, 50 % fall"
    stable = str(checks["largest Floquet multipliers of the gaits reached"].obtained)
    assert float(stable.split()[0]) == pytest.approx(0.68, abs=0.02)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_sources_law_has_two_gaits_and_controller_iii_a_wide_basin() -> None:
    checks = run("basin", points="7", lean="45", speed="0.9")
    assert not differing(checks)
    gaits = str(checks["gaits reached"].obtained)
    assert "to -0.006 N s" in gaits
    assert "to +0.234 N s" in gaits
    third = run("physical-floor", K_p="3", D_p="0.5", points="5")
    assert not differing(third)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"points": "1"}, "at least 2 points"),
        ({"lean": "100"}, "a lean up to 90 deg"),
        ({"processes": "-1"}, "no negative number of processes"),
    ],
)
def test_settings_without_a_valid_grid_are_rejected(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(VmsPhError, match=sentence):
        run("basin", **given)


def test_a_leg_that_stands_still_is_not_taken_for_one_that_hops() -> None:
    """On the floor that does not pull: it gets up from a bad landing, and does not hop again."""
    settings: dict[str, float | str] = {
        **COARSE_TOLERANCES, "friction": 0.6, "controller": "III",
        "alpha_des": upright_frame_angle(),
        "K_p": 3.0, "D_p": 0.5, "tilt": float(np.radians(-40.0)), "speed": 0.5, "duration": 3.0,
    }  # fmt: skip
    found = outcome_of(trial_of(START.id, **settings))
    assert found.ending is Ending.STANDS
    assert not found.keeps_hopping
    assert found.time < 2.0


def test_a_start_that_passes_an_unstable_gait_slowly_is_not_taken_for_settled() -> None:
    """Between the two gaits there is a third, unstable one, at 0.035 N s."""
    trial = trial_of(
        START.id, **COARSE_TOLERANCES, tilt=float(np.radians(15.8)), speed=-0.09, duration=5.0
    )
    found = outcome_of(trial)
    assert found.ending is Ending.HOPS
    assert found.gait is None
    assert found.drift == pytest.approx(0.033, abs=0.01)


def test_trials_shared_among_processes_end_as_they_do_in_one() -> None:
    changes = [{**COARSE_TOLERANCES, "duration": 0.2, "tilt": 0.1 * k} for k in range(6)]
    alone, shared = (outcomes(START.id, changes, processes) for processes in (1, 2))
    assert alone == shared


def test_a_start_has_the_speed_it_is_given() -> None:
    trial = trial_of(START.id, speed=0.4, tilt=0.3)
    np.testing.assert_allclose(trial.start().centre_rate, [0.4, 0.0], atol=1e-15)
