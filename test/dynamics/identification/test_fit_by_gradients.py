# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The example that fits payload and friction through a simulation."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vms_ph_dynamics import Friction, Ports, StandardForm, integrate

pytest.importorskip("casadi", reason="casadi is not installed (pip install 'vms-ph[casadi]')")
EXAMPLE = Path(__file__).parents[3] / "examples" / "fit_by_gradients.py"


@pytest.fixture(scope="module")
def example() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(EXAMPLE)))


def test_its_simulation_is_that_of_the_library_and_its_gradients_are_slopes(
    example: SimpleNamespace, rng: np.random.Generator
) -> None:
    import casadi as ca

    model, steps = example.panda(), example.STEPS
    form, one = StandardForm(model), example.simulated(model)
    q, v, torque = np.array(example.HOME), rng.uniform(0.3, 1.0, 7), rng.uniform(-3.0, 3.0, 7)
    friction = Friction(np.array(example.VISCOUS), np.array(example.COULOMB))
    unknown = np.r_[0.0, 0.02, 0.01, 0.05, friction.viscous, friction.coulomb]
    held = np.tile(torque[:, None], steps + 1)
    ports = Ports(torque, friction=friction)
    run = integrate(form, form.state(q, v), ports, dt=1 / 250, steps=steps, scheme="rk4")
    # Without payload; rounding of the same scheme.
    expected = form.velocity(run.states[-1])
    assert np.allclose(one(q, v, held, unknown).full()[:, 0], expected, rtol=0.0, atol=1e-10)
    unknown[0] = 0.7
    x = ca.MX.sym("x", len(unknown))
    slope = ca.Function("slope", [x], [ca.jacobian(one(q, v, held, x), x)])(unknown).full()
    for k, e in enumerate(1e-5 * np.eye(len(unknown))):
        ends = (one(q, v, held, unknown + d).full()[:, 0] for d in (e, -e))
        numbers = np.subtract(*ends) / 2e-5
        # Rounding over the step, and its square times the third derivative.
        assert np.allclose(slope[:, k], numbers, rtol=1e-5, atol=1e-7)


def test_it_finds_payload_and_friction(
    example: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    results = example.main(["--seconds", "1.0"])
    assert len(results) == 18
    for name, (true, value, half) in results.items():
        # Intervals are of 1.96 deviations of white noise; velocities at the start are noisy too.
        assert abs(value - true) < 3.0 * half, name
        assert half < 0.3 * abs(true), name
    assert "true values in the intervals" in capsys.readouterr().out
