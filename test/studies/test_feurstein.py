# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The hopping legs of source B: verdicts of the experiments, and their reaction to parameters."""

import json
from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_hopping.flights import flights
from vms_ph_studies import Check, get
from vms_ph_studies.reproduce.feurstein.energy_balance import energy_balance
from vms_ph_studies.reproduce.feurstein.experiments import trial_of
from vms_ph_studies.reproduce.feurstein.gait import converged_flight
from vms_ph_studies.reproduce.feurstein.revolute import gait_checks


def run(identifier: str, out: Path | None = None, **given: str) -> dict[str, Check]:
    study = get(f"feurstein-{identifier}")
    outcome = study.run(study.settings(given), out)
    if out is not None:
        assert all(file.stat().st_size > 5_000 for file in outcome.files)
    return {check.name: check for check in outcome.checks}


def differing(checks: dict[str, Check]) -> set[str]:
    return {name for name, check in checks.items() if check.verdict == "differs"}


def test_the_upright_leg_tips_over_after_seven_jumps_from_a_tilt_of_rounding() -> None:
    assert not differing(run("prismatic-1"))


@pytest.mark.slow
def test_a_larger_tilt_takes_fewer_jumps() -> None:
    larger = run("prismatic-1", tilt="1e-6")["jumps before the leg tilts by 10 deg"]
    assert str(larger.obtained).startswith("5 ")


@pytest.mark.slow
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


def test_momenta_and_energy_of_the_gait_are_not_called_published() -> None:
    """The source prints a state of the gait (table 4.13); they are computed from it."""
    trial = trial_of("feurstein-revolute-6")
    start = trial.initial_state()
    assert start.momentum[0] == pytest.approx(0.2344, abs=5e-5)
    assert start.energy == pytest.approx(2.4746, abs=5e-5)
    assert start.angular_momentum == pytest.approx(3.4e-4, abs=5e-6)
    hop = flights(trial.run(0.5))[0]
    assert {check.origin for check in gait_checks(hop)} == {"independent"}


@pytest.mark.slow
def test_stable_hopping_in_place_is_refuted_by_its_floquet_multiplier() -> None:
    checks = run("prismatic-3", duration="3.2")
    assert not differing(checks)
    stable = checks["stable hopping in place"]
    assert stable.verdict == "refuted"
    assert float(stable.obtained) == pytest.approx(-2.596, abs=0.005)


@pytest.mark.slow
def test_polar_damping_makes_hopping_in_place_stable() -> None:
    damped = trial_of("feurstein-prismatic-3", D_p=0.2, tilt=0.02, duration=2.5)
    landings = flights(damped.run())
    assert len(landings) >= 6
    assert abs(landings[-1].last.angle) < 0.3 * abs(landings[0].last.angle)


def test_without_polar_control_the_bent_leg_turns_and_falls() -> None:
    # E(0) of the tables is that of the tilted start.
    assert differing(run("revolute-1")) == {"E(0)"}


def test_with_polar_control_its_momentum_alternates() -> None:
    assert differing(run("revolute-2", duration="2")) == {"E(0)"}


def test_undamped_it_keeps_its_energy() -> None:
    assert differing(run("revolute-3", tolerance="1e-6", duration="1.2")) == {"E(0)"}


@pytest.mark.slow
def test_undamped_it_falls_in_the_end() -> None:
    assert differing(run("revolute-3", tolerance="1e-6")) == {"E(0)", "stability"}


@pytest.mark.slow
def test_damped_it_converges_to_hopping_in_place() -> None:
    # The gait turns by 0.24 deg in flight where the source reads 3 deg off a figure.
    found = run("revolute-4", duration="7.5")
    assert differing(found) == {"E(0)", "rotation in flight of the gait"}


@pytest.mark.slow
def test_from_a_tilt_it_finds_the_forward_gait() -> None:
    assert not differing(run("revolute-5", duration="12"))


ENERGIES_IN_20_S = (
    ("external work in 20 s", "work_ext"),
    ("joint work, net of the damper", "work_joint_net"),
    ("radial damping", "radial_damper"),
)


@pytest.mark.slow
def test_eleven_hops_of_the_forward_gait_and_their_energies(golden: Path) -> None:
    # From apex to apex; the source has 54 hops.
    checks = run("revolute-6", duration="4.07")
    assert checks["touch-downs"].obtained == 11
    assert differing(checks) == {"touch-downs", *(name for name, _ in ENERGIES_IN_20_S)}
    for name in ("unaccounted energy", "unaccounted energy, gross of the damper"):
        assert abs(float(checks[name].obtained)) < 1e-6
    reference = json.loads((golden / "B_hoppers.json").read_text())["R_VI"]
    for name, key in ENERGIES_IN_20_S:
        check = checks[name]
        # Over the first hops the gait still approaches its limit.
        obtained = 54 / 11 * float(check.obtained)
        assert obtained == pytest.approx(float(check.reference), abs=check.tolerance), name
        assert obtained == pytest.approx(reference[key], rel=0.06), name
    before, after = [float(x) for x in str(checks["loss to the floor"].obtained).split()[::3]]
    assert 54 / 11 * (before + after) == pytest.approx(12.04, abs=0.05)


@pytest.mark.slow
def test_the_forward_gait_and_its_energy_balance(tmp_path: Path, golden: Path) -> None:
    checks = run("revolute-6", tmp_path)
    assert not differing(checks)
    floor = checks["loss to the floor"]
    assert floor.verdict == "refuted"
    parts = [float(x) for x in str(floor.obtained).replace(" J", "").split("+")]
    assert sum(parts) == pytest.approx(12.04, abs=0.05)
    for name in ("unaccounted energy", "unaccounted energy, gross of the damper"):
        assert abs(float(checks[name].obtained)) < 1e-6
    # The loss per hop, "about 7 % of the initial energy", is the inflow net of the damper, which
    # the floor takes; the damper takes its share besides.
    hops = int(checks["touch-downs"].obtained)
    initial = trial_of("feurstein-revolute-6").initial_state()
    by_both = sum(parts) + float(checks["radial damping"].obtained)
    assert by_both / hops / initial.energy == pytest.approx(0.13, abs=0.005)
    # Port energies of the same 20 s by explicit steps of 2e-6 s, which close to 7e-5 J.
    reference = json.loads((golden / "B_hoppers.json").read_text())["R_VI"]
    for name, key in (
        *ENERGIES_IN_20_S,
        ("horizontal momentum", "px"),
        ("energy in flight", "E_flight"),
    ):
        assert float(checks[name].obtained) == pytest.approx(reference[key], abs=2e-3), name


@pytest.mark.slow
def test_twice_the_energy_gain_gives_another_gait() -> None:
    gait = converged_flight(flights(trial_of("feurstein-revolute-6", K_E=20.0, duration=7.0).run()))
    assert gait is not None
    assert gait.horizontal_momentum == pytest.approx(0.303, abs=1e-3)
    assert gait.last.energy == pytest.approx(2.620, abs=1e-3)
    checks = {check.name: check for check in gait_checks(gait)}
    assert {"horizontal momentum", "energy in flight"} <= differing(checks)


def test_the_energy_balance_closes_while_the_floor_stores_energy() -> None:
    """The run ends within a stance, with energy in the springs of the floor."""
    trial = trial_of("feurstein-revolute-6")
    energy = energy_balance(trial, trial.run(0.18))
    assert energy.floor_stored > 1e-3
    assert abs(energy.residual) < 1e-9
    assert abs(energy.gross_residual) < 1e-9
    # The net energy of the joints is that of the actuators less that of the damper.
    assert energy.joint == pytest.approx(energy.actuators - energy.radial_damping, abs=1e-12)


def test_a_floor_that_only_pushes_lets_the_gait_fall() -> None:
    checks = run("revolute-6", friction="0.8", duration="6")
    assert checks["the gait persists"].verdict == "differs"


def test_the_first_flight_is_a_fall_of_the_right_length() -> None:
    trial = trial_of("feurstein-revolute-5")
    fall = flights(trial.run(0.3))[0]
    assert fall.lift_off is None
    height = float(trial.initial_state().foot[1])
    assert fall.end == pytest.approx(np.sqrt(2 * height / 9.81), abs=2e-3)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"duration": "0"}, "duration=0.0: it must be positive"),
        ({"controller": "IV"}, "controller=IV: accepted are I, II, III"),
        ({"K_floor": "-1"}, "must be positive"),
    ],
)
def test_an_invalid_setting_is_rejected(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(VmsPhError, match=sentence.replace("(", r"\(")):
        run("revolute-1", **given)
