# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph bench: every benchmark runs on every base and reports its ratios; no time is asserted."""

import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_nodes.cli.app import make_app
from vms_ph_studies.benchmarks import Case, benchmarks, measure

CALLS = [known.id for known in benchmarks().values() if known.run is None]


@pytest.mark.parametrize("subject", CALLS)
def test_a_subject_times_all_its_cases_and_its_reference(
    subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An arm of 60 joints takes seconds to export, chains of 40 bodies to assemble.
    for name, value in (
        ("calls.JOINT_COUNTS", (1, 8)),
        ("ephs._LINK_COUNTS", (1, 5, 9)),
        ("timing._MIN_ROUNDS", 2),
    ):
        monkeypatch.setattr(f"vms_ph_studies.benchmarks.{name}", value)
    arguments = ["bench", subject, "--seconds", "0", "--json"]
    result = CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
    document = json.loads(result.output)
    ratios = {case["name"]: case["ratio"] for case in document["cases"]}
    assert ratios[document["reference"]] == 1.0
    assert all(case["median"] > 0 for case in document["cases"])


@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_the_model_can_be_timed_on_every_base(base: str) -> None:
    arguments = ["bench", "dynamics", "--seconds", "0", "--base", base]
    result = CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
    assert "DecoupledForm.rate" in result.output
    assert f"{base} base" in result.output


@pytest.mark.parametrize(
    "base",
    [
        pytest.param("fixed", marks=pytest.mark.slow),
        pytest.param("planar", marks=pytest.mark.slow),
        "floating",
    ],
)
def test_errors_against_cost_are_drawn_for_every_base(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Few steps: the motion is the same, only coarser.
    for name, value in (
        ("STEPS", (50, 100)),
        ("COMPARED_STEPS", 100),
        ("_REFERENCE_STEPS", 400),
        ("_REPEATS", 1),
    ):
        monkeypatch.setattr(f"vms_ph_studies.benchmarks.integrators.{name}", value)
    robot = "panda" if base == "fixed" else "satellite_panda"
    arguments = ["bench", "integrators", "--robot", robot, "--base", base, "--seconds", "0"]
    result = CliRunner().invoke(
        make_app(), [*arguments, "--out", str(tmp_path)], catch_exceptions=False
    )
    assert "integrators.png" in result.output
    results = json.loads((tmp_path / "integrators.json").read_text())
    errors = {(r["name"], round(1 / r["dt"])): r for r in results}
    assert errors["projected_rk4", 50]["energy"] < 1e-12
    assert errors["discrete_gradient", 50]["energy"] < 1e-12
    assert errors["rk4", 50]["energy"] > 1e-12
    if base != "fixed":
        assert errors["projected_rk4", 50]["momentum"] < 1e-11
        assert errors["Pinocchio aba + RK4", 50]["momentum"] > 1e-9
        pytest.importorskip("mujoco")
        assert errors["MuJoCo RK4", 50]["trajectory"] < 1e-3


def test_a_benchmark_without_plots_rejects_a_folder(tmp_path: Path) -> None:
    arguments = ["bench", "dynamics", "--seconds", "0", "--out", str(tmp_path / "plots")]
    result = CliRunner().invoke(make_app(), arguments)
    assert isinstance(result.exception, VmsPhError)
    assert "has no plots" in str(result.exception)
    assert result.output == ""


@pytest.mark.parametrize(
    ("subject", "robot", "said"),
    [
        (
            "dynamics",
            "mine.urdf",
            "no bundled robot 'mine.urdf'; bundled robots are panda, ",
        ),
        ("integrators", "bluerov2_alpha5", "in a vacuum; bluerov2_alpha5 is in a fluid"),
    ],
)
def test_a_robot_that_a_benchmark_does_not_support_is_rejected(
    subject: str, robot: str, said: str
) -> None:
    arguments = ["bench", subject, "--seconds", "0", "--robot", robot]
    with pytest.raises(VmsPhError, match=said):
        CliRunner().invoke(make_app(), arguments, catch_exceptions=False)


class Clock:
    """A clock that advances only during work."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        self.now += seconds


def test_the_median_of_a_call_is_the_time_of_its_unit_of_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr("vms_ph_studies.benchmarks.timing.time", clock)
    cases = [
        Case("one", lambda: clock.work(1e-6)),
        Case("two", lambda: clock.work(2e-6)),
        Case("ten units", lambda: clock.work(1e-5), units=10),
        Case("longer than the whole budget", lambda: clock.work(1.0)),
    ]
    found = {timing.case.name: timing.median for timing in measure(cases, 0.5)}
    assert found == pytest.approx(
        {"one": 1e-6, "two": 2e-6, "ten units": 1e-6, "longer than the whole budget": 1.0}
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["everything"], "no benchmark 'everything'; there are dynamics"),
        ([], "no benchmark is given"),
        (["dynamics", "--base", "wheels"], "accepted: fixed, planar, floating"),
        (["dynamics", "--robot", "r2d2"], "there is no bundled robot 'r2d2'"),
    ],
)
def test_an_invalid_request_is_reported_in_one_sentence(
    arguments: list[str], sentence: str
) -> None:
    result = CliRunner().invoke(make_app(), ["bench", *arguments])
    assert isinstance(result.exception, VmsPhError)
    assert sentence in str(result.exception)


def test_batches_in_jax_report_rates_memory_and_rounding() -> None:
    pytest.importorskip("jax", reason="JAX is not installed (pip install 'vms-ph[jax]')")
    arguments = ["bench", "gpu", "--batch", "3", "--seconds", "0", "--json"]
    result = CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
    document = json.loads(result.stdout)
    ratios = {case["name"]: case["ratio"] for case in document["cases"]}
    for precision in ("float32", "float64"):
        assert ratios[f"rate: StandardForm, {precision}, 3"] == 1.0
        assert ratios[f"energies: DecoupledForm, {precision}, 3"] > 0.0
    assert "mujoco_warp" in document["note"]
    rates, errors = document["summary"].rsplit("\n", 1)
    assert re.search(r"DecoupledForm, float32, 3: compiled in .* s, .* B each, .* a second", rates)
    found = {name: float(error) for name, error in re.findall(r"(\w+: \w+) (\de-\d+)", errors)}
    # Single precision has a unit of 6e-8, which solving with the mass matrix multiplies.
    assert len(found) == 7
    assert all(1e-8 < error < 1e-3 for error in found.values())


def test_batches_without_jax_say_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    result = CliRunner().invoke(make_app(), ["bench", "gpu", "--seconds", "0"])
    assert isinstance(result.exception, VmsPhError)
    assert "needs the package jax: pip install 'vms-ph[jax]'" in str(result.exception)


def test_a_benchmark_without_batches_rejects_their_size() -> None:
    result = CliRunner().invoke(make_app(), ["bench", "dynamics", "--batch", "8"])
    assert "dynamics has no batches of other sizes" in str(result.exception)
