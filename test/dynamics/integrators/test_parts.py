# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of the schemes in closed form: roots, angles, momenta, runs of steps, and audits."""

import re
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.forms import StandardForm
from vms_ph_dynamics.integrators import integrate
from vms_ph_dynamics.integrators.discrete_gradient import _angle_ratio
from vms_ph_dynamics.integrators.integrate import find_crossing
from vms_ph_dynamics.integrators.moving_base import spatial_momentum
from vms_ph_dynamics.integrators.retry import EnergyBalanceError, multi_step_with_retry
from vms_ph_dynamics.integrators.trajectory import EnergyBalance
from vms_ph_io import robots

RUN = sys.modules["vms_ph_dynamics.integrators.integrate"]  # the function has its name
RETRY = sys.modules["vms_ph_dynamics.integrators.retry"]


@pytest.mark.parametrize("dt", [0.02, -0.02])
def test_a_straight_line_is_followed_to_its_root_at_once(dt: float) -> None:
    tried = []

    def value(t: float) -> float:
        tried.append(t)
        return 3.0 - 4.0 * t / dt

    assert find_crossing(value, 3.0, -1.0, dt) == pytest.approx(0.75 * dt, abs=1e-14)
    assert len(tried) <= 2


def test_a_bend_is_found_in_a_few_steps() -> None:
    tried = []

    def value(t: float) -> float:
        tried.append(t)
        return t**3 - 0.3

    assert find_crossing(value, -0.3, 0.7, 1.0) == pytest.approx(0.3 ** (1.0 / 3.0), abs=1e-9)
    assert len(tried) < 20


def test_the_angle_of_a_cayley_turn_is_that_of_its_rotation() -> None:
    axis = np.array([0.6, 0.0, -0.8])
    for length in (1e-6, 9.9e-5, 1.1e-4, 0.1, 1.3):
        hat = pin.skew(length * axis)
        turn = np.linalg.solve(np.eye(3) - 0.5 * hat, np.eye(3) + 0.5 * hat)
        angle = np.linalg.norm(pin.log3(turn))
        assert _angle_ratio(length * axis) == pytest.approx(angle / length, rel=1e-9)
    # Where the series begins the closed form is as good.
    assert _angle_ratio(9.9e-5 * axis) == pytest.approx(2 * np.arctan(4.95e-5) / 9.9e-5, abs=1e-15)


@pytest.mark.parametrize("name", ["omnidirectional_panda", "satellite_panda"])
def test_the_spatial_momentum_is_that_of_all_bodies_about_the_origin(
    name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    q = model.integrate(model.neutral_configuration(), rng.uniform(-1, 1, model.nv))
    v = rng.uniform(-1.0, 1.0, model.nv)
    tree, data = model.pinocchio, model.pinocchio.createData()
    pin.computeCentroidalMomentum(tree, data, q, v)
    pin.centerOfMass(tree, data, q)
    linear = data.hg.linear
    about = data.hg.angular + np.cross(data.com[0], linear)
    whole = np.concatenate([linear, about])
    rows = [0, 1, 5] if model.base == "planar" else slice(None)
    np.testing.assert_allclose(spatial_momentum(model.evaluate(q, v)), whole[rows], atol=1e-9)


def test_no_more_steps_are_asked_for_than_are_left(
    panda: VMSModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def watched(stepper: Any, state: Any, ports: Any, t0: float, dt: float, *counts: Any) -> Any:
        asked.append(counts[0] + counts[1])
        return multi_step_with_retry(stepper, state, ports, t0, dt, *counts)

    monkeypatch.setattr(RUN, "multi_step_with_retry", watched)
    form = StandardForm(panda)
    integrate(
        form,
        form.state(panda.neutral_configuration(), 0.1 * np.ones(7)),
        dt=1e-3,
        steps=4,
        stride=4,
    )
    assert asked == [4, 4, 4, 4]


def test_a_run_whose_balance_fails_is_halved_up_to_the_step_that_misses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = []

    def multi_step(state: Any, ports: Any, t0: float, dt: float, first: int, steps: int) -> Any:
        runs.append(steps)
        return SimpleNamespace(steps=steps)

    def check(stepper: Any, state: Any, result: Any) -> None:
        if result.steps > 1:  # the second step misses it
            raise EnergyBalanceError("energy appeared")

    monkeypatch.setattr(RETRY, "check_balance", check)
    stepper: Any = SimpleNamespace(multi_step=multi_step)
    assert multi_step_with_retry(stepper, None, None, 0.0, 0.1, 0, 8).result.steps == 1
    assert runs == [8, 4, 2, 1]


def test_an_audit_says_the_largest_unaccounted_energy_at_any_time() -> None:
    stored, supplied = np.array([1.0, 0.5, -0.2]), np.array([0.9, 0.4, 0.05])
    audit = EnergyBalance(
        stored, {"torque": supplied}, np.array([0.0, 0.1, 0.05]), np.zeros(3, int)
    )
    np.testing.assert_allclose(audit.residual, [0.1, 0.2, -0.2])
    assert re.search(r"largest unaccounted at any time +\+0\.3\n", str(audit))
    assert "verdict: open, 9.4e-02 of the energy exchanged" in str(audit)
