# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Studies that hold a minimum give the same motion with the law in C++ as with that in Python."""

from types import ModuleType

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_studies.reproduce.califano import figure_2


@pytest.mark.parametrize("held", [False, True])
def test_a_push_moves_the_arm_alike_with_the_law_in_either_language(
    native: ModuleType, panda: VMSModel, held: bool
) -> None:
    defaults = {name: p.default for name, p in figure_2.STUDY.parameters.items()}
    settings = {**defaults, "seconds": 0.1}
    compiled, python = (
        figure_2.simulate(panda, "q1", settings, 30.0, held, native=choice)
        for choice in (True, False)
    )
    # The twins agree to rounding; 100 steps of a stable motion add up no more.
    np.testing.assert_allclose(compiled.displacement, python.displacement, rtol=0, atol=1e-12)
    np.testing.assert_allclose(compiled.total, python.total, rtol=0, atol=1e-12)
    np.testing.assert_allclose(compiled.dissipated, python.dissipated, rtol=0, atol=1e-12)
