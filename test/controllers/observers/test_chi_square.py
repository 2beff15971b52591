# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Quantiles against a library of statistics."""

import pytest

from vms_ph_controllers.observers.noise import chi_square_quantile, chi_square_tail


@pytest.mark.parametrize("dimension", [1, 3, 7, 13, 40])
@pytest.mark.parametrize("tail", [0.5, 1e-2, 1e-6, 1e-12])
def test_a_quantile_is_that_of_the_chi_square_distribution(dimension: int, tail: float) -> None:
    from scipy.stats import chi2

    value = chi_square_quantile(tail, dimension)
    assert value == pytest.approx(chi2.isf(tail, dimension), rel=1e-9)
    assert chi_square_tail(value, dimension) == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize("value", [-1.0, 0.0])
def test_what_is_never_negative_exceeds_zero_for_certain(value: float) -> None:
    assert chi_square_tail(value, 3) == 1.0
