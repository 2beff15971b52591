# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph audit --certificate, as a user types it."""

import json
from pathlib import Path

import numpy as np
import pytest
from dynamics.identification.known_truth import Defects, random_truth, recording
from typer.testing import CliRunner, Result

from vms_ph_io import robots
from vms_ph_nodes.cli.app import make_app

from .test_audit_command import record


def typed(*words: object) -> Result:
    return CliRunner().invoke(make_app(), [str(word) for word in words])


def driven(
    folder: Path,
    missing: slice = slice(0, 0),
    pause: float = 0.0,
    period: float = 0.002,
    vibration: float = 0.0,
) -> tuple[Path, float]:
    """A Panda whose first joint, which bears no weight, is driven to and fro; and what it took.

    It vibrates at 49.9 Hz with a speed in rad/s.
    """
    model = robots.load("panda")
    t, w = np.arange(0.0, 2.0, period), 2.0 * np.pi * 49.9
    q, v, effort = (np.zeros((len(t), 7)) for _ in range(3))
    q[:, 0] = 0.5 * np.sin(3 * t) - vibration / w * np.cos(w * t)
    v[:, 0] = 1.5 * np.cos(3 * t) + vibration * np.sin(w * t)
    acceleration = -4.5 * np.sin(3 * t) + vibration * w * np.cos(w * t)
    effort[:, 0] = model.evaluate(q[0], v[0]).M[0, 0] * acceleration + 2.0 * v[:, 0]
    effort[:, 1:] = model.evaluate(q[0], v[0]).g[1:]
    power = effort[:, 0] * v[:, 0]
    given = np.concatenate([[0.0], np.cumsum(0.5 * period * (power[1:] + power[:-1]))])
    keep = np.delete(np.arange(len(t)), missing)
    t = t + np.where(t > 1.0, pause, 0.0)
    arrays = {"time": t[keep], "position": q[keep], "velocity": v[keep], "effort": effort[keep]}
    np.savez(folder / "run.npz", **arrays, joints=model.joint_names)
    return folder / "run.npz", float(given.max())


def certified(*words: object) -> dict[str, object]:
    done = typed("audit", *words, "--robot", "panda", "--certificate", "--json", "--as-recorded")
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_it_finds_the_energy_that_an_independent_sum_finds(tmp_path: Path) -> None:
    file, most = driven(tmp_path)
    found = certified(file)
    assert found["largest_supplied"] == pytest.approx(most, abs=1e-3)
    assert found["largest_rise"] >= found["largest_supplied"]  # type: ignore[operator]
    assert found["ports"] == list(robots.load("panda").joint_names)
    assert 0.0 < found["uncertainty"] < 0.01  # type: ignore[operator]
    assert found["verdict"] == ""


def test_a_budget_is_certified_or_not_by_words_and_exit_code(tmp_path: Path) -> None:
    file, most = driven(tmp_path)
    kept = typed("audit", file, "--robot", "panda", "--certificate", "--budget", most + 1.0)
    assert kept.exit_code == 0
    assert "the energy given stayed within the budget" in kept.output
    assert "not seen     energy at other ports" in kept.output
    out = tmp_path / "out"
    words = ("audit", file, "--robot", "panda", "--certificate", "--budget", 1.0, "--out", out)
    broken = typed(*words)
    assert broken.exit_code == 1
    assert "the energy given exceeded the budget" in broken.output
    assert json.loads((out / "certificate.json").read_text())["verdict"] == "excess"


def test_missing_samples_and_gaps_are_told(tmp_path: Path) -> None:
    found = certified(driven(tmp_path, missing=slice(300, 303))[0])
    assert found["lost"] == 3
    gapped = certified(driven(tmp_path, pause=30.0)[0])
    assert gapped["gaps"] == 1
    assert gapped["gap_time"] == pytest.approx(30.0, abs=0.01)
    assert any("in 1 gaps" in each for each in gapped["not_seen"])  # type: ignore[attr-defined]
    whole = certified(driven(tmp_path)[0], "--budget", "1e3")
    gapped = certified(driven(tmp_path, pause=30.0)[0], "--budget", "1e3")
    assert (whole["verdict"], gapped["verdict"]) == ("kept", "undecided")


def test_a_vibration_that_samples_show_at_another_frequency_is_not_certified(
    tmp_path: Path,
) -> None:
    _, most = driven(tmp_path, period=0.0002, vibration=-1.0)
    for vibration, verdict in ((0.0, "kept"), (-1.0, "undecided")):
        file, seen = driven(tmp_path, period=0.04, vibration=vibration)
        assert seen < most - 1.0
        # The vibration exceeds the budget.
        assert certified(file, "--budget", most - 0.1)["verdict"] == verdict


@pytest.mark.parametrize(("late", "noise"), [(0.01, 0.0), (0.0, 0.2), (-0.004, 0.02)])
def test_the_miss_of_late_or_noisy_efforts_is_within_the_uncertainty(
    late: float, noise: float, tmp_path: Path
) -> None:
    model, rng = robots.load("panda"), np.random.default_rng(8)
    truth = random_truth(model, rng, 1e-6)
    exact = recording(model, truth, rng, Defects(*8 * [0.0]))
    power = (exact.torque * exact.v).sum(axis=1)
    weight = model.evaluate_batch(exact.q, exact.v).potential_energy
    work = np.cumsum(0.5 * np.diff(exact.t) * (power[1:] + power[:-1])) - weight[1:] + weight[0]
    size = np.sqrt(np.mean(exact.torque**2, axis=0))
    effort = np.stack([np.interp(exact.t - late, exact.t, x) for x in exact.torque.T], axis=1)
    effort += noise * size * rng.normal(size=effort.shape)
    arrays = {"time": exact.t, "position": exact.q, "velocity": exact.v, "effort": effort}
    np.savez(tmp_path / "run.npz", **arrays, joints=model.joint_names)
    found = certified(tmp_path / "run.npz")
    miss, uncertainty = float(found["largest_supplied"]) - work.max(), float(found["uncertainty"])  # type: ignore[arg-type]
    assert 0.1 < abs(miss) < uncertainty < 0.05 * float(np.abs(power).sum() * 0.004)


def test_a_bag_of_joint_states_is_certified(tmp_path: Path) -> None:
    said = typed("audit", record(tmp_path / "bag"), "--robot", "panda", "--certificate")
    assert said.exit_code == 0, said.output
    assert "given" in said.output


def test_a_budget_alone_is_refused_in_a_sentence(tmp_path: Path) -> None:
    said = typed("audit", tmp_path / "none.npz", "--budget", 1.0)
    assert "--budget needs --certificate" in str(said.exception)
