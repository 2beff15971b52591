# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots in symbols are those of the model: every matrix to 1e-12."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from vms_ph_dynamics import CentreOfMassTask, VMSModel
from vms_ph_io import load_urdf, share_directory

from ..conftest import state_of

if TYPE_CHECKING:
    from vms_ph_dynamics.export.symbolic import SymbolicRobot

EXAMPLE = Path(__file__).parents[3] / "examples/symbolic_leg.py"


def coordinates(model: VMSModel, q: np.ndarray) -> list[float]:
    angle = [*q[:2], float(np.arctan2(q[3], q[2]))] if model.base == "planar" else []
    return [*angle, *model.joint_positions(q)]


def symbolic_robot(model: VMSModel, parameters: bool = False) -> SymbolicRobot:
    from vms_ph_dynamics.export.symbolic import SymbolicRobot

    return SymbolicRobot(model, parameters=parameters)


def leg(name: str) -> VMSModel:
    """A planar leg, read from its file: as a bundled robot it needs the wing of legs."""
    file = share_directory() / f"urdf/{name}.urdf.xacro"
    return load_urdf(file, base="planar", end_effector="foot", gravity=(0.0, -9.81, 0.0))


@pytest.mark.parametrize("name", ["prismatic_hopper", "revolute_hopper"])
def test_every_matrix_is_that_of_the_model(name: str, rng: np.random.Generator) -> None:
    import sympy as sp

    model = leg(name)
    robot = symbolic_robot(model)
    q, v = state_of(model, rng)
    d = model.evaluate(q, v)
    expected = {
        "M": d.M,
        "mass_rate": d.C + d.C.T,
        "slope": (d.C.T @ v)[:, None],
        "coriolis_force": (d.C @ v)[:, None],
        "gravity": d.g[:, None],
        "centre_of_mass_jacobian": CentreOfMassTask(model).jacobian(d),
        "pose": d.placement(model.end_effector),
        "jacobian": d.J_end_effector,
    }
    for term, matrix in expected.items():
        symbols = getattr(robot, term)
        symbols = symbols(model.end_effector) if callable(symbols) else symbols
        function = sp.lambdify(robot.arguments, symbols, cse=True)
        scale = max(1.0, float(np.abs(matrix).max()))
        made = function(*coordinates(model, q), *v)
        np.testing.assert_allclose(made, matrix, rtol=0, atol=1e-12 * scale, err_msg=term)
    values = dict(zip(robot.arguments, [*coordinates(model, q), *v], strict=True))
    assert float(robot.potential.subs(values)) == pytest.approx(d.potential_energy, abs=1e-12)


def test_the_passivity_of_the_sample_program_holds_in_symbols() -> None:
    """[B, A.2.1, lines 308-324]: the rate of the kinetic energy is ``v^T C^T v``."""
    import sympy as sp

    robot = symbolic_robot(leg("revolute_hopper"))
    v = sp.Matrix(robot.velocities)
    lost = v.T * robot.mass_rate * v / 2 - v.T * robot.slope
    assert lost.applyfunc(lambda x: sp.simplify(sp.expand(x))) == sp.zeros(1, 1)
    # The mass matrix depends on the configuration through the joints alone.
    by_joint = robot.M.diff(robot.coordinates[3]) * robot.velocities[3]
    assert (by_joint - robot.mass_rate).applyfunc(sp.simplify) == sp.zeros(4, 4)


def test_inertial_parameters_may_be_symbols(rng: np.random.Generator) -> None:
    import sympy as sp

    model = leg("revolute_hopper")
    robot = symbolic_robot(model, parameters=True)
    q, v = state_of(model, rng)
    function = sp.lambdify(robot.arguments, robot.M, cse=True)
    made = function(*coordinates(model, q), *v, *model.tree.inertial_parameters())
    np.testing.assert_allclose(made, model.evaluate(q, v).M, atol=1e-12)


def test_the_sample_program_runs_and_its_checks_hold(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vms_ph_hopping")  # the program takes a leg by its name
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    text = capsys.readouterr().out
    assert "rate of the kinetic energy - v^T C^T v is zero: True" in text
    assert "def _lambdifygenerated(x, y, theta, q1, v1, v2, v3, v4):" in text


def test_the_sample_program_names_the_extra_that_it_needs() -> None:
    hidden = "import runpy, sys; sys.modules['sympy'] = None; runpy.run_path(sys.argv[1])"
    words = [sys.executable, "-c", hidden, str(EXAMPLE)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "this example needs sympy: pip install 'vms-ph[symbolic]'\n"
