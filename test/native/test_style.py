# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ follows .clang-format and .clang-tidy."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path for room in ("native", "ros2_control") for path in (ROOT / room).rglob("*.[ch]pp")
)
# Each takes many seconds: these stand for laws, integrators, the Python host and the model.
EXAMPLES = ("laws", "output_stage", "energy_tank", "integrators/stepper", "model", "worker")


def tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def test_clang_format_finds_nothing_to_change() -> None:
    found = subprocess.run(
        [tool("clang-format"), "--dry-run", *SOURCES], capture_output=True, text=True, cwd=ROOT
    )
    assert not found.stderr, "run clang-format -i on:\n" + found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_clang_tidy_finds_nothing(name: str, native_folder: Path, tmp_path: Path) -> None:
    source = ROOT / "native/src" / f"{name}.cpp"
    entries = json.loads((native_folder / "compile_commands.json").read_text())
    # By itself, or as all files of the core are, which are compiled in groups.
    alone = [e for e in entries if e["file"] == os.fspath(source)]
    entry = (alone or [e for e in entries if "/vms_ph_native.dir/" in e["output"]])[0]
    command = entry["command"].replace(entry["file"], os.fspath(source))
    words, kept = command.split(), []
    for word in words:
        # What clang knows by no or another name, or brings a header for that is not installed.
        if word in ("-fopenmp", "-Wno-subobject-linkage"):
            continue
        # The precompiled header is that of another compiler.
        if word.endswith(("cmake_pch.hxx", "-Winvalid-pch")):
            if kept[-1] == "-include":
                kept.pop()
            continue
        kept.append(word)
    (tmp_path / "compile_commands.json").write_text(
        json.dumps([{**entry, "file": os.fspath(source), "command": " ".join(kept)}])
    )
    found = subprocess.run(
        [tool("clang-tidy"), "-p", tmp_path, "--quiet", source], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout + found.stderr
