"""vms-ph bench native: laws in C++ beside those in Python; no time is asserted."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_nodes.bench import native as bench
from vms_ph_nodes.cli.app import make_app


def test_single_updates_are_timed_in_both_languages_with_their_tails(
    native_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "_UPDATES", 1000)
    arguments = ["bench", "native", "--seconds", "0", "--json"]
    result = CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
    document = json.loads(result.output)
    cases = {case["name"]: case for case in document["cases"]}
    assert cases[document["reference"]]["ratio"] == 1.0
    fast = cases["TaskSpaceIDAPBC in C++, all features"]
    assert fast["calls"] == 1000
    assert fast["p99_limit"] == pytest.approx(100e-6)
    for case in cases.values():
        assert 0.0 < case["median"] <= case["p99"] <= case["p999"] <= case["worst"]


def test_the_table_shows_the_tails(native_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_UPDATES", 100)
    arguments = ["bench", "native", "--seconds", "0"]
    result = CliRunner().invoke(
        make_app(), arguments, catch_exceptions=False, env={"COLUMNS": "160"}
    )
    for word in ("p99.9", "longest", "the law in Python, moving reference"):
        assert word in result.output


def test_a_robot_that_no_law_in_the_core_is_for_is_told(native_folder: Path) -> None:
    arguments = ["bench", "native", "--base", "floating"]
    result = CliRunner().invoke(make_app(), arguments)
    assert isinstance(result.exception, VmsPhError)
    assert "no law in C++ is for a robot on a floating base" in str(result.exception)
