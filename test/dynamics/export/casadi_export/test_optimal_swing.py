# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The example of optimal control: it converges, and its energy balance closes."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from vms_ph_dynamics import Friction
from vms_ph_io import robots

EXAMPLE = Path(__file__).parents[4] / "examples" / "optimal_swing.py"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("optimal_swing", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "optimal_swing", module)
    spec.loader.exec_module(module)
    return module


def test_the_optimal_swing_converges_and_its_energy_balance_closes(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A part of the way, so that few steps suffice.
    monkeypatch.setattr(example, "END", example._between(example.START, example.END, 0.3).tolist())
    model, duration = robots.load("panda"), 0.8
    friction = Friction(np.array(example.FRICTION), np.zeros(7))
    swing = example.optimise(model, friction, 8, duration)
    # Of order four; the residual of 3.3e-4 J is that of 20 steps, see the campaign below.
    assert abs(swing.residual) < 1e-4 * swing.supplied
    assert (np.abs(swing.torque) <= model.joints.effort + 1e-6).all()
    runs = example.replay(model, friction, swing, duration)
    # The simulator moves as the transcription says, within its error, and loses no energy.
    assert np.abs(runs[-1].states[-1].q - np.array(example.END)).max() < 5e-3
    stored = sum(run.audit.stored.sum() for run in runs)
    supplied = sum(port.sum() for run in runs for port in run.audit.supplied.values())
    dissipated = sum(run.audit.dissipated.sum() for run in runs)
    assert abs(stored - supplied + dissipated) < 1e-12 * supplied
    assert stored == pytest.approx(swing.stored, abs=0.02)


@pytest.mark.slow
def test_halving_the_steps_divides_the_residual_by_sixteen(example: ModuleType) -> None:
    friction = Friction(np.array(example.FRICTION), np.zeros(7))
    coarse, fine = (
        example.optimise(robots.load("panda"), friction, steps, 1.5).residual for steps in (20, 40)
    )
    # Fourth order; the torques of both optima differ a little: 13 seen.
    assert 10 < coarse / fine < 20


def test_without_casadi_the_example_says_how_to_install_it() -> None:
    hidden = "import sys, runpy; sys.modules['casadi'] = None; runpy.run_path(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", hidden, str(EXAMPLE)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr == "this example needs casadi: pip install 'vms-ph[casadi]'\n"
