# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph bench native: laws in C++ beside those in Python; no time is asserted."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_io import robots
from vms_ph_nodes.cli.app import make_app
from vms_ph_studies.benchmarks import native as bench


@pytest.fixture(scope="module", autouse=True)
def _each_program_runs_once() -> Iterator[None]:
    """With the same arguments, but for the file of the robot."""
    printed: dict[tuple[object, ...], list[str]] = {}
    run = bench.program_output

    def remembered(program: Path, *arguments: object) -> list[str]:
        key = (program.name, *map(str, arguments[1:]))
        if key not in printed:
            printed[key] = run(program, *arguments)
        return printed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "_UPDATES", 200)
        patch.setattr(bench, "program_output", remembered)
        yield


def test_single_updates_are_timed_in_both_languages_with_their_tails(native_folder: Path) -> None:
    arguments = ["bench", "native", "--seconds", "0", "--json"]
    result = CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
    document = json.loads(result.output)
    cases = {case["name"]: case for case in document["cases"]}
    assert cases[document["reference"]]["ratio"] == 1.0
    fast = cases["TaskSpaceIDAPBC in C++, all features"]
    assert fast["calls"] == 200
    assert fast["p99_limit"] == pytest.approx(100e-6)
    hosted = [case for name, case in cases.items() if name.startswith("the law hosted, ordinary")]
    assert [case["calls"] for case in hosted] == [200]
    for case in cases.values():
        assert 0.0 < case["median"] <= case["p99"] <= case["p999"] <= case["worst"]


def test_the_table_shows_the_tails(native_folder: Path) -> None:
    arguments = ["bench", "native", "--seconds", "0"]
    result = CliRunner().invoke(
        make_app(), arguments, catch_exceptions=False, env={"COLUMNS": "160"}
    )
    for word in ("p99.9", "longest", "the law in Python, moving reference"):
        assert word in result.output


@pytest.mark.parametrize(
    "robot", [pytest.param("omnidirectional_panda", marks=pytest.mark.slow), "hextilt"]
)
def test_robots_on_moving_bases_are_timed_too(
    robot: str, native_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "_PRIORITY", 0)  # the host runs once
    base = robots.load(robot).base
    arguments = ["bench", "native", "--robot", robot, "--base", base, "--seconds", "0", "--json"]
    result = CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
    names = {case["name"] for case in json.loads(result.output)["cases"]}
    assert "DecoupledVMSController in C++, all features" in names
