# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings with known loads tell how far the load of another recording may be off."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_dynamics import OptionError, VMSModel
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.identification import (
    LoadEstimate,
    Reference,
    Settings,
    identify,
    left_out_loads,
    reference_loads,
    scatter,
    widen_interval,
)

from .known_truth import Truth, random_truth, recording

PLAIN = Settings(energy=False, inertia=False)


def _found(errors: list[float], noise: float, sessions: str = "") -> list[LoadEstimate]:
    return [
        LoadEstimate(f"r{k}", sessions[k] if sessions else f"s{k}", 1.0, 1.0 + error, noise)
        for k, error in enumerate(errors)
    ]


def test_the_scatter_is_what_the_noise_of_the_references_does_not_explain() -> None:
    between, sessions = scatter(_found([0.5, -0.5, 0.5, -0.5], 0.3))
    assert sessions == 4
    assert between == pytest.approx(0.4)  # 0.5^2 = 0.3^2 + 0.4^2
    assert scatter(_found([0.1, -0.1], 0.3))[0] == 0.0
    assert scatter(_found([0.5, -0.5], 0.4))[0] == pytest.approx(0.3)
    # Ten recordings of one session weigh as much as one of another.
    between, sessions = scatter(_found([0.5] * 10 + [0.0], 0.0 + 1e-9, "a" * 10 + "b"))
    assert sessions == 2
    assert between == pytest.approx(0.5 / np.sqrt(2.0))


def test_the_errors_of_one_session_tell_no_scatter() -> None:
    with pytest.raises(OptionError, match="2 sessions"):
        scatter(_found([0.1, 0.2], 0.1, "aa"))


def _first(samples: MotionSamples, count: int) -> MotionSamples:
    rows = {name: getattr(samples, name)[:count] for name in ("t", "q", "v", "torque")}
    return replace(samples, **rows)


def _warmer(model: VMSModel, truth: Truth, factor: float, seed: int) -> MotionSamples:
    """Return a recording in a session whose drives have other gains."""
    samples = _first(recording(model, truth, np.random.default_rng(seed)), 1500)
    return replace(samples, torque=factor * samples.torque)


def test_the_interval_of_a_load_covers_drives_that_drift_between_sessions(panda: VMSModel) -> None:
    truth = random_truth(panda, np.random.default_rng(5), 1.5)
    true = truth.values["payload_mass"]

    def law(rate: np.ndarray) -> np.ndarray:
        return truth.viscous * rate + truth.coulomb * np.tanh(rate / 0.01) + truth.offset

    given = {"friction": law, "settings": PLAIN}
    references = [
        Reference("cold", true, [_warmer(panda, truth, 0.97, 1)]),
        Reference("warm", true, [_warmer(panda, truth, 1.02, 2)]),
    ]
    loads = reference_loads(panda, references, **given)
    assert [one.session for one in loads] == ["cold", "warm"]
    assert loads[0].error < 0.0 < loads[1].error
    new = _warmer(panda, truth, 1.03, 3)
    alone = identify(panda, new, ("payload",), **given)
    assert not alone["payload_mass"].contains(true)
    found = widen_interval(alone, loads)
    assert found["payload_mass"].contains(true)
    assert found["payload_mass"].value == alone["payload_mass"].value
    assert "by the noise of this recording alone; 2 references" in found["payload_mass"].meaning
    assert found.posterior.references == loads
    assert found["payload_centre_x"] == alone["payload_centre_x"]


def test_each_session_is_left_out_of_the_calibration_that_finds_its_loads(
    panda: VMSModel,
) -> None:
    bare = random_truth(panda, np.random.default_rng(5), 1e-9)
    one, other = (_warmer(panda, bare, factor, seed) for factor, seed in ((1.0, 1), (1.05, 2)))
    references = [Reference("a", 0.0, [one]), Reference("b", 0.0, [other])]
    loads = left_out_loads(panda, [], references, ("friction",), settings=PLAIN)
    of_a = identify(panda, [one], ("friction",), settings=PLAIN).posterior
    assert loads[1] == reference_loads(panda, references[1:], prior=of_a, settings=PLAIN)[0]
    assert loads[1].error > 0.2
    with pytest.raises(OptionError, match="no recording without a load is left"):
        left_out_loads(panda, [], references[:1], ("friction",), settings=PLAIN)
