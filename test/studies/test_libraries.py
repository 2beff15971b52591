# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Benchmarks against other libraries, and the page of their tables."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_nodes.cli.app import make_app
from vms_ph_studies.benchmarks import libraries
from vms_ph_studies.benchmarks.calls import JOINT_COUNTS, serial_arm
from vms_ph_studies.benchmarks.page import updated_page


def test_libraries_that_compute_the_same_accelerations_are_compared() -> None:
    found, absent = libraries.available_libraries(libraries.problem_of("panda", "floating"))
    names = [contender.name for contender in found]
    assert names[:4] == ["Pinocchio", "vms_ph", "vms_ph in CasADi", "MuJoCo"]
    # Whatever else there is was compared with Pinocchio, or is named with a reason.
    assert len(found) + len(absent) == len(libraries.LIBRARIES)
    assert set(libraries.QUANTITIES) == {quantity for c in found for quantity in c.calls}
    for contender in found:
        for calls in contender.calls.values():
            for call in calls.values():
                call()


@pytest.mark.parametrize("base", ["fixed", "planar"])
def test_the_other_bases_are_compared_with_those_that_have_them(base: str) -> None:
    found, _ = libraries.available_libraries(libraries.problem_of("panda", base))
    assert {"Pinocchio", "vms_ph", "MuJoCo"} <= {contender.name for contender in found}


def test_a_library_that_is_missing_is_skipped_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("vms_ph_dynamics.export.casadi")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "casadi", None)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    found, absent = libraries.available_libraries(libraries.problem_of("panda", "fixed"))
    assert "MuJoCo is not installed (pip install mujoco)" in absent
    assert "CasADi is not installed (pip install 'vms-ph[casadi]')" in absent
    assert not {"MuJoCo", "vms_ph in CasADi"} & {contender.name for contender in found}
    printed = CliRunner().invoke(make_app(), ["bench", "libraries", "--seconds", "0"]).output
    assert "vms-ph[casadi]" in printed.replace("\n", "")  # the console takes it for no markup


def test_a_library_with_another_robot_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    pinocchio = libraries.LIBRARIES[0]

    def heavier(problem: libraries.Problem) -> libraries.Contender:
        found = pinocchio(problem)
        accelerations = 1.01 * found.joint_accelerations()
        return replace(found, name="heavier", joint_accelerations=lambda: accelerations)

    monkeypatch.setattr(libraries, "LIBRARIES", (pinocchio, heavier))
    found, absent = libraries.available_libraries(libraries.problem_of("panda", "fixed"))
    assert [contender.name for contender in found] == ["Pinocchio"]
    assert [reason.startswith("heavier computes other accelerations") for reason in absent]


def test_a_robot_in_a_fluid_is_not_compared() -> None:
    with pytest.raises(VmsPhError, match="bluerov2_alpha5 is in a fluid"):
        libraries.problem_of("bluerov2_alpha5", "floating")


def test_the_growth_is_that_of_serial_arms() -> None:
    assert (JOINT_COUNTS[0], JOINT_COUNTS[-1]) == (1, 60)
    arm = serial_arm(60, "planar")
    assert (arm.n, arm.b, arm.end_effector) == (60, 3, "tip")
    arguments = ["bench", "growth", "--robot", "panda", "--seconds", "0"]
    with pytest.raises(VmsPhError, match="serial arms; omit --robot panda"):
        CliRunner().invoke(make_app(), arguments, catch_exceptions=False)


def test_one_command_writes_a_dated_table_and_keeps_the_others(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(updated_page("", {"dynamics": "## Old\n", "growth": "## Growth of old\n"}))
    arguments = ["bench", "dynamics", "--seconds", "0", "--page", str(page)]
    CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
    text = page.read_text()
    assert text.startswith("# Benchmarks\n")
    assert "## Growth of old" in text
    assert "## Old" not in text
    assert re.search(r"^\d{4}-\d\d-\d\d, .+ cores; Python 3", text, re.M)
    assert re.search(r"^\| .+ \| [\d.]+ \| 1 \|", text, re.M)
    assert text.index("<!-- dynamics -->") < text.index("<!-- growth -->")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--page", "page.md", "--robot", "panda"], "omit --robot, or name a benchmark"),
        (["dynamics", "--page", "page.md", "--json"], "omit --out and --json"),
        (["dynamics", "--seconds", "0", "--page", "/nowhere/page.md"], "cannot write the page"),
    ],
)
def test_a_page_that_cannot_be_written_is_reported(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(make_app(), ["bench", *arguments])
    assert isinstance(result.exception, VmsPhError)
    assert sentence in str(result.exception)
