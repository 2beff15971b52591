# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The golden files of laws of moving bases hold what the Python controllers give today."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import Command, Controller, Reference, RobotState
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.laws.payload_compensation import PayloadCompensation
from vms_ph_controllers.observers import Payload
from vms_ph_dynamics import Allocation, Rotor, StateError, VMSModel
from vms_ph_dynamics.nonholonomic import NonholonomicForm, WheelConstraint

from .golden_base_laws import PARTS, expected
from .golden_format import FOLDER, Line, read

FILES = sorted(FOLDER.glob("base_law-*.txt"))
REMEDY = "if the law was changed on purpose: cd test && python -m native.golden_base_laws"


class Given(Allocation):
    """An allocation of which only the matrix and the limits are known."""

    def __init__(self, matrix: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        up = np.array([0.0, 0.0, 1.0])
        super().__init__([Rotor(up, up)])
        self.matrix, self.lower, self.upper = matrix, lower, upper


def law_of(lines: list[Line]) -> Any:
    first = {entry.key: entry for entry in reversed(lines)}
    urdf, base, end_effector = first["robot"].text.split()
    xml = (FOLDER / urdf).read_text()
    gravity = first["gravity"].numbers
    model = VMSModel.from_urdf(xml, base, end_effector, gravity)  # type: ignore[arg-type]
    allocation = None
    if "rotors" in first:
        rows = [entry.numbers for entry in lines if entry.key == "rotors"]
        allocation = Given(np.array(rows), first["lower"].numbers, first["upper"].numbers)
    wheels = [entry.text.split() for entry in lines if entry.key == "wheel"]
    law = first["law"].text
    if wheels:
        constraints = [WheelConstraint(model, joint, float(radius)) for joint, radius in wheels]
        return make_controller(law, model, form=NonholonomicForm(model, constraints))
    made = make_controller(law, model, allocation, bool(first["base_actuated"].numbers[0]))
    if "payload_rate" in first:
        return PayloadCompensation(made, float(first["payload_rate"].numbers[0]))
    return made


def resets(law: Controller, q: np.ndarray) -> bool:
    try:
        law.reset(RobotState(q, np.zeros(law.model.nv)))
    except StateError:
        return False
    return True


def assert_same(written: list[Line], told: Command) -> None:
    for old, new in zip(written, expected(told), strict=True):
        assert old.key == new.key
        if old.key in ("status", "reason"):
            assert old.text == new.text, REMEDY
            continue
        # What other processors and versions of numpy round differently, and twelve digits.
        np.testing.assert_allclose(
            new.numbers, old.numbers, rtol=1e-10, atol=1e-10, err_msg=f"{old.key}: {REMEDY}"
        )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_golden_file_holds_what_the_python_controller_gives(file: Path) -> None:
    lines = read(file)
    law = law_of(lines)
    told = expected(law.update(RobotState(np.zeros(0), np.zeros(0)), Reference(), 0.0))
    count, updates = len(told), 0
    given: dict[str, np.ndarray] = {}
    for i, entry in enumerate(lines):
        if entry.key == "gain":
            name, value = entry.text.split()
            law.gains = replace(law.gains, **{name: float(value)})
        elif entry.key == "payload":
            mass, deviation = entry.numbers[[0, -1]].tolist()
            covariance = np.diag([deviation**2, 0.0, 0.0, 0.0])
            law.carry(Payload(mass, entry.numbers[1:4], covariance, False))
        elif entry.key == "reset":
            assert resets(law, entry.numbers) == bool(lines[i + 1].numbers[0])
        elif entry.key in ("q", "v", "measured_wrench", *PARTS):
            given[entry.key] = entry.numbers
        elif entry.key == "dt":
            q, v, pose = given.pop("q"), given.pop("v"), given.pop("pose", None)
            pose = None if pose is None else pose.reshape(4, 4)
            state = RobotState(q, v, wrench=given.pop("measured_wrench", None))
            reference = Reference(pose=pose, **given)
            given = {}
            command = law.update(state, reference, float(entry.numbers[0]))
            assert_same(lines[i + 1 : i + 1 + count], command)
            updates += 1
    assert updates > 50


def test_there_are_golden_files_of_all_bases() -> None:
    bases = {read(file)[0].text.split()[1] for file in FILES}
    assert bases == {"fixed", "planar", "floating"}
