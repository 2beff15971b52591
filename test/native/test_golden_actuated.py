# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The golden files of actuators that tilt, steer and spin hold what Python does today."""

import numpy as np
import pytest

from .golden_actuated import CASES, Case, file_of, recorded
from .golden_format import read

REMEDY = "if actuators were changed on purpose: cd test && python -m native.golden_actuated"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_golden_file_holds_what_the_simulation_in_python_does(case: Case) -> None:
    written, now = read(file_of(case)), recorded(case)
    assert [entry.key for entry in written] == [entry.key for entry in now], REMEDY
    for old, new in zip(written, now, strict=True):
        if old.key in ("robot", "actuators"):
            assert old.text == new.text, REMEDY
            continue
        # Twelve digits are in the file; what rounding grows to within the run is above them.
        np.testing.assert_allclose(new.numbers, old.numbers, rtol=1e-8, atol=1e-8, err_msg=REMEDY)
