# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The example that learns to hover, in short form."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vms_ph_io import robots

jax = pytest.importorskip("jax", reason="jax is not installed (pip install jax)")
pytest.importorskip("brax", reason="brax is not installed (pip install brax)")
EXAMPLE = Path(__file__).parents[3] / "examples" / "learn_to_hover.py"


@pytest.fixture(scope="module")
def example() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(EXAMPLE)))


def test_a_decoupled_wrench_moves_the_locked_motion_alone(example: SimpleNamespace) -> None:
    changes = []
    for decoupled in (False, True):
        environment = example.Hover(decoupled)
        state = environment.reset(jax.random.PRNGKey(0))
        ends = []
        for size in (0.0, 0.5):
            command = jax.numpy.asarray(size * np.r_[1.0, -1.0, 1.0, 1.0, -1.0, 1.0, np.zeros(5)])
            after = environment.step(state, command)
            assert 0.0 < float(after.reward) < 1.0
            ends.append(np.array(after.obs[17:28]))  # locked velocity or twist, joint rates
        changes.append(np.abs(ends[1] - ends[0]))
    standard, decoupled_change = changes
    assert decoupled_change[6:].max() < 0.1 * standard[6:].max()
    assert decoupled_change[:6].max() > 0.05


def test_the_locked_velocity_is_observed(example: SimpleNamespace) -> None:
    model, environment = robots.load("hextilt"), example.Hover(True)
    state = environment.reset(jax.random.PRNGKey(1))
    q, p = (np.array(part, float) for part in state.pipeline_state)
    v = np.linalg.solve(model.evaluate(q, 0.0 * p).M, p)
    expected = v[:6] + model.evaluate(q, v).A @ v[6:]
    np.testing.assert_allclose(state.obs[17:23], expected, atol=1e-4)


def test_training_begins_and_reports(example: SimpleNamespace) -> None:
    curve = example.learning_curve(True, seed=0, steps=20_000, evaluations=2)
    assert len(curve) == 2
    assert all(0.0 < reward < 1.0 for reward in curve)
