# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy record of a controller has the same fields in both languages and in the message."""

import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

from vms_ph_controllers import ControlEnergy

RECORD = tuple(field.name for field in fields(ControlEnergy))
MESSAGE = Path(__file__).parents[2] / "msg" / "ControllerState.msg"


def test_the_energy_record_has_the_same_fields_in_python_and_in_cpp(native: ModuleType) -> None:
    assert native.ControlEnergy.fields == RECORD


def test_the_controller_state_message_carries_the_energy_record_in_its_order() -> None:
    numbers = re.findall(r"^float64 (\w+)", MESSAGE.read_text(), flags=re.MULTILINE)
    assert tuple(numbers[: len(RECORD)]) == RECORD
    assert numbers[len(RECORD) :] == ["authority", "task_error", "smallest_singular_value"]
