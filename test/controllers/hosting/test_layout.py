# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The layout of the arrays that a hosted controller shares with C++."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from vms_ph_controllers import ControlEnergy, Reference
from vms_ph_controllers.hosting.hosted_controller import ENERGIES, Layout, layouts

HOST = Path(__file__).parents[3] / "native/src/python_controller.cpp"
INPUTS, FLAGS, OUTPUTS = LAYOUTS = list(layouts(6, 7, 14, 13).values())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_parts_fill_the_array_without_gap_or_overlap(layout: Layout) -> None:
    counted = np.zeros(layout.size, dtype=int)
    for name, (start, size) in layout.parts().items():
        counted[layout[name]] += 1
        assert layout[name] == slice(start, start + size)
    assert (counted == 1).all()


def test_every_part_of_a_reference_has_numbers_and_a_flag() -> None:
    parts = [field.name for field in fields(Reference)]
    assert list(INPUTS.parts()) == ["q", "v", "dt", "age", "measured_wrench", *parts]
    assert list(FLAGS.parts()) == [*parts, "missed_updates"]


def test_the_energies_are_the_fields_of_the_energy_record() -> None:
    assert tuple(field.name for field in fields(ControlEnergy)) == ENERGIES
    assert OUTPUTS.parts()["energy"][1] == len(ENERGIES)


def test_the_host_in_cpp_reads_every_part_by_its_name() -> None:
    read = re.findall(r'\bslot\("(\w+)"', HOST.read_text())
    assert read == [name for layout in LAYOUTS for name in layout.parts()]
