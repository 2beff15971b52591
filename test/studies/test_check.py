# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A check states the origin of its reference; published is what a source prints."""

import pytest

from vms_ph_studies.check import (
    ORIGINS,
    Origin,
    bounded,
    compared,
    refuted_unless,
    required,
    stated,
)


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_reference_stands_under_its_origin_and_nowhere_else(origin: Origin) -> None:
    document = compared("mass", 2.0, 2.1, 0.2, "kg", origin=origin).document()
    assert {key: document[key] for key in ORIGINS} == {
        key: 2.0 if key == origin else None for key in ORIGINS
    }
    assert document["verdict"] == "agrees"


def test_a_zero_error_is_a_bound_and_not_a_published_number() -> None:
    document = bounded("energy", 1e-3, 1e-6, "J").document()
    assert document["published"] is None
    assert document["bound"] == 0.0
    assert document["verdict"] == "differs"
    assert required("multiplier", "below 1", "1.2", False).document()["bound"] == "below 1"


def test_a_published_statement_is_refuted_with_a_reason_or_agrees_without_one() -> None:
    wrong = refuted_unless(False, "(1)", "+", "-", "the sign is wrong")
    assert (wrong.verdict, wrong.why, wrong.origin) == (
        "refuted", "the sign is wrong", "published",
    )  # fmt: skip
    right = refuted_unless(True, "(1)", "+", "+", "the sign is wrong")
    assert (right.verdict, right.why) == ("agrees", "")
    assert stated("gait", "stable", "falls", False).verdict == "differs"


@pytest.mark.parametrize("obtained", [float("nan"), float("inf"), 3.0])
def test_a_number_outside_the_tolerance_differs(obtained: float) -> None:
    assert compared("mass", 2.0, obtained, 0.2).verdict == "differs"
