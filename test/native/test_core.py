# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The tests of the C++ core by itself, and the golden data they read."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from .golden_task_space import END_EFFECTORS, FOLDER, panda_urdf, record


def ctest(folder: Path, *which: str) -> str:
    """Run the tests of a build and return what they print."""
    done = subprocess.run(
        [Path(sys.executable).with_name("ctest"), "--verbose", *which],
        cwd=folder,
        env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    return done.stdout


@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_the_core_passes_its_own_tests_and_no_update_takes_memory(
    native_folder: Path, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if times > 1:
        monkeypatch.setenv("VMS_PH_CAMPAIGN", "1")
    said = ctest(native_folder, "-E", "^python_host[.]")
    for arm in END_EFFECTORS:
        assert f"task_space_{arm}.txt: " in said
        assert f"{arm}.urdf: 0 in {10_000 * times} updates" in said
    for file in sorted(FOLDER.glob("base_law-*.txt")):
        assert f"{file.name}: 0 in {1000 * times} updates" in said


# What the host of Python objects has by itself: the fallback is linked to the core.
HOST = ("-R", "^python_host[.]", "-E", "fallback")


def test_the_host_passes_its_own_tests_with_the_sanitizers_on(
    sanitized_host_folder: Path,
) -> None:
    assert "100% tests passed out of 6" in ctest(sanitized_host_folder, *HOST)


@pytest.mark.slow  # it is compiled for two minutes
def test_the_core_passes_its_own_tests_with_the_sanitizers_on(
    sanitized_folder: Path,
) -> None:
    assert "100% tests passed" in ctest(sanitized_folder)


@pytest.mark.parametrize("arm", END_EFFECTORS)
def test_the_golden_data_are_what_the_python_law_says_today(arm: str) -> None:
    golden = (FOLDER / f"task_space_{arm}.txt").read_text().splitlines()
    today = record(arm)
    assert len(golden) == len(today)
    for was, now in zip(golden, today, strict=True):
        word, *old = was.split()
        again, *new = now.split()
        assert word == again
        if was.startswith("reason near a singularity"):
            old, new = old[:-1], new[:-1]  # the singular value is compared by itself
        if word in ("robot", "scenario", "gain", "status", "reason") or old == ["-"]:
            assert old == new
            continue
        # What other processors and versions of numpy round differently.
        np.testing.assert_allclose(
            np.array(new, dtype=float), np.array(old, dtype=float), rtol=1e-10, atol=1e-10
        )


def test_the_code_of_the_page_about_the_core_runs(
    native: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[2] / "docs" / "native.md"
    said = {}
    for block in re.findall(r"^```py\n(.*?)^```", page.read_text(), re.M | re.S):
        exec(compile(block, str(page), "exec"), said)
    assert capsys.readouterr().out.endswith(" {}\n")  # no run of the batch has failed


def test_the_golden_panda_is_the_bundled_one() -> None:
    written = (FOLDER / "panda.urdf").read_text()
    assert ET.canonicalize(written) == ET.canonicalize(panda_urdf())
