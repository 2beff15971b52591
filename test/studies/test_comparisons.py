# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Comparison of the task-space controller with a common one, and the effect of sampling."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from vms_ph_studies import Check, get
from vms_ph_studies.comparisons.cartesian_impedance import GuardedImpedance, _phases, run_phase
from vms_ph_studies.comparisons.sampled_passivity import Encoder


def checks(identifier: str, **given: str) -> dict[str, Check]:
    study = get(identifier)
    done = study.run(study.settings(given))
    return {check.name: check for check in done.checks}


@pytest.mark.parametrize("posture", ["q0", pytest.param("q1", marks=pytest.mark.slow)])
def test_operational_space_control_is_not_passive_and_its_elbow_moves_the_task(
    posture: str,
) -> None:
    found = checks("operational-space-comparison", posture=posture, seconds="0.4")
    assert {check.verdict for check in found.values()} == {"agrees"}
    assert {check.origin for check in found.values()} == {"baseline"}
    closed = found["work of the springs around a closed path"]
    assert closed.obtained < 1e-12
    assert float(closed.reference) > 1e-2
    audit = found["unaccounted energy of the push, largest"]
    assert audit.obtained < 1e-8
    assert float(audit.reference) > 1e-2
    swing = found["displacement by a null-space motion of the elbow, largest"]
    assert float(swing.reference) > 5 * float(swing.obtained)
    null = found["null-space energy by the push, largest"]
    assert float(null.reference) > 100 * null.obtained


def test_the_sampled_law_is_passive_down_to_250_hz_with_and_without_a_tank() -> None:
    found = checks("sampled-passivity", encoder="exact", seconds="1.0")
    for name, check in found.items():
        assert check.verdict == "agrees", name
        remaining = float(check.obtained.split("at the end ")[1].split()[0])
        assert remaining < 1e-3, name


def test_an_encoder_rounds_positions_and_gives_their_differences() -> None:
    encoder = Encoder(1000.0)
    quantum = 2 * np.pi / 1000
    first = encoder.read(np.array([0.4, 1.0]), np.array([1.0, 1.0]), 1e-3)
    np.testing.assert_allclose(first.q, quantum * np.round(np.array([0.4, 1.0]) / quantum))
    np.testing.assert_array_equal(first.v, 0.0)
    second = encoder.read(np.array([0.4 + quantum, 1.0]), np.array([1.0, 1.0]), 1e-3)
    np.testing.assert_allclose(second.v, [quantum / 1e-3, 0.0], atol=1e-9)
    q, v = np.array([0.1]), np.array([0.2])
    exact = Encoder(0.0).read(q, v, 1e-3)
    assert (exact.q, exact.v) == (q, v)


def test_the_cartesian_impedance_keeps_the_limits_of_the_arm_and_its_certificate() -> None:
    phase = replace(_phases(1.0)["stiffness times ten"], seconds=0.3, stiffness=_after(0.1))
    ours = run_phase(phase, GuardedImpedance)
    assert ours.verdict == "kept"
    assert ours.rate < 1000.0
    assert ours.torque < 0.5


def _after(time: float) -> Callable[[float], float]:
    return lambda t: 100.0 if t < time else 1000.0
