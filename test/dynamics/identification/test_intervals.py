# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Intervals contain the truth as often as they say, on six robots, also on moving bases."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.identification import Identification, Settings, identify
from vms_ph_dynamics.identification.estimate import estimate, student
from vms_ph_dynamics.identification.identify import _parameter
from vms_ph_dynamics.identification.result import Unknown
from vms_ph_io import load_urdf, robots
from vms_ph_io.descriptions.packages import resolve

from .known_truth import Truth, random_truth, recording

MASSES = {
    "panda": 1.5,
    "ur5": 2.0,
    "omnidirectional_panda": 1.5,
    "satellite_panda": 1.5,
    "hextilt": 0.15,
    "bluerov2_alpha5": 0.3,
}


def test_the_quantiles_of_few_windows_are_those_of_student() -> None:
    for freedom in (1, 2, 4, 5, 6, 20, 1000):
        assert student(freedom) == pytest.approx(stdtrit(freedom, 0.975), rel=1e-3)


def test_a_window_with_a_gross_error_does_not_count(rng: np.random.Generator) -> None:
    columns, none = rng.normal(size=(200, 1)), np.zeros(200)
    target = 2.0 * columns[:, 0] + 0.01 * rng.normal(size=200)
    target[50] += 100.0
    for correlated in (False, True):
        found = estimate(
            columns, target, np.zeros(1), 100.0 * np.eye(1), none, none, correlated=correlated
        )
        assert found.mean[0] == pytest.approx(2.0, abs=4e-3)


def test_windows_within_the_noise_count_in_full_and_others_pull_no_more_than_a_bound(
    rng: np.random.Generator,
) -> None:
    columns, none = rng.normal(size=(60, 1)), np.zeros(60)
    errors = 0.01 * rng.normal(size=60)
    errors[5:10], errors[30] = [0.05, -0.05, 0.055, 0.06, -0.06], 100.0
    prior = (np.zeros(1), 100.0 * np.eye(1))
    found = estimate(columns, 2.0 * columns[:, 0] + errors, *prior, none, none, correlated=False)
    ratio = np.abs(found.residual) / found.scale
    far = (ratio > 2.5) & (ratio < 8.0)
    assert (found.weight[ratio < 2.5] == 1.0).all()
    assert np.count_nonzero(far) >= 3
    np.testing.assert_allclose((found.weight * ratio)[far], 2.5)
    assert found.weight[30] == 0.0
    assert found.quantile == pytest.approx(stdtrit(found.block_count - 1, 0.975), rel=1e-3)


def test_an_interval_below_what_is_physical_reaches_a_little_above_it() -> None:
    viscous = Unknown("friction.a.viscous", "friction", "N m s/rad", 0.0, 10.0, floor=0.0)
    p = _parameter(viscous, mean=-2.0, deviation=1.0, consistent=0.0, quantile=2.0)
    assert (p.value, p.low, p.at_bound) == (0.0, 0.0, True)
    # Of a normal distribution about -2 that is cut at zero, 97.5 % are below 1.25.
    assert p.high == pytest.approx(1.2, rel=1e-3)


def _model(name: str) -> VMSModel:
    if name == "ur5":
        path = resolve("package://example-robot-data/robots/ur_description/urdf/ur5_robot.urdf")
        assert path is not None
        return load_urdf(path)
    return robots.load(name)


def _draw(model: VMSModel, mass: float, seed: int, stribeck: bool) -> tuple[Truth, Identification]:
    rng = np.random.default_rng(seed)
    truth = random_truth(model, rng, mass, stribeck)
    samples = recording(model, truth, rng)
    return truth, identify(model, samples, settings=Settings(energy=False))


def _pooled(name: str, draws: range, stribeck: bool) -> tuple[dict[str, list[bool]], list[float]]:
    """Return by kind whether intervals contain the truth, and the relative errors of the mass."""
    model = _model(name)
    inside: dict[str, list[bool]] = defaultdict(list)
    errors = []
    for seed in draws:
        truth, found = _draw(model, MASSES[name], seed, stribeck)
        for p in found.claims:
            if p.name not in truth.values:
                continue
            kind = f"{p.kind} at a bound" if p.at_bound else p.kind
            inside[kind].append(p.contains(truth.values[p.name]))
        mass = found["payload_mass"].value
        if mass is not None:
            errors.append(mass / truth.values["payload_mass"] - 1.0)
    return inside, errors


@pytest.mark.parametrize(
    ("name", "stribeck"), [("panda", True), ("omnidirectional_panda", False), ("hextilt", True)]
)
def test_intervals_of_a_few_recordings_contain_the_truth(name: str, stribeck: bool) -> None:
    inside, errors = _pooled(name, range(3), stribeck)
    assert len(errors) == 3
    assert np.median(np.abs(errors)) < 0.02
    every = [one for kind in inside.values() for one in kind]
    assert len(every) > 20
    # 95 % of some fifty intervals; fewer than 80 % happens once in ten thousand times.
    assert np.mean(every) >= 0.8


def test_an_interval_that_is_wide_for_friction_of_another_shape_says_so() -> None:
    for stribeck in (False, True):
        _, found = _draw(robots.load("panda"), 1.5, 0, stribeck)
        unsure = [p.name for p in found.claims if p.meaning.startswith("unsure, because")]
        assert any(name.endswith(".coulomb") for name in unsure) == stribeck


def test_ideal_coulomb_friction_leaves_intervals_narrow() -> None:
    model, rng = _model("ur5"), np.random.default_rng(0)
    truth = replace(random_truth(model, rng, 2.0), slip=1e-9)
    found = identify(model, recording(model, truth, rng), settings=Settings(energy=False))
    for name in ("shoulder_lift_joint", "elbow_joint"):
        for term in ("viscous", "coulomb"):
            p = found[f"friction.{name}.{term}"]
            assert p.contains(truth.values[p.name])
            assert p.high - p.low < 0.3 * truth.values[p.name]
            assert not p.meaning


@pytest.mark.parametrize("seed", range(4000, 4004))
def test_a_load_is_within_its_interval_where_link_masses_are_wrong(seed: int) -> None:
    model, rng = robots.load("omnidirectional_panda"), np.random.default_rng(seed)
    truth, recorded = random_truth(model, rng, 1.5), model.tree.pinocchio.copy()
    for inertia in list(recorded.inertias)[2:]:
        factor = rng.uniform(0.95, 1.05)
        inertia.mass, inertia.inertia = factor * inertia.mass, factor * inertia.inertia
    real_robot = VMSModel.from_pinocchio(recorded, model.end_effector)
    samples = recording(real_robot, truth, rng)
    found = identify(model, samples, settings=Settings(energy=False))
    assert found["payload_mass"].contains(truth.values["payload_mass"])
    assert found["payload_mass"].high - found["payload_mass"].low < 0.5


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("stribeck", [False, True])
@pytest.mark.parametrize("name", MASSES)
def test_intervals_contain_the_truth_in_at_least_93_percent(name: str, stribeck: bool) -> None:
    inside, errors = _pooled(name, range(1000, 1500), stribeck)
    for kind, results in sorted(inside.items()):
        print(f"{name}: {kind}: {np.mean(results):.3f} of {len(results)} intervals")
    print(f"{name}: mass, root mean square error: {np.sqrt(np.mean(np.square(errors))):.4f}")
    for kind in ("payload", "friction"):
        assert len(inside[kind]) > 500
        assert np.mean(inside[kind]) >= 0.93
    assert np.mean(np.abs(errors)) < 0.02
