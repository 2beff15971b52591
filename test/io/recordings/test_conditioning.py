# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What is wrong with the signals of a recording is found, stated and put right."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recorded_motions import Known, excited, samples_of

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.ledger import LedgerWriter, UnaccountedInterval
from vms_ph_dynamics.energy.samples import velocity_lag
from vms_ph_dynamics.identification.effort_meaning import saturation
from vms_ph_io import robots
from vms_ph_io.audits import audit_motion
from vms_ph_io.audits.document import answers
from vms_ph_io.audits.identified import with_findings
from vms_ph_io.recordings import RecordingError, read_recording
from vms_ph_io.recordings import motion as recorded_motion
from vms_ph_io.recordings.clock_order import ClockOrder, clock_order
from vms_ph_io.recordings.motion import MotionOptions, RecordedMotion
from vms_ph_io.recordings.recording import Table


@pytest.fixture(scope="module")
def known(request: pytest.FixtureRequest) -> Known:
    return excited(robots.load("panda"), 3.0, 500.0)


def motion_of(known: Known, model: VMSModel, folder: Path, **options: object) -> RecordedMotion:
    recording = read_recording(known.write_csv(folder / "run.csv"))
    return RecordedMotion(recording, model, MotionOptions(**options))  # type: ignore[arg-type]


def unaccounted(motion: RecordedMotion) -> float:
    """The largest unaccounted energy, relative to gross."""
    writer = LedgerWriter(motion.model, motion.ports)
    for block in motion.blocks(300):
        writer.add(block.samples, block.continues, block.exact_energies)
    ledger = writer.ledger()
    return ledger.largest_unaccounted / ledger.gross


def said(motion: RecordedMotion) -> str:
    return "\n".join(motion.conditioning.statements(motion.model.joint_names))


def test_a_clean_recording_is_left_as_it_is(panda: VMSModel, known: Known, tmp_path: Path) -> None:
    motion = motion_of(known, panda, tmp_path)
    samples = samples_of(motion)
    np.testing.assert_allclose(samples.q, known.q, atol=1e-14)
    np.testing.assert_allclose(samples.v, known.v, atol=1e-14)
    np.testing.assert_allclose(samples.torque, known.effort, atol=1e-14)
    found = motion.conditioning
    assert (found.clock, found.velocity_defects, found.lag_corrected) == ("stamps", {}, False)
    assert abs(found.lag) < 1e-4
    assert found.meaning is not None
    assert found.meaning.reading == "torque"
    assert unaccounted(motion) < 1e-5


def test_velocities_that_lag_are_found_and_shifted(
    panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    lag = 0.006
    late = np.column_stack([np.interp(known.t - lag, known.t, v) for v in known.v.T])
    motion = motion_of(known.changed(v=late), panda, tmp_path)
    assert motion.conditioning.lag == pytest.approx(lag, abs=3e-4)
    assert motion.conditioning.lag_corrected
    assert "were shifted" in said(motion)
    inner = slice(20, -20)
    np.testing.assert_allclose(samples_of(motion).v[inner], known.v[inner], atol=5e-3)
    left = motion_of(known.changed(v=late), panda, tmp_path, as_recorded=True)
    assert not left.conditioning.lag_corrected
    assert unaccounted(motion) < 0.2 * unaccounted(left)


def test_velocities_that_are_no_numbers_for_a_while_are_slopes_and_tell_no_lag(
    panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    velocity = known.v.copy()
    velocity[400:900] = np.nan
    velocity[900:, 2] = np.nan
    motion = motion_of(known.changed(v=velocity), panda, tmp_path)
    found = motion.conditioning
    assert (found.clock, found.lag_corrected) == ("stamps", False)
    assert abs(found.lag) < 1e-4
    assert "the velocity of panda_joint1 is no plausible number in 33.3 % of the samples" in said(
        motion
    )
    np.testing.assert_allclose(samples_of(motion).v[:, :2], known.v[:, :2], atol=1e-3)
    assert unaccounted(motion) < 1e-4
    velocity[:, :2] = np.column_stack([np.interp(known.t - 0.006, known.t, v) for v in known.v.T])[
        :, :2
    ]
    velocity[400:900] = np.nan
    velocity[:, 2:] = np.nan
    motion = motion_of(known.changed(v=velocity), panda, tmp_path)
    assert motion.conditioning.lag == pytest.approx(0.006, abs=3e-4)
    assert motion.conditioning.lag_corrected
    np.testing.assert_allclose(samples_of(motion).v[20:-20], known.v[20:-20], atol=5e-3)


@pytest.mark.parametrize("kind", ["missing", "zero", "junk", "degrees"])
def test_velocities_that_are_no_use_are_estimated_from_the_positions(
    panda: VMSModel, known: Known, tmp_path: Path, rng: np.random.Generator, kind: str
) -> None:
    velocity = known.v.copy()
    velocity[:, 2] = {
        "missing": np.nan,
        "zero": 0.0,
        "junk": rng.normal(size=len(known.t)),
        "degrees": np.degrees(known.v[:, 2]),
    }[kind]
    noisy = known.q + 1e-5 * rng.normal(size=known.q.shape)
    motion = motion_of(known.changed(v=velocity, q=noisy), panda, tmp_path)
    assert list(motion.conditioning.velocity_defects) == [panda.joint_names[2]]
    why = {
        "missing": "none is recorded", "zero": "recorded as zero",
        "junk": "does not follow", "degrees": "57.3 times",
    }  # fmt: skip
    assert why[kind] in said(motion)
    error = samples_of(motion).v[:, 2] - known.v[:, 2]
    stated = motion.conditioning.noise.velocity[2]
    inner = np.sqrt(np.mean(error[40:-40] ** 2))
    assert inner < 0.01
    # The stated uncertainty is that of the estimate.
    assert 0.5 * stated < inner < 2.0 * stated
    assert unaccounted(motion) < 2e-3


@pytest.mark.parametrize("kind", ["rate", "unit", "stamps"])
def test_velocities_of_all_joints_tell_that_a_given_rate_is_wrong(
    panda: VMSModel, known: Known, tmp_path: Path, kind: str
) -> None:
    factors = np.degrees(1.0) if kind == "unit" else np.linspace(0.493, 0.498, panda.n)
    file = known.changed(v=factors * known.v).write_csv(tmp_path / "run.csv")
    quantities = ("position", "velocity")
    columns = [f"{kind}: [{', '.join(f'{kind}.{j}' for j in known.joints)}]" for kind in quantities]
    time = "time: time" if kind == "stamps" else "rate: 500"
    joints = f"joints: [{', '.join(known.joints)}]"
    (tmp_path / "map.yaml").write_text("\n".join([joints, time, *columns]))
    motion = RecordedMotion(read_recording(file, columns=tmp_path / "map.yaml"), panda)
    assert ("the rate looks wrong, 248 Hz would fit" in said(motion)) == (kind == "rate")
    sentence_count = said(motion).count("is estimated from the positions")
    assert sentence_count == (1 if kind == "rate" else panda.n)


def test_uneven_stamps_of_even_samples_are_found_from_the_motion(
    panda: VMSModel, known: Known, tmp_path: Path, rng: np.random.Generator
) -> None:
    stamps = known.t + 4e-4 * rng.uniform(-1.0, 1.0, len(known.t))
    motion = motion_of(known.changed(t=stamps), panda, tmp_path)
    assert motion.conditioning.clock in ("uniform", "motion")
    assert "better than the stamps" in said(motion)
    left = motion_of(known.changed(t=stamps), panda, tmp_path, as_recorded=True)
    assert unaccounted(motion) < unaccounted(left)


MEANINGS = {"opposite": -1.0, "without_gravity": 1.0}


@pytest.mark.parametrize("meaning", MEANINGS)
def test_the_meaning_of_efforts_is_found_by_what_fits_and_used_when_chosen(
    panda: VMSModel, known: Known, tmp_path: Path, meaning: str
) -> None:
    zero = np.zeros(panda.nv)
    weight = np.array([panda.evaluate(q, zero).g for q in known.q])
    other = known.effort - weight if meaning == "without_gravity" else -known.effort
    asked = motion_of(known.changed(effort=other), panda, tmp_path)
    assert asked.conditioning.meaning is not None
    assert asked.conditioning.meaning.reading == meaning
    assert f"--effort {meaning}" in said(asked)
    assert unaccounted(asked) > 0.05
    chosen = motion_of(known.changed(effort=other), panda, tmp_path, effort=meaning)
    assert unaccounted(chosen) < 1e-5
    with pytest.raises(RecordingError, match="effort is one of"):
        MotionOptions(effort="current")


@pytest.mark.parametrize("lag", [0.02, 0.05])
def test_short_lags_of_efforts_are_found_though_gains_and_friction_could_hide_them(
    lag: float, panda: VMSModel, tmp_path: Path
) -> None:
    slow = excited(panda, 4.0, 200.0)
    late = [np.interp(slow.t - lag, slow.t, effort) for effort in slow.effort.T]
    found = motion_of(slow.changed(effort=np.transpose(late)), panda, tmp_path).conditioning
    assert found.effort_lag == pytest.approx(lag, abs=0.003)


@pytest.mark.parametrize("kind", ["earlier", "other zero", "other joints"])
def test_no_lag_of_efforts_is_found_that_leaves_them_contradicted_or_comes_before_the_motion(
    kind: str, panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    zero, order = np.zeros(7), [1, 0, 3, 2, 4, 5, 6]
    zero[1] = 0.5 * np.pi
    early = np.transpose([np.interp(known.t + 0.1, known.t, e) for e in known.effort.T])
    wrong = {
        "earlier": known.changed(effort=early),
        "other zero": known.changed(q=known.q + zero),
        "other joints": known.changed(q=known.q[:, order], v=known.v[:, order]),
    }[kind]
    assert motion_of(wrong, panda, tmp_path).conditioning.effort_lag == 0.0


def test_efforts_that_follow_the_motion_later_are_shifted(
    panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    late = [np.interp(known.t - 0.1, known.t, effort) for effort in known.effort.T]
    motion = motion_of(known.changed(effort=np.transpose(late)), panda, tmp_path)
    assert motion.conditioning.effort_lag == pytest.approx(0.1, abs=0.003)
    assert "efforts followed the motion 100 ms later and were shifted" in said(motion)
    assert unaccounted(motion) < 0.02
    samples = samples_of(motion)
    assert samples.t[-1] == pytest.approx(known.t[-1] - 0.1, abs=0.005)
    recorded = motion_of(
        known.changed(effort=np.transpose(late)), panda, tmp_path, as_recorded=True
    )
    assert unaccounted(motion) < 0.2 * unaccounted(recorded)


def test_the_sign_of_one_joint_and_gains_are_found(
    panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    turned = known.effort.copy()
    turned[:, 3] *= -1.0
    motion = motion_of(known.changed(effort=turned), panda, tmp_path)
    finding = f"the sign of the effort of {panda.joint_names[3]} is opposite"
    assert finding in said(motion)
    first, action = answers(audit_motion(motion))
    assert finding[1:] in first
    assert "panda_joint3=1 panda_joint4=-1 panda_joint5=1" in action
    currents = motion_of(known.changed(effort=known.effort / 12.0), panda, tmp_path)
    found = currents.conditioning.meaning
    assert found is not None
    assert found.reading == "scaled"
    np.testing.assert_allclose(found.gains, 12.0, rtol=1e-3)
    assert "--effort 'panda_joint1=12 panda_joint2=12" in said(currents)
    chosen = {joint: 12.0 for joint in panda.joint_names if joint != "panda_joint6"}
    some = motion_of(known.changed(effort=known.effort / 12.0), panda, tmp_path, gains=chosen)
    assert some.conditioning.without_effort == ["panda_joint6"]
    np.testing.assert_allclose(samples_of(some).torque[:, 3], known.effort[:, 3], atol=1e-5)
    assert answers(audit_motion(some))[0].startswith("No gain is given for the effort of panda_jo")
    with pytest.raises(RecordingError, match="'panda_joint9' is no joint of 'panda'"):
        motion_of(known, panda, tmp_path, gains={"panda_joint9": 2.0})


def test_gaps_repeated_and_late_samples_are_stated(
    panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    order = np.concatenate([np.arange(400), [399], np.arange(600, 1500)])
    order[700], order[701] = order[701], order[700]
    arrays = {name: getattr(known, name)[order] for name in ("t", "q", "v", "effort")}
    motion = motion_of(known.changed(**arrays), panda, tmp_path)
    words = said(motion)
    assert "1 samples repeat a time" in words
    assert "1 samples were out of order" in words
    assert "a gap of 0.402 s begins at 0.798 s" in words
    assert [block.continues for block in motion.blocks()] == [False, False]
    assert unaccounted(motion) < 1e-5


def test_a_jump_of_the_positions_is_a_gap(panda: VMSModel, known: Known, tmp_path: Path) -> None:
    order = np.concatenate([np.arange(600), np.arange(100, 1000)])
    assert np.abs(known.q[599] - known.q[100]).max() > 0.1
    arrays = {name: getattr(known, name)[order] for name in ("q", "v", "effort")}
    motion = motion_of(known.changed(t=known.t[: len(order)], **arrays), panda, tmp_path)
    assert "as at a reset: a gap begins before 1.200 s" in said(motion)
    assert [block.continues for block in motion.blocks()] == [False, False]
    assert unaccounted(motion) < 1e-5


def test_a_clock_that_was_set_back_goes_on() -> None:
    table = Table(("log",))
    for k in range(200):
        table.append(10**12 + (k if k < 100 else k - 5000) * 1_000_000, (0.0,))
    found = clock_order(table)
    assert len(found.reset_times) == 1
    assert found.segments == ((0, 100), (100, 200))
    assert np.all(np.diff(found.t) > 0.0)


def _order_of(stamps: list[int]) -> ClockOrder:
    table = Table(("log", "x"))
    for k, stamp in enumerate(stamps):
        table.append(stamp * 1_000_000, (0.0, float(k)))
    return clock_order(table)


@pytest.mark.parametrize("back", [7, 150, 300])
def test_times_that_are_passed_twice_are_those_of_a_clock_that_was_set_back(back: int) -> None:
    found = _order_of([k if k < 200 else k - back for k in range(400)])
    assert len(found.reset_times) == 1
    assert found.segments == ((0, 200), (200, 400))
    assert found.rows.tolist() == list(range(400))


def test_late_messages_and_copies_are_not_those_of_a_clock_that_was_set_back() -> None:
    late = _order_of([*range(100), *range(160, 200), *range(100, 160), *range(200, 300)])
    assert not late.reset_times
    assert late.segments == ((0, 300),)
    table = Table(("log",))
    for k in (*range(100), *range(50, 150)):
        table.append(k * 1_000_000, (0.0,))
    copied = clock_order(table)
    assert (len(copied.rows), copied.repeated_count, copied.reset_times) == (150, 50, ())


def test_stamps_that_are_noisier_than_a_period_are_not_those_of_a_clock_that_was_set_back(
    rng: np.random.Generator,
) -> None:
    table = Table(("log", "x"))
    stamps = np.arange(20_000) * 1_000_000 + rng.normal(0.0, 3e6, 20_000).astype(np.int64)
    table.extend(stamps, np.column_stack([np.zeros(20_000), rng.normal(size=20_000)]))
    assert not clock_order(table).reset_times


def test_columns_that_are_sorted_backwards_have_no_times_of_a_log() -> None:
    found = _order_of(list(range(200, 0, -1)))
    assert (found.source, found.disorder_count) == ("stamps", 199)
    assert found.rows.tolist() == list(range(199, -1, -1))


def test_stamps_that_stand_still_give_way_to_the_log() -> None:
    table = Table(("log",))
    for k in range(100):
        table.append(0, (k * 0.002,))
    found = clock_order(table)
    assert found.source == "log times"
    assert found.rate == pytest.approx(500.0)


def test_an_effort_that_never_changes_is_not_called_saturated() -> None:
    held = np.full((100, 1), 0.1 + 0.2)
    held[::3] = 0.3  # another rounding of the same number
    assert saturation(["held"], held) == {}
    assert saturation(["held"], np.minimum(np.linspace(0.0, 2.0, 100)[:, None], 1.0)) != {}


def test_saturated_efforts_are_named(panda: VMSModel, known: Known, tmp_path: Path) -> None:
    clipped = known.effort.copy()
    limit = 0.8 * np.abs(clipped[:, 1]).max()
    clipped[:, 1] = np.clip(clipped[:, 1], -limit, limit)
    motion = motion_of(known.changed(effort=clipped), panda, tmp_path)
    assert list(motion.conditioning.saturated) == [panda.joint_names[1]]


def test_a_wrong_robot_is_told_with_both_lists_of_joints_and_the_nearest_match(
    panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    fr3 = tuple(name.replace("panda", "fr3") for name in known.joints)
    with pytest.raises(RecordingError) as error:
        motion_of(known.changed(joints=fr3), panda, tmp_path)
    text = str(error.value)
    assert ", ".join(fr3) in text
    assert ", ".join(panda.joint_names) in text
    assert "--joint panda_joint1=fr3_joint1" in text
    pairs = dict(zip(panda.joint_names, fr3, strict=True))
    matched = motion_of(known.changed(joints=fr3), panda, tmp_path, joints=pairs)
    assert unaccounted(matched) < 1e-5
    short = known.changed(joints=(*known.joints[:6], "lamp"))
    with pytest.raises(RecordingError, match="--locked-joints panda_joint7"):
        motion_of(short, panda, tmp_path)


@pytest.mark.parametrize(("prefix", "suffix"), [("robot1/", ""), ("", "_joint"), ("left_", "_rad")])
def test_joints_whose_names_have_a_prefix_or_suffix_are_matched_all_at_once(
    prefix: str, suffix: str, panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    names = tuple(f"{prefix}{name}{suffix}" for name in known.joints)
    with pytest.raises(RecordingError) as error:
        motion_of(known.changed(joints=names), panda, tmp_path)
    pairs = zip(panda.joint_names, names, strict=True)
    assert " ".join(f"--joint {joint}={name}" for joint, name in pairs) in str(error.value)
    assert "--locked-joints" not in str(error.value)


def test_the_joints_of_another_bundled_robot_are_recognised(known: Known, tmp_path: Path) -> None:
    from vms_ph_io import robots

    with pytest.raises(RecordingError, match="recorded joints: panda"):
        motion_of(known, robots.load("borinot"), tmp_path)


def test_the_part_of_a_long_recording_in_which_the_robot_moves_tells_about_its_signals(
    panda: VMSModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded_motion, "_MAX_FIT_SAMPLES", 2500)
    moving = excited(panda, 3.0)
    rest, lag = 6000, 0.006
    late = np.column_stack([np.interp(moving.t - lag, moving.t, v) for v in moving.v.T])
    still = np.repeat(moving.q[:1], rest, axis=0), np.zeros((rest, 7)), np.zeros((rest, 7))
    arrays = [
        np.vstack(pair)
        for pair in zip((moving.q, late, moving.effort), still, strict=True)
    ]  # fmt: skip
    arrays[0][len(moving.t) :] = moving.q[-1]
    np.savez(
        tmp_path / "long.npz", time=1e-3 * np.arange(len(arrays[0])), position=arrays[0],
        velocity=arrays[1], effort=arrays[2], joints=np.array(panda.joint_names),
    )  # fmt: skip
    found = RecordedMotion(read_recording(tmp_path / "long.npz"), panda).conditioning
    assert found.lag == pytest.approx(lag, abs=3e-4)
    assert found.lag_corrected


@pytest.mark.parametrize("lag", [0.08, 0.15])
def test_long_lags_of_velocities_are_found(
    panda: VMSModel, known: Known, tmp_path: Path, lag: float
) -> None:
    late = np.column_stack([np.interp(known.t - lag, known.t, v) for v in known.v.T])
    motion = motion_of(known.changed(v=late), panda, tmp_path)
    assert motion.conditioning.lag == pytest.approx(lag, abs=2e-3)


def test_filtered_velocities_of_noisy_positions_are_shifted_and_efforts_are_not(
    panda: VMSModel, tmp_path: Path, rng: np.random.Generator
) -> None:
    seen = excited(panda, 20.0, 100.0)
    late = np.column_stack([np.interp(seen.t - 0.07, seen.t, v) for v in seen.v.T])
    position = seen.q + 8e-3 * rng.normal(size=late.shape)
    seen = seen.changed(v=late, q=position, effort=seen.effort + 30.0 * seen.v)
    found = motion_of(seen, panda, tmp_path).conditioning
    assert found.lag == pytest.approx(0.07, abs=5e-3)
    assert found.lag_corrected
    assert found.effort_lag == 0.0


def test_a_search_for_a_lag_that_ends_at_its_bound_finds_nothing(known: Known) -> None:
    late = np.column_stack([np.interp(known.t - 0.3, known.t, v) for v in known.v.T])
    assert np.isnan(velocity_lag(known.t, known.q[:, :1], late[:, :1], 0.1))


def test_an_effort_that_means_nothing_is_named_and_gives_no_gains(
    panda: VMSModel, known: Known, tmp_path: Path, rng: np.random.Generator
) -> None:
    effort = known.effort.copy()
    effort[:, 1] = 4e-6 * rng.normal(size=len(known.t))
    motion = motion_of(known.changed(effort=effort), panda, tmp_path)
    meaning = motion.conditioning.meaning
    assert meaning is not None
    assert list(np.flatnonzero(meaning.unrelated_joints)) == [1]
    assert "friction alone fits the effort of panda_joint2 better than the model" in said(motion)
    assert "static friction" in said(motion)
    assert "no torque" not in said(motion)
    nothing = 4e-6 * rng.normal(size=known.effort.shape)
    motion = motion_of(known.changed(effort=nothing), panda, tmp_path)
    assert "explains them better than friction alone" in said(motion)
    assert "--effort" not in said(motion)
    assert "clearly better" not in said(motion)
    audited = audit_motion(motion)
    assert answers(audited)[0].startswith("Nothing can be said about the model: friction alone ")
    assert answers(audited)[1].startswith("Check gravity (--identify payload,friction tells a til")
    contradiction = {"kind": "efforts", "text": "the efforts contradict the model"}
    assert answers(replace(audited, findings=(contradiction,))) == answers(audited)
    tilt = {"kind": "gravity", "text": "the base seems to be tilted", "remedy": "Level it."}
    tilted = answers(replace(audited, findings=(tilt,)))
    assert tilted[:2] == ["The base seems to be tilted.", "Level it."]
    assert tilted[2].endswith("is unaccounted for.")
    assert not any("Nothing can be said" in sentence for sentence in tilted)


def test_a_joint_that_no_reading_explains_decides_nothing_about_the_others(
    panda: VMSModel, known: Known, tmp_path: Path, rng: np.random.Generator
) -> None:
    effort = -known.effort
    effort[:, 0] = 4e-6 * rng.normal(size=len(known.t))  # fits neither sign
    changed = known.changed(effort=effort)
    meaning = motion_of(changed, panda, tmp_path).conditioning.meaning
    assert meaning is not None
    assert meaning.reading == "opposite"
    chosen = motion_of(changed, panda, tmp_path, effort="opposite").conditioning
    for reading in ("opposite", "torque"):  # the second is what is left where nothing is better
        asked = replace(chosen, meaning=replace(meaning, reading=reading))
        assert asked.remedy(panda.joint_names) is None
    other = replace(chosen, chosen_meaning="torque").remedy(panda.joint_names)
    assert other is not None
    assert other.option == "opposite"


def test_residuals_that_cancel_noise_and_a_misfit_leave_an_audit_unsure(
    panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    effort = known.effort.copy()
    swap = 40.0 * np.tanh(known.v[:, 0] * known.v[:, 2] / 0.01)  # powers that cancel
    effort[:, 0] += swap * known.v[:, 2]
    effort[:, 2] -= swap * known.v[:, 0]
    cancelled = audit_motion(motion_of(known.changed(effort=effort), panda, tmp_path))
    ledger = cancelled.ledger
    assert ledger.largest_unaccounted < 0.001 * ledger.exchanged
    assert np.abs(ledger.residual_by_joint).max() > 0.05 * ledger.exchanged
    clean = audit_motion(motion_of(known, panda, tmp_path))
    assert answers(clean)[0].startswith("No problem was found")
    noisy = replace(clean.ledger, band=clean.ledger.band + 0.06 * clean.ledger.exchanged)
    assert clean.conditioning.meaning is not None
    misfit = {**clean.conditioning.meaning.misfit, "torque": (0.61, 0.58)}
    misfitting = replace(clean.conditioning.meaning, misfit=misfit)
    for audited, reason in (
        (cancelled, "residuals cancel ("),
        (replace(clean, ledger=noisy), "the noise of the signals leaves "),
        (
            replace(clean, conditioning=replace(clean.conditioning, meaning=misfitting)),
            "the efforts miss what the motion requires by 58 %",
        ),
    ):
        first, second, *_ = answers(audited)
        assert first.startswith(f"Unsure, because {reason}")
        assert second.startswith(("Check rate and clock, ", "Do this: vms-ph audit "))


def test_an_audit_begins_with_what_to_do(panda: VMSModel, known: Known, tmp_path: Path) -> None:
    first = answers(audit_motion(motion_of(known, panda, tmp_path)))
    assert first[0].startswith("No problem was found")
    effort = known.effort.copy()
    effort[:, 0] += 4.1 * np.tanh(known.v[:, 0] / 0.01)
    said_first = answers(audit_motion(motion_of(known.changed(effort=effort), panda, tmp_path)))
    assert 2 <= len(said_first) <= 5
    assert said_first[0].startswith("The joints seem to have friction that the URDF lacks: ")
    assert said_first[0].endswith("% of it at panda_joint1.")
    assert said_first[1].endswith("run.csv ... --identify payload,friction")
    effort = known.effort.copy()
    effort[:, 3] += 0.4 * known.v[:, 3]
    motion = motion_of(known.changed(effort=effort), panda, tmp_path)
    little = answers(audit_motion(motion))
    assert with_findings(audit_motion(motion), motion).findings == ()  # too little to search
    assert little[0].startswith("It is little, but more than noise: ")
    assert little[0].endswith("% of it at panda_joint4.")
    assert little[1].startswith("Do this: nothing, or seek its cause with --identify payload,fri")
    currents = motion_of(known.changed(effort=known.effort / 12.0), panda, tmp_path)
    assert "seem to be motor currents or another unit" in answers(audit_motion(currents))[0]


def test_what_was_identified_explains_energy_that_vanished_at_once(
    panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    friction = motion_of(known.changed(effort=known.effort + 3.0 * known.v), panda, tmp_path)
    jump = UnaccountedInterval(1.0, 1.2, -10.0, {panda.joint_names[0]: -10.0})
    done = replace(audit_motion(friction), energy_jumps=[jump])
    for rest, cause in (
        (np.inf, "look there for a contact, a joint stop, a person or a wrong clock."),
        (4.0, "look there for a contact, a joint stop, a person or a wrong clock."),
        (0.004, "with what --identify found, 0.008 J of it remain."),
    ):
        found = {"largest_unaccounted": rest} if np.isfinite(rest) else {}
        last = answers(replace(done, identified=found))[-1]
        assert last == f"Between 1.0 and 1.2 s 10 J vanished at once: {cause}"


def test_what_was_identified_ends_with_one_action_that_rests_on_what_is_sure(
    panda: VMSModel, known: Known, tmp_path: Path
) -> None:
    effort = known.effort.copy()
    effort[:, 3] += 3.0 * known.v[:, 3]
    audited = audit_motion(motion_of(known.changed(effort=effort), panda, tmp_path))
    sure = {"value": 3.0, "low": 2.9, "high": 3.1, "unit": "N m s/rad"}
    unsure = {**sure, "meaning": "unsure, because it changes with another friction law"}
    doubt = "Do not put this friction into the URDF: that of panda_joint4 is unsure, because"
    none = "Do not put this friction into the URDF: none of panda_joint4 is sure."
    for entry, action in (
        (sure, "If it reports no problem, use identified.urdf in place of your URDF."),
        (unsure, doubt),
        ({**sure, "low": 0.0}, none),
        ({**sure, "low": 0.001}, none),  # the 0.003 of the URDF are in it
    ):
        found = {"largest_unaccounted": 0.004, "friction.panda_joint4.viscous": entry}
        identified = replace(audited, identified=found, energy_jumps=[])
        assert any(action in sentence for sentence in answers(identified))
        is_unsure = action in (none, doubt)
        assert answers(identified)[1].endswith("run.csv ... --out report")
        options = (
            ("", "run.csv"),
            ("--robot", "panda"),
            ("--identify", "friction"),
            ("--out", "a b"),
        )
        file = "--robot panda --friction 'a b/friction" if is_unsure else "--robot 'a b/identified"
        typed = answers(replace(identified, options=options))[1]
        assert typed.startswith(f"Do this: vms-ph audit run.csv {file}")
        assert typed.endswith(" --out 'a b/again'")
        number = 'at panda_joint4: damping="3" (2.9 to 3.1 N m s/rad).'
        assert any(number in x for x in answers(identified)) != is_unsure
        cause = "The joints seem to have friction" if is_unsure else "The friction of the joints"
        assert answers(identified)[0].startswith(cause)
    load_alone = {"largest_unaccounted": 0.004, "payload_mass": sure}
    assert "friction.yaml" not in answers(replace(identified, identified=load_alone))[-1]
    misfit = {**identified.conditioning.meaning.misfit, "torque": (0.2, 0.15)}
    meaning = replace(identified.conditioning.meaning, misfit=misfit)
    other_cause = replace(identified.conditioning, meaning=meaning)
    assert "seem" not in answers(replace(identified, conditioning=other_cause))[0]
    effort = known.effort.copy()
    effort[:, 3] += 0.4 * known.v[:, 3]
    little = audit_motion(motion_of(known.changed(effort=effort), panda, tmp_path))
    found = {"largest_unaccounted": 1e-5, "friction.panda_joint4.viscous": unsure}
    signed = ({"kind": "sign", "text": "the sign of panda_joint2 is opposite"},)
    contradicted = answers(replace(little, identified=found, findings=signed))
    assert not any("No problem" in sentence for sentence in contradicted)
    first, *others = answers(replace(little, identified=found))
    assert first.startswith("No problem was found that needs action: ")
    assert others == ["Do this: nothing. This is more than noise, but too little to matter."]
