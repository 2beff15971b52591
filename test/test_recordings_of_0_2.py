# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bags, tables and sweeps that version 0.2 wrote are read with the numbers that it found."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from built_core import compiled  # noqa: F401
from typer.testing import CliRunner

from vms_ph_nodes.cli.app import make_app
from vms_ph_studies.sweeps import read_study
from vms_ph_studies.sweeps.evaluation import evaluate_points

AUDITS = {
    "panda": ["panda", "--robot", "panda"],
    "satellite_panda": ["satellite_panda", "--robot", "satellite_panda"],
    "satellite_panda.as_described": ["satellite_panda"],
    "borinot": ["borinot", "--robot", "borinot"],
    "panda_plain": ["panda_plain.csv", "--robot", "panda"],
    "panda_columns": [
        *("panda_columns.csv", "--columns", "panda_columns.yaml", "--robot", "panda"),
    ],
}


@pytest.fixture
def recordings(golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(golden / "recordings_0.2", tmp_path / "recordings")


def _run(folder: Path, *words: str) -> str:
    os.chdir(folder)
    done = CliRunner().invoke(make_app(), words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def _largest(numbers: Any) -> float:
    if isinstance(numbers, dict):
        numbers = list(numbers.values())
    if isinstance(numbers, list):
        return max(map(_largest, numbers), default=0.0)
    return abs(numbers) if isinstance(numbers, float) else 0.0


def _differences(before: Any, now: Any, tolerance: float, path: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in before.keys() | now.keys():
            pair = before.get(key, "absent"), now.get(key, "absent")
            yield from _differences(*pair, tolerance, f"{path}/{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for i, pair in enumerate(zip(before, now, strict=True)):
            yield from _differences(*pair, tolerance, f"{path}/{i}")
    elif isinstance(before, int | float) and isinstance(now, int | float):
        # When rounding errors are largest is of no meaning.
        if abs(before - now) > tolerance and path != "/largest_unaccounted/time":
            yield f"{path}: {before} is now {now}"
    elif before != now:
        yield f"{path}: {before} is now {now}"


@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_finds_the_energies_of_before(recordings: Path, name: str) -> None:
    text = (recordings / f"{name}.audit.json").read_text()
    # The frame of a wrench at the end effector has the name of the port, as live.
    before = json.loads(text.replace('"panda_link8"', '"wrench_end_effector"'))
    now = json.loads(_run(recordings, "audit", *AUDITS[name], "--json"))
    # How signals are judged, and what is said first, may become better.
    for document in (before, now):
        document.pop("conditioning")
        document.pop("answers", None)
    # What a document no longer says.
    before.pop("agreement", None)
    before["ledger"].pop("link", None)
    energies = {key: before[key] for key in ("gross", "ledger", "unaccounted")}
    # Energies are sums of some hundred terms of the size of the largest: rounding is below 1e-12.
    assert not list(_differences(before, now, 1e-9 * _largest(energies)))


@pytest.mark.parametrize("name", ["panda", "satellite_panda", "borinot"])
@pytest.mark.parametrize("command", ["report", "info"])
def test_a_bag_is_summed_up_as_before(recordings: Path, name: str, command: str) -> None:
    rounding = ("residual", "unaccounted")  # lines whose numbers are rounding errors

    words = {
        "torque": "joint torques",
        "wrench_end_effector": "end effector",
        "wrench_base": "base",
        "friction": "friction and drag",
    }

    def lines(text: str) -> list[list[str]]:
        kept = [line for line in text.splitlines() if not any(word in line for word in rounding)]
        return [line.split() for line in kept]

    before = (recordings / f"{name}.{command}.txt").read_text()
    if command == "report":  # ports had the names of their messages
        for port, word in words.items():
            before = re.sub(rf"\b{port}\b", word, before)
    assert lines(_run(recordings, "bag", command, name)) == lines(before)


def test_a_sweep_of_before_is_complete_and_computed_anew_the_same(recordings: Path) -> None:
    folder = recordings / "sweep"
    words = "sweep", "panda_push_small.yaml", "--out", "results", "--workers", "1", "--json"
    table = (folder / "results/results.parquet").read_bytes()
    summary = json.loads(_run(folder, *words, "--keep"))
    assert (summary["total"], summary["done"], summary["missing"]) == (12, 12, 0)
    assert (folder / "results/results.parquet").read_bytes() == table
    rows = map(json.loads, (folder / "results/points.jsonl").read_text().splitlines())
    before = {row["point"]: row["results"] for row in rows if "point" in row}
    study = read_study(folder / "panda_push_small.yaml")
    # The first run and the last.
    for record in evaluate_points(study.target, study.points[::11]):
        assert not list(_differences(before[record.point], dict(record.results), 1e-9))
