# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""COVERAGE.md says what the code does."""

import importlib
import inspect
import json
import sys
from pathlib import Path

import pytest

from vms_ph_embedded.rclpy_names import MISSING_MODULES, MISSING_NAMES

sys.path.append(str(Path(__file__).parents[2] / "docs"))
import embedded_coverage as coverage

# The public names of rclpy by its documentation, by module and class.
RCLPY = json.loads((Path(__file__).parent / "golden" / "rclpy_names.json").read_text())


def test_the_file_is_up_to_date():
    assert coverage.FILE.read_text(encoding="utf-8") == coverage.report(), (
        "run: python docs/embedded_coverage.py"
    )


def is_there(holder, name):
    # What a constructor sets shows in its source only.
    init = getattr(holder, "__init__", None)
    in_constructor = inspect.isfunction(init) and f"self.{name} = " in inspect.getsource(init)
    return hasattr(holder, name) or in_constructor


@pytest.mark.parametrize("qualified_name", RCLPY)
def test_every_name_of_rclpy_is_either_there_or_called_missing(qualified_name):
    if any(f"{qualified_name}.".startswith(f"{module}.") for module in MISSING_MODULES.split()):
        with pytest.raises(ImportError, match="is not part of the embedded ROS runtime"):
            importlib.import_module(qualified_name)
        return
    module, _, cls = qualified_name.rpartition(".")
    if cls in MISSING_NAMES.get(module, "").split():
        with pytest.raises(AttributeError, match="is not part of the embedded ROS runtime"):
            getattr(importlib.import_module(module), cls)
        return
    if cls[:1].isupper():
        holder = getattr(importlib.import_module(module), cls)
    else:
        holder = importlib.import_module(qualified_name)
    missing = set(MISSING_NAMES.get(qualified_name, "").split())
    there = {name for name in RCLPY[qualified_name] if is_there(holder, name)}
    assert there == set(RCLPY[qualified_name]) - missing
    assert missing <= set(RCLPY[qualified_name])
