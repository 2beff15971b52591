# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The example of optimal control with crocoddyl."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vms_ph_dynamics import DecoupledForm
from vms_ph_io import robots

pytest.importorskip("crocoddyl", reason="crocoddyl is not installed (pip install crocoddyl)")
EXAMPLE = Path(__file__).parents[3] / "examples" / "crocoddyl_swing.py"


@pytest.fixture(scope="module")
def example() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(EXAMPLE)))


@pytest.mark.parametrize("dt", [0.02, 0.0])
def test_its_derivatives_are_central_differences(
    example: SimpleNamespace, rng: np.random.Generator, dt: float
) -> None:
    model = robots.load("borinot")
    q, goal = (model.random_configuration(rng) for _ in range(2))
    form = DecoupledForm(model)
    action = example.FormAction(form, goal, dt)
    data, h, n = action.createData(), 1e-6, model.nv
    x, u = np.r_[q, form.state(q, rng.normal(size=n)).z], rng.normal(size=n)
    action.calcDiff(data, x, u)
    analytic = np.vstack([np.hstack([data.Fx, data.Fu]), np.r_[data.Lx, data.Lu]])
    for k, e in enumerate(h * np.eye(3 * n)):
        ends, costs = [], []
        for sign in (1, -1):
            action.calc(data, action.state.integrate(x, sign * e[: 2 * n]), u + sign * e[2 * n :])
            ends.append(data.xnext.copy())
            costs.append(data.cost)
        slope = np.r_[action.state.diff(*ends[::-1]), costs[0] - costs[1]] / (2 * h)
        # Rounding of the values over the step.
        scale = 1.0 + np.abs(analytic).max(axis=1)
        assert (np.abs(analytic[:, k] - slope) < 1e-8 * scale).all()


def test_both_problems_have_the_same_solution_for_short_steps(example: SimpleNamespace) -> None:
    (ours, theirs), coarse = example.main(["--steps", "25"])
    _, fine = example.main(["--steps", "50"])
    assert ours == pytest.approx(theirs, rel=5e-3)
    # Both schemes are of first order.
    assert 1.7 < coarse / fine < 2.4
