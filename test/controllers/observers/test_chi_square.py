# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Quantiles against a library of statistics."""

import pytest
from scipy.stats import chi2

from vms_ph_controllers.observers.chi_square import chi_square_quantile, chi_square_tail


@pytest.mark.parametrize("dimension", [1, 3, 7, 13, 40])
@pytest.mark.parametrize("tail", [0.5, 1e-2, 1e-6, 1e-12])
def test_a_quantile_is_that_of_the_chi_square_distribution(dimension: int, tail: float) -> None:
    value = chi_square_quantile(tail, dimension)
    assert value == pytest.approx(chi2.isf(tail, dimension), rel=1e-9)
    assert chi_square_tail(value, dimension) == pytest.approx(tail, rel=1e-9)
