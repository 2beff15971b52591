# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Terms that are computed once, and checks of short vectors."""

import numpy as np
import pytest

from vms_ph_dynamics import Evaluation, VMSModel
from vms_ph_dynamics.arrays import cached_property, exceeds, is_finite


class Snapshot:
    def __init__(self) -> None:
        self.calls = 0

    @cached_property
    def term(self) -> float:
        """A term."""
        self.calls += 1
        return 2.0


def test_a_term_is_computed_once_in_each_snapshot() -> None:
    one, other = Snapshot(), Snapshot()
    assert (one.term, one.term, one.calls, other.calls) == (2.0, 2.0, 1, 0)


def test_the_class_of_a_snapshot_documents_its_terms() -> None:
    assert isinstance(Evaluation.M, cached_property)
    assert "[A (17)]" in str(Evaluation.M.__doc__)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_makes_a_vector_that_is_not(wrong: float) -> None:
    assert is_finite(np.array([1e200, -1e300, 0.0]))
    assert is_finite(np.zeros(0))
    for k in range(7):
        x = np.arange(7.0)
        x[k] = wrong
        assert not is_finite(x)
    assert not is_finite(np.array([np.inf, -np.inf]))


def test_a_vector_exceeds_its_bounds_beyond_them_only() -> None:
    bound = np.array([1.0, 2.0, np.inf])
    assert not exceeds(np.array([-1.0, 2.0, 1e300]), bound)
    assert exceeds(np.array([0.0, -2.0 - 1e-12, 0.0]), bound)
    assert not exceeds(np.full(3, np.nan), bound)
    assert not exceeds(np.zeros(0), np.zeros(0))


def test_an_error_inside_a_term_is_not_taken_for_a_missing_term(panda: VMSModel) -> None:
    class Broken(Evaluation):
        @property
        def half(self) -> float:
            return self.model.no_such_mass / 2  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="no_such_mass"):
        _ = Broken(panda, panda.home, np.zeros(7)).half
