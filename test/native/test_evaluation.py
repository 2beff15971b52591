# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The terms of the equations of motion are the same in both languages."""

from types import ModuleType

import numpy as np
import pytest

from vms_ph_dynamics import Array, VMSModel
from vms_ph_io import robots

from .conftest import native_model

# Those in vacuum.
ROBOTS = [name for name in robots.names() if name != "bluerov2_alpha5"]
TERMS = ("M", "M_b_inverse", "A", "M_hat_m", "C", "g", "momentum", "kinetic_energy")

# Both call the same Pinocchio; what differs is the order of a few sums.
_ROUNDING = 1e-12


def assert_same(ours: object, theirs: object, size: float = 0.0) -> None:
    """Compare, relative to the size of the quantity."""
    expected = np.asarray(theirs, dtype=float)
    scale = max(1.0, size, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(np.asarray(ours), expected, rtol=0.0, atol=_ROUNDING * scale)


def states(model: VMSModel, rng: np.random.Generator, far: float) -> list[tuple[Array, Array]]:
    found = []
    for _ in range(20):
        q = model.random_configuration(rng)
        q[: {"fixed": 0, "planar": 2, "floating": 3}[model.base]] *= far
        found.append((q, rng.uniform(-2.0, 2.0, model.nv)))
    return found


@pytest.mark.parametrize("far", [1.0, 1e4])
@pytest.mark.parametrize("name", ROBOTS)
def test_every_term_is_that_of_python_even_ten_kilometres_away(
    native: ModuleType, parity: ModuleType, name: str, far: float, rng: np.random.Generator
) -> None:
    compare_terms(native, parity, robots.load(name), far, rng)


def test_a_base_that_is_mounted_turned_falls_along_its_own_axes(
    native: ModuleType, parity: ModuleType, rng: np.random.Generator
) -> None:
    """Its positions count along axes that are not those of the inertial frame."""
    known = robots.get("satellite_panda")
    whole = known.load().pinocchio
    placement = whole.jointPlacements[1].copy()
    placement.rotation = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    placement.translation = np.array([1.0, -2.0, 0.5])
    whole.jointPlacements[1] = placement
    whole.gravity.linear = np.array([0.0, 0.0, -9.81])
    model = VMSModel.from_pinocchio(whole, known.end_effector)
    assert abs(model.base_gravity[1]) > 9.0
    *_, gravity = parity.limits(native_model(native, model))
    np.testing.assert_array_equal(gravity, model.base_gravity)
    compare_terms(native, parity, model, 10.0, rng)


def compare_terms(
    native: ModuleType, parity: ModuleType, model: VMSModel, far: float, rng: np.random.Generator
) -> None:
    same = native_model(native, model)
    d = parity.Evaluation(same)
    frame = model.end_effector
    for q, v in states(model, rng, far):
        expected = model.evaluate(q, v)
        d.set(q, v)
        for term in TERMS:
            theirs = getattr(expected, term)
            if term in ("M_b_inverse", "A") and model.base == "fixed":
                theirs = np.zeros((0, model.n if term == "A" else 0))
            # An inverse is as uncertain as its matrix is badly conditioned.
            size = np.linalg.norm(theirs) * np.linalg.cond(expected.M) if "inv" in term else 0.0
            assert_same(getattr(d, term), theirs, size)
        reach = model.total_mass * 9.81 * far
        assert_same(d.potential_energy, expected.potential_energy, reach)
        assert_same(d.placement(frame), expected.placement(frame), far)
        assert_same(d.jacobian(frame), expected.jacobian(frame))
        rate = expected.jacobian_rate(model.frame_id(frame))
        assert_same(d.jacobian_rate(frame), rate)


@pytest.mark.parametrize("name", ROBOTS)
def test_configurations_are_added_and_subtracted_alike(
    native: ModuleType, parity: ModuleType, name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    same = native_model(native, model)
    for scale in (1.0, 1e-2, 1e-4, 1e-8):
        for q, v in states(model, rng, 1.0):
            moved = model.integrate(q, scale * v)
            assert_same(parity.integrate(same, q, scale * v), moved)
            assert_same(parity.difference(same, q, moved), model.difference(q, moved))
            assert_same(parity.joint_positions(same, q), model.joint_positions(q))
            assert_same(parity.base_pose(same, q), model.base_pose(q))


def test_a_vector_of_the_wrong_size_is_refused_with_a_sentence(
    native: ModuleType, parity: ModuleType
) -> None:
    d = parity.Evaluation(native_model(native, robots.load("panda")))
    with pytest.raises(native.ModelError, match="q must have 7 entries; given: 3"):
        d.set(np.zeros(3), np.zeros(7))
