# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What users import from the top of the packages."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import vms_ph_dynamics
import vms_ph_io


@pytest.mark.parametrize("name", vms_ph_dynamics.__all__)
def test_a_public_name_can_be_imported_and_is_shown(name: str) -> None:
    # An alias of types has the name of what it stands for.
    assert getattr(vms_ph_dynamics, name).__name__ == name or name == "Array"
    assert name in dir(vms_ph_dynamics)


def test_type_checkers_see_the_public_names() -> None:
    tree = ast.parse(Path(inspect.getfile(vms_ph_dynamics)).read_text())
    seen = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    assert seen == set(vms_ph_dynamics.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'VMSModell'"):
        vms_ph_dynamics.VMSModell  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'robot'"):
        vms_ph_io.robot  # noqa: B018


@pytest.mark.parametrize(
    "program",
    [
        "import vms_ph_io; assert vms_ph_io.robots.names()",
        "from vms_ph_io import load_urdf, robots; assert robots.names()",
        "import vms_ph_io; assert {'robots', 'load_urdf'} <= set(dir(vms_ph_io))",
        "import sys, vms_ph_dynamics as v; v.StateError; assert 'pinocchio' not in sys.modules",
    ],
)
def test_a_fresh_interpreter_finds(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)
