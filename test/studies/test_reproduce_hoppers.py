"""The hopping legs of source B: what reproduces does, what is refuted is, and all of it reacts."""

import json
from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_studies.reproduce import Check, get
from vms_ph_studies.reproduce.feurstein.basin import LOOSE, START
from vms_ph_studies.reproduce.feurstein.controller_iii import upright_frame_angle
from vms_ph_studies.reproduce.feurstein.experiments import EXPERIMENTS, Trial
from vms_ph_studies.reproduce.feurstein.fate import Ending, fate, fates, trial_of
from vms_ph_studies.reproduce.feurstein.gait import flights
from vms_ph_studies.reproduce.feurstein.ledger import ledger


def run(
    identifier: str, out: Path | None = None, series: str = "feurstein", **given: str
) -> dict[str, Check]:
    study = get(f"{series}-{identifier}")
    outcome = study.run(study.settings(given), out)
    if out is not None:
        assert all(file.stat().st_size > 5_000 for file in outcome.files)
    return {check.name: check for check in outcome.checks}


def differing(checks: dict[str, Check]) -> set[str]:
    return {name for name, check in checks.items() if check.verdict == "differs"}


def test_the_upright_leg_tips_over_after_seven_jumps_from_a_tilt_of_rounding() -> None:
    assert not differing(run("prismatic-1"))
    larger = run("prismatic-1", tilt="1e-6")["jumps before the leg tilts by 10 deg"]
    assert str(larger.obtained).startswith("5 ")


def test_the_leg_rests_after_twelve_jumps_and_its_polar_spring_amplifies_a_tilt(
    tmp_path: Path,
) -> None:
    checks = run("prismatic-2", tmp_path)
    assert not differing(checks)
    polar = checks["the polar spring keeps the leg upright"]
    assert polar.verdict == "refuted"
    assert float(str(polar.obtained).split()[5]) == pytest.approx(-3.25, abs=0.02)


def test_the_twelve_landings_are_those_of_a_fixed_step_integration(golden: Path) -> None:
    """Against RK4 on equations written out by hand, whose events end its own steps of 2e-6 s."""
    expected = json.loads((golden / "B_hoppers.json").read_text())["P_II"]["distinct_TD"]
    found = [event.time for event in trial_of("feurstein-prismatic-2").run().touch_downs()]
    # The reference loses 1e-5 s a landing.
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)


def test_stable_hopping_in_place_is_refuted_by_its_floquet_multiplier() -> None:
    checks = run("prismatic-3")
    assert not differing(checks)
    stable = checks["stable hopping in place"]
    assert stable.verdict == "refuted"
    assert float(stable.obtained) == pytest.approx(-2.596, abs=0.005)
    damped = run("prismatic-3", D_p="0.2", duration="3")["stable hopping in place"]
    assert damped.verdict == "agrees"


def test_without_polar_control_the_bent_leg_turns_and_falls() -> None:
    # E(0) of the tables is that of the tilted start.
    assert differing(run("revolute-1")) == {"E(0)"}


def test_with_polar_control_its_momentum_alternates() -> None:
    assert differing(run("revolute-2", duration="2.5")) == {"E(0)"}


def test_undamped_it_keeps_its_energy_and_falls_in_the_end() -> None:
    assert differing(run("revolute-3", tolerance="1e-6")) == {"E(0)", "stability"}


def test_damped_it_converges_to_hopping_in_place() -> None:
    assert differing(run("revolute-4", duration="9")) == {"E(0)"}


def test_from_a_tilt_it_finds_the_forward_gait() -> None:
    assert not differing(run("revolute-5", duration="12"))


def test_the_forward_gait_and_its_ledger(tmp_path: Path, golden: Path) -> None:
    checks = run("revolute-6", tmp_path)
    assert not differing(checks)
    floor = checks["loss to the floor"]
    assert floor.verdict == "refuted"
    parts = [float(x) for x in str(floor.obtained).replace(" J", "").split("+")]
    assert sum(parts) == pytest.approx(12.04, abs=0.05)
    for name in ("the sheet closes", "the sheet closes with the damper apart"):
        assert abs(float(checks[name].obtained)) < 1e-6
    # Works of the same 20 s by explicit steps of 2e-6 s, which close to 7e-5 J.
    reference = json.loads((golden / "B_hoppers.json").read_text())["R_VI"]
    for name, key in (
        ("external work in 20 s", "work_ext"),
        ("joint work, net of the damper", "work_joint_net"),
        ("radial damping", "radial_damper"),
        ("horizontal momentum", "px"),
        ("energy in flight", "E_flight"),
    ):
        assert float(checks[name].obtained) == pytest.approx(reference[key], abs=2e-3), name


def test_twice_the_energy_gain_gives_another_gait() -> None:
    checks = run("revolute-6", K_E="20", duration="8")
    assert float(checks["horizontal momentum"].obtained) == pytest.approx(0.303, abs=1e-3)
    assert float(checks["energy in flight"].obtained) == pytest.approx(2.620, abs=1e-3)
    assert {"horizontal momentum", "energy in flight"} <= differing(checks)


def test_a_ledger_closes_where_the_floor_holds_energy() -> None:
    """Cut within a stance: what the floor has in its springs is told apart."""
    experiment = EXPERIMENTS["feurstein-revolute-6"]
    settings = {name: p.default for name, p in experiment.parameters().items()}
    trial = Trial.of(experiment, settings)
    found = trial.run(0.18)
    sheet = ledger(trial, found)
    assert sheet.floor_stored > 1e-3
    assert abs(sheet.residual) < 1e-9
    assert abs(sheet.gross_residual) < 1e-9
    # The net joint work is what the actuators bring less the damper.
    assert sheet.joint == pytest.approx(sheet.actuators - sheet.radial_damping, abs=1e-12)


def test_a_floor_that_only_pushes_lets_the_gait_fall() -> None:
    checks = run("revolute-6", friction="0.8", duration="6")
    assert checks["the gait goes on"].verdict == "differs"


def test_figure_4_7_is_flat_where_the_source_sees_a_minimum() -> None:
    checks = run("figure-4-7", points="11", sweep="3", duration="3")
    assert not differing(checks)
    # The sweep of the commanded angle, which the source reports as destabilising.
    assert "falls after 3 hops" in str(checks["commanded angle +3 deg"].obtained)


def test_the_first_flight_is_a_fall_of_the_right_length() -> None:
    experiment = EXPERIMENTS["feurstein-revolute-5"]
    settings = {name: p.default for name, p in experiment.parameters().items()}
    trial = Trial.of(experiment, settings)
    fall = flights(trial.run(0.3))[0]
    assert fall.lift_off is None
    height = float(trial.start().foot[1])
    assert fall.end == pytest.approx(np.sqrt(2 * height / 9.81), abs=2e-3)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"duration": "0"}, "duration=0.0: it must be positive"),
        ({"controller": "IV"}, "controller=IV: accepted are I, II, III"),
        ({"K_floor": "-1"}, "must be positive"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(VmsPhError, match=sentence.replace("(", r"\(")):
        run("revolute-1", **given)


def test_controller_iii_falls_as_commanded_and_hops_on_as_mended() -> None:
    checks = run("controller-iii", series="hopping", duration="6")
    assert differing(checks) == {"frame angle of the vertical bent leg"}
    leaning = float(checks["frame angle of the vertical bent leg"].obtained)
    assert leaning == pytest.approx(-31.5, abs=0.1)
    without = run("controller-iii", series="hopping", duration="3", D_p="0")
    assert "with that angle and D_p = 0 N m s/rad" in differing(without)


def test_on_a_floor_that_does_not_pull_the_mended_controller_hops_forward(tmp_path: Path) -> None:
    checks = run(
        "physical-floor", tmp_path, series="hopping", K_p="3", D_p="0.5", duration="6",
        points="2", lean="10", speed="0.3", basin_duration="0.4",
    )  # fmt: skip
    # The trials of the map are too short to come to a gait.
    assert differing(checks) == {"largest Floquet multipliers of the gaits reached"}
    assert str(checks["where starts lead under its law"].obtained) == "100 % still hop in no gait"
    assert str(checks["controller II, stiffness and damping of the polar spring"].obtained) == (
        "0 of 1 hop on"
    )
    forward = str(checks["the fastest of them is a stable gait"].obtained)
    # 0.178 where the foot has left at 1e-8 m instead of 1e-6 m: it bounces as it slides off.
    assert float(forward.split()[0]) == pytest.approx(0.175, abs=0.005)


def test_a_map_of_starts_shows_where_they_lead(tmp_path: Path) -> None:
    checks = run("basin", tmp_path, series="hopping", points="2", lean="30", speed="0.4")
    assert not differing(checks)
    assert str(checks["where they go"].obtained) == "50 % to +0.234 N s, 50 % fall"
    stable = str(checks["largest Floquet multipliers of the gaits reached"].obtained)
    assert float(stable.split()[0]) == pytest.approx(0.68, abs=0.02)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_sources_law_has_two_gaits_and_the_mended_one_a_wide_basin() -> None:
    checks = run("basin", series="hopping", points="7", lean="45", speed="0.9")
    assert not differing(checks)
    gaits = str(checks["where they go"].obtained)
    assert "to -0.006 N s" in gaits
    assert "to +0.234 N s" in gaits
    mended = run("physical-floor", series="hopping", K_p="3", D_p="0.5", points="5")
    assert not differing(mended)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"points": "1"}, "at least 2 points"),
        ({"lean": "100"}, "a lean up to 90 deg"),
        ({"processes": "-1"}, "no negative number of processes"),
    ],
)
def test_a_map_that_is_none_is_refused(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(VmsPhError, match=sentence):
        run("basin", series="hopping", **given)


def test_a_leg_that_stands_still_is_not_taken_for_one_that_hops() -> None:
    """On the floor that does not pull: it gets up from a bad landing, and does not hop again."""
    settings: dict[str, float | str] = {
        **LOOSE, "friction": 0.6, "controller": "III", "alpha_des": upright_frame_angle(),
        "K_p": 3.0, "D_p": 0.5, "tilt": float(np.radians(-40.0)), "speed": 0.5, "duration": 3.0,
    }  # fmt: skip
    found = fate(trial_of(START.id, **settings))
    assert found.ending is Ending.STANDS
    assert not found.hops_on
    assert found.time < 2.0


def test_a_start_that_passes_an_unstable_gait_slowly_is_not_taken_for_settled() -> None:
    """Between the two gaits there is a third, unstable one, at 0.035 N s."""
    trial = trial_of(START.id, **LOOSE, tilt=float(np.radians(15.8)), speed=-0.09, duration=5.0)
    found = fate(trial)
    assert found.ending is Ending.HOPS
    assert found.gait is None
    assert found.drift == pytest.approx(0.033, abs=0.01)


def test_trials_shared_among_processes_end_as_they_do_in_one() -> None:
    changes = [{**LOOSE, "duration": 0.2, "tilt": 0.1 * k} for k in range(6)]
    alone, shared = (fates(START.id, changes, processes) for processes in (1, 2))
    assert alone == shared


def test_a_start_has_the_speed_it_is_given() -> None:
    trial = trial_of(START.id, speed=0.4, tilt=0.3)
    np.testing.assert_allclose(trial.start().centre_rate, [0.4, 0.0], atol=1e-15)
