# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Engines invent energy by the order of their scheme; those of this project keep it."""

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.integrators import IntegrationError
from vms_ph_studies import get
from vms_ph_studies.comparisons import simulator_energy
from vms_ph_studies.comparisons.simulator_energy import ROBOTS, compare, passive_robot
from vms_ph_studies.comparisons.simulators import ENGINES

pytest.importorskip("mujoco")


def test_mujoco_errs_by_the_order_of_its_scheme_and_this_project_keeps_the_energy() -> None:
    robot = passive_robot(ROBOTS["panda"]())
    error: dict[str, np.ndarray] = {}
    for engine in ENGINES:
        if engine.name in ("MuJoCo Euler", "MuJoCo RK4") or np.isinf(engine.order):
            error[engine.name] = np.array([r.energy for r in compare(engine, robot, 0.2)])
    assert error["MuJoCo Euler"].min() > 1e-4
    np.testing.assert_allclose(error["MuJoCo Euler"][:-1] / error["MuJoCo Euler"][1:], 2, rtol=0.1)
    np.testing.assert_allclose(error["MuJoCo RK4"][:-1] / error["MuJoCo RK4"][1:], 16, rtol=0.4)
    for scheme in ("projected_rk4", "projected_midpoint", "discrete_gradient"):
        assert error[f"vms_ph {scheme}"].max() < 1e-12


@pytest.mark.parametrize("name", ["tree_6", "free_tree_6"])
def test_mujoco_starts_a_robot_of_the_urdf_with_the_energy_of_the_ledger(name: str) -> None:
    robot = passive_robot(ROBOTS[name]())
    (engine,) = (engine for engine in ENGINES if engine.name == "MuJoCo Euler")
    run = engine.start(robot, 1e-3)
    assert run.kinetic_energy is not None
    expected = robot.model.evaluate(robot.q, robot.v).kinetic_energy
    assert run.kinetic_energy() == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(run.motion()[0], robot.q, atol=1e-12)


def test_an_engine_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", missing)
    study = get("simulator-energy")
    with pytest.raises(
        VmsPhError, match=r"no engine could run\. DART: not installed: pip install d"
    ):
        study.run(study.settings({"robot": "panda", "engine": "DART"}), tmp_path)
    with pytest.raises(VmsPhError, match="engine=Dart: accepted are all, vms_ph, MuJoCo, DART"):
        study.settings({"engine": "Dart"})


def test_an_engine_that_diverges_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverge(*_: object) -> None:
        raise IntegrationError("DART diverges at dt=0.004 s")

    monkeypatch.setattr(simulator_energy, "compare", diverge)
    monkeypatch.setattr(metadata, "version", lambda _: "1.0")
    study = get("simulator-energy")
    with pytest.raises(VmsPhError, match=r"DART, panda: DART diverges at dt=0\.004 s"):
        study.run(study.settings({"robot": "panda", "engine": "DART"}), tmp_path)
