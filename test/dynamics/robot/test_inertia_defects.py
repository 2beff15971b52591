# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Defects of single inertias, and the nearest inertia that a body can have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics.robot.inertia import defect_of, is_rounding, nearest_inertia

ENTRIES = st.lists(st.floats(-1.0, 1.0), min_size=9, max_size=9)


def pseudo_inertia(mass: float, rotational: np.ndarray) -> np.ndarray:
    """Second moments of the mass about its centre, and the mass."""
    whole = np.zeros((4, 4))
    whole[:3, :3] = 0.5 * np.trace(rotational) * np.eye(3) - rotational
    whole[3, 3] = mass
    return whole


@pytest.mark.parametrize(
    ("mass", "moments", "kind", "excess"),
    [
        (-2.0, (1.0, 1.0, 1.0), "negative mass", 2.0),
        (0.0, (0.1, 0.1, 0.3), "massless inertia", 0.3),
        (1.0, (-0.1, 1.0, 1.0), "negative moment", 0.1),
        (1.0, (0.0, 0.0, 0.002), "triangle", 0.002),
        (1.0, (1.0, 1.0, 5.0), "triangle", 3.0),
    ],
)
def test_a_defect_has_a_kind_and_a_size(
    mass: float, moments: tuple[float, ...], kind: str, excess: float
) -> None:
    found = defect_of(mass, np.diag(moments))
    assert found is not None
    assert found.kind == kind
    assert found.excess == pytest.approx(excess)


@pytest.mark.parametrize(
    ("mass", "moments"),
    [
        (0.0, (0.0, 0.0, 0.0)),  # a frame
        (1.0, (0.0, 0.0, 0.0)),  # a point
        (1.0, (0.0, 0.3, 0.3)),  # a rod
        (1.0, (0.1, 0.2, 0.3)),  # a plate
        (1e-8, (1e-30, 3e-8, 3e-8)),
    ],
)
def test_points_rods_and_plates_have_no_defect(mass: float, moments: tuple[float, ...]) -> None:
    assert defect_of(mass, np.diag(moments)) is None
    np.testing.assert_array_equal(
        nearest_inertia(mass, np.diag(moments)).inertia.diagonal(), moments
    )


def test_few_digits_and_computed_zeros_are_rounding_but_a_needed_moment_is_not() -> None:
    for mass, moments, expected in (
        (1.0, (0.333, 0.667, 1.001), True),  # digits
        (0.268, (-1.4e-20, 0.0, 1.4e-20), True),  # zeros
        (1e-8, (-2e-22, 8e-23, 3e-6), False),
        (1.0, (-1e-4, 1.0, 1.0), False),  # a joint about this axis would have negative inertia
    ):
        found = defect_of(mass, np.diag(moments))
        assert found is not None
        assert is_rounding(found, mass, np.diag(moments)) is expected


@settings(max_examples=30, deadline=None)
@given(ENTRIES, st.floats(1e-8, 1e3))
def test_the_nearest_inertia_is_the_projection_on_positive_pseudo_inertias(
    entries: list[float], mass: float
) -> None:
    # The variational inequality of a projection on a convex cone, with random members of it: no
    # admissible inertia is nearer.
    given_inertia = np.array(entries).reshape(3, 3)
    symmetric = 0.5 * (given_inertia + given_inertia.T)
    kept, nearest = nearest_inertia(mass, given_inertia)
    assert kept == mass
    found = pseudo_inertia(mass, nearest)
    assert np.linalg.eigvalsh(found)[0] >= -1e-14
    np.testing.assert_array_equal(nearest, nearest.T)
    normal = pseudo_inertia(mass, symmetric) - found
    assert abs(np.sum(normal * found)) < 1e-13 * (1.0 + mass)
    rng = np.random.default_rng(3)
    for _ in range(20):
        factor = rng.normal(size=(3, 3))
        other = pseudo_inertia(mass, nearest)
        other[:3, :3] = factor @ factor.T
        assert np.sum(normal * (other - found)) <= 1e-12


def test_a_physical_inertia_is_its_own_nearest_one_to_the_last_bit() -> None:
    rng = np.random.default_rng(4)
    for _ in range(100):
        points = rng.normal(size=(5, 3))
        inertia = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)
        assert defect_of(1.0, inertia) is None
        np.testing.assert_array_equal(
            nearest_inertia(1.0, inertia).inertia, 0.5 * (inertia + inertia.T)
        )


def test_without_mass_there_is_no_rotational_inertia() -> None:
    for mass in (0.0, -1.0):
        assert nearest_inertia(mass, np.eye(3)).mass == 0.0
        assert not nearest_inertia(mass, np.eye(3)).inertia.any()


def test_a_billionth_of_the_largest_moment_is_arithmetic_and_no_more() -> None:
    for excess, kind in ((0.5e-9, None), (1.5e-9, "triangle")):
        found = defect_of(1.0, np.diag([0.5, 0.5, 1.0 + excess]))
        assert (found and found.kind) == kind
