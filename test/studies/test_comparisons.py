"""Comparison of the task-space controller with a common one, and the effect of sampling."""

import numpy as np
import pytest

from vms_ph_studies import Check, get
from vms_ph_studies.comparisons.encoder import Encoder


def checks(identifier: str, **given: str) -> dict[str, Check]:
    study = get(identifier)
    done = study.run(study.settings(given))
    return {check.name: check for check in done.checks}


@pytest.mark.parametrize("posture", ["q0", "q1"])
def test_operational_space_control_is_not_passive_and_its_elbow_moves_the_task(
    posture: str,
) -> None:
    found = checks("operational-space-comparison", posture=posture, seconds="0.6")
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


def test_passivity_is_lost_at_250_hz_and_a_tank_bounds_the_loss() -> None:
    found = checks("sampled-passivity", encoder="exact", seconds="1.0")
    verdicts = {name: check.verdict for name, check in found.items()}
    assert verdicts["1000 Hz, exact: without a tank"] == "agrees"
    assert verdicts["250 Hz, exact: without a tank"] == "differs"
    assert verdicts["250 Hz, exact: tank, implicit damping"] == "agrees"
    # At most the initial tank energy, without a debt.
    words = found["250 Hz, exact: tank"].obtained.replace(",", "").split()
    supplied, level = float(words[1]), float(words[words.index("least") + 1])
    assert supplied <= 0.05
    assert level >= 0.0
    shaking = found["250 Hz, exact: without a tank"].obtained.replace(",", "").split()
    calm = found["250 Hz, exact: tank"].obtained.replace(",", "").split()
    # The tank covers a part of the oscillation, which then ends without implicit damping.
    assert float(shaking[8]) > 50 * float(calm[8])


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
