# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What ROS 2 Jazzy made of many launch files (jazzy/record.py), against what this launcher does."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from jazzy.launch_cases import cases
from launch_support.comparison import JAZZY, difference, listing_difference, ours

ANSWERS: dict[str, Any] = json.loads((JAZZY / "answers.json").read_text())
CASES = {case.name: case for case in cases()}
SUBJECTS = Counter(case.subject for case in CASES.values())

# Accepted by ROS 2 and refused here, where the message says what to write instead: what ROS 2
# hands over changed, what it takes for something else than it says, and Python beyond arithmetic.
STRICTER = set(yaml.safe_load((JAZZY / "stricter.yaml").read_text()))

# Text marked as text that ROS 2 nevertheless hands over as a number or a truth value. Here it
# stays text.
MARKED_AS_TEXT = {
    f"param {kind} {value!r}"
    for kind, value in (*(("str", v) for v in ("y", "n", "1e3", "1e-6", "nan", "$(var tiny)")),)
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T_HERE", str(JAZZY / "files"))
    monkeypatch.delenv("OVERRIDE_LAUNCH_PROCESS_OUTPUT", raising=False)


def fail_with(differences: dict[str, str | None]) -> None:
    """Fail with every case that differs, by its name."""
    named = [f"{name}: {said}" for name, said in differences.items() if said is not None]
    if named:
        pytest.fail(
            f"{len(named)} of {len(differences)} differ\n" + "\n".join(named), pytrace=False
        )


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_launch_file_means_what_it_means_to_ros2(subject: str, tmp_path: Path) -> None:
    chosen = [case for case in CASES.values() if case.subject == subject]
    compared = {
        case.name: difference(case, ANSWERS[case.name], tmp_path)
        for case in chosen
        if case.name not in STRICTER | MARKED_AS_TEXT
    }
    exceptions = sum(case.name in STRICTER | MARKED_AS_TEXT for case in chosen)
    assert len(compared) + exceptions == SUBJECTS[subject] > 0
    fail_with(compared)


def test_what_ros2_would_change_on_the_way_is_refused(tmp_path: Path) -> None:
    assert len(STRICTER) == 8
    assert [name for name in STRICTER if ANSWERS[name] is None] == []
    assert [name for name in STRICTER if ours(CASES[name], tmp_path) is not None] == []


def test_text_marked_as_text_stays_text(tmp_path: Path) -> None:
    assert len(MARKED_AS_TEXT) == 6
    types = {}
    for name in sorted(MARKED_AS_TEXT):
        (step,) = ours(CASES[name], tmp_path) or [{"parameters": {"p": ["refused"]}}]
        types[name] = step["parameters"]["p"][0]
    assert {name: kind for name, kind in types.items() if not kind.startswith("STRING")} == {}


def test_every_recorded_case_is_compared() -> None:
    assert ANSWERS.keys() == CASES.keys()
    assert SUBJECTS.total() == len(CASES) == len(list(cases())) == 657
    accepted = sum(answer is not None for answer in ANSWERS.values())
    assert accepted == 301  # a recording that refuses everything would prove nothing


def test_the_listing_of_arguments_reads_like_that_of_ros2(tmp_path: Path) -> None:
    listings = {
        name: answer["show_args"]
        for name, answer in ANSWERS.items()
        if answer is not None and answer["show_args"]
    }
    compared = {
        name: listing_difference(CASES[name], listing, tmp_path)
        for name, listing in listings.items()
    }
    assert len(compared) == 218
    fail_with(compared)
