# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""How Dirac structures compose, and what is none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import ModelError
from vms_ph_dynamics.forms import (
    DiracStructure,
)
from vms_ph_dynamics.forms.dirac import compose, direct_product

from .dirac_checks import is_dirac, same

seeds = st.integers(0, 2**31)


def random_structure(ports: dict[str, int], rng: np.random.Generator) -> DiracStructure:
    """From a random skew matrix, with flow and effort of some entries exchanged."""
    size = sum(ports.values())
    m = rng.normal(size=(size, size))
    flows, efforts = m - m.T, np.eye(size)
    swap = rng.random(size) < 0.5
    flows[swap], efforts[swap] = efforts[swap], flows[swap].copy()
    return DiracStructure(ports, flows, efforts)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_connected_structures_are_a_structure_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, first, second = (int(x) for x in rng.integers(1, 5, 3))
    a = random_structure({"out": first, "left": size}, rng)
    b = random_structure({"right": size, "end": second}, rng)
    is_dirac(a)
    found = compose(a, b, {"left": "right"})
    assert dict(found.ports) == {"out": first, "end": second}
    is_dirac(found)
    assert abs(found.power(rng.normal(size=first + second))) < 1e-10


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_it_does_not_matter_which_connection_is_made_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = random_structure({"a": 2, "ab": 3}, rng)
    b = random_structure({"ba": 3, "b": 1, "bc": 2}, rng)
    c = random_structure({"cb": 2, "c": 2}, rng)
    ab, bc = {"ab": "ba"}, {"bc": "cb"}
    same(compose(compose(a, b, ab), c, bc), compose(a, compose(b, c, bc), ab))


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_two_connections_at_once_are_both_made(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = random_structure({"a": 2, "one": 2, "two": 1}, rng)
    b = random_structure({"uno": 2, "b": 1, "due": 1}, rng)
    found = compose(a, b, {"two": "due", "one": "uno"})
    is_dirac(found)
    # A flow and effort of the result, traced back: there are inner ones that fit on both sides.
    joint_a = a.renamed({"one": "x", "two": "y"}).reordered(["a", "x", "y"])
    joint_b = b.renamed({"uno": "x", "due": "y"}).reordered(["b", "x", "y"])
    weights = rng.normal(size=3)
    f, e = found.flows @ weights, found.efforts @ weights
    # Unknown weights of both, with shared efforts and opposite flows inside.
    rows = np.block(
        [
            [joint_a.flows[:2], np.zeros((2, 4))],
            [joint_a.efforts[:2], np.zeros((2, 4))],
            [np.zeros((1, 5)), joint_b.flows[:1]],
            [np.zeros((1, 5)), joint_b.efforts[:1]],
            [joint_a.efforts[2:], -joint_b.efforts[1:]],
            [joint_a.flows[2:], joint_b.flows[1:]],
        ]
    )
    right = np.concatenate([f[:2], e[:2], f[2:], e[2:], np.zeros(6)])
    weights = np.linalg.lstsq(rows, right, rcond=None)[0]
    np.testing.assert_allclose(rows @ weights, right, atol=1e-9 * np.abs(right).max())


def test_nothing_connected_is_the_direct_product(rng: np.random.Generator) -> None:
    a, b = random_structure({"a": 2}, rng), random_structure({"b": 3}, rng)
    same(compose(a, b, {}), direct_product(a, b))


def test_everything_connected_leaves_a_structure_without_ports(rng: np.random.Generator) -> None:
    a, b = random_structure({"a": 2}, rng), random_structure({"b": 2}, rng)
    closed = compose(a, b, {"a": "b"})
    assert dict(closed.ports) == {}
    assert closed.power(np.zeros(0)) == 0.0


def test_a_gyrator_between_two_stores_turns_effort_into_flow() -> None:
    gyrator = DiracStructure.from_matrix(np.array([[0.0, 2.0], [-2.0, 0.0]]), {"a": 1, "b": 1})
    other = gyrator.renamed({"a": "c", "b": "d"})
    # Two gyrators are a transformer: f_a = 2 e_b, f_c = 2 e_d; e_b = e_c, f_b = -f_c.
    both = compose(gyrator, other, {"b": "c"})
    assert both.contains(np.array([2.0, -2.0]), np.array([3.0, 3.0]))
    with pytest.raises(ModelError, match="efforts of this Dirac structure are constrained"):
        both.matrix()


# --- errors ---------------------------------------------------------------------------------------


def test_what_is_no_dirac_structure_is_refused() -> None:
    with pytest.raises(ModelError, match="skew-symmetric"):
        DiracStructure.from_matrix(np.eye(2), {"a": 2})
    with pytest.raises(ModelError, match=r"ports of size 3 need a matrix of that size, not \(2, 2"):
        DiracStructure.from_matrix(np.zeros((2, 2)), {"a": 1, "b": 2})
    with pytest.raises(ModelError, match="must be finite"):
        DiracStructure.from_matrix(np.full((2, 2), np.nan), {"a": 2})


TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e20])
def test_bases_that_exchange_power_are_refused_in_any_unit(size: float) -> None:
    # In both the flow is a positive multiple of the effort: a resistor, given as lossless.
    for unit in (1.0, size):
        with pytest.raises(ModelError, match="conserves power"):
            DiracStructure({"a": 2}, size * np.eye(2), unit * np.eye(2))
    DiracStructure({"a": 2}, size * TURN, np.eye(2))


def test_the_unit_matrices_are_no_dirac_structure() -> None:
    with pytest.raises(ModelError, match=r"columns 0 and 0 exchange 2 W; give flows and efforts"):
        DiracStructure({"a": 1, "b": 1}, np.eye(2), np.eye(2))


def test_a_resistor_beside_a_large_gyrator_is_found() -> None:
    flows = np.zeros((4, 4))
    flows[:2, :2], flows[2:, 2:] = 1e20 * TURN, np.eye(2)
    with pytest.raises(ModelError, match="conserves power"):
        DiracStructure({"a": 2, "b": 2}, flows, np.eye(4))
    with pytest.raises(ModelError, match="skew-symmetric"):
        DiracStructure.from_matrix(flows, {"a": 2, "b": 2})


def test_too_few_dimensions_or_bases_of_a_wrong_size_are_refused() -> None:
    zero = np.zeros((2, 2))
    with pytest.raises(ModelError, match="as many dimensions; the columns given span 0"):
        DiracStructure({"a": 2}, zero, zero)
    twice = np.array([[1.0, 2.0], [1.0, 2.0]])
    with pytest.raises(ModelError, match="as many dimensions; the columns given span 1"):
        DiracStructure({"a": 2}, zero, twice)
    with pytest.raises(ModelError, match=r"\(3, 3\) each; given: \(2, 2\) and \(2, 2\)"):
        DiracStructure({"a": 3}, zero, np.eye(2))
    with pytest.raises(ModelError, match="must be finite"):
        DiracStructure({"a": 2}, np.full((2, 2), np.inf), np.eye(2))


@pytest.mark.parametrize("size", [1e-20, 1e-9, 1e9, 1e20])
def test_blocks_of_very_different_size_lose_no_dimension_when_composed(size: float) -> None:
    flows = np.zeros((4, 4))
    flows[:2, :2], flows[2:, 2:] = size * TURN, TURN
    a = DiracStructure.from_matrix(flows, {"large": 2, "small": 2})
    b = DiracStructure.from_matrix(np.kron(TURN, np.eye(2)), {"right": 2, "end": 2})
    found = compose(a, b, {"small": "right"})
    is_of_full_dimension(found, 4)
    e = np.array([2.0, 3.0])
    # The small block through the second one: f = e turned, with flow and effort exchanged.
    assert found.contains(np.concatenate([size * TURN @ e, np.zeros(2)]), np.r_[e, 0.0, 0.0])
    outer = np.concatenate([np.zeros(2), e]), np.concatenate([np.zeros(2), TURN @ e])
    assert found.contains(*outer)


@pytest.mark.parametrize("ratio", [1e-9, 1e-5, 1.0, 1e5, 1e9])
def test_two_gyrators_of_different_size_are_a_transformer(ratio: float) -> None:
    a = DiracStructure.from_matrix(ratio * TURN, {"a": 1, "inner": 1})
    b = DiracStructure.from_matrix(TURN, {"again": 1, "b": 1})
    found = compose(a, b, {"inner": "again"})
    is_of_full_dimension(found, 2)
    # f_a = ratio e_inner, f_inner = -ratio e_a; f_again = e_b, f_b = -e_again.
    scale = max(1.0, ratio)
    for flows, efforts in (([0, 0], [1, ratio]), ([-ratio, 1], [0, 0])):
        assert found.contains(np.array(flows) / scale, np.array(efforts) / scale)


def test_a_composition_beyond_the_precision_of_numbers_is_refused() -> None:
    a = DiracStructure.from_matrix(1e20 * TURN, {"a": 1, "inner": 1})
    b = DiracStructure.from_matrix(TURN, {"again": 1, "b": 1})
    with pytest.raises(ModelError, match="too many orders of magnitude; choose units"):
        compose(a, b, {"inner": "again"})


def is_of_full_dimension(structure: DiracStructure, size: int) -> None:
    assert structure.flows.shape == structure.efforts.shape == (size, size)
    # The constructor has checked power and rank, in units of their own.
    DiracStructure(structure.ports, structure.flows, structure.efforts)


def test_wrong_connections_are_refused_by_name(rng: np.random.Generator) -> None:
    a, b = random_structure({"x": 2, "y": 1}, rng), random_structure({"u": 2, "w": 1}, rng)
    with pytest.raises(ModelError, match="no port 'z'; there are x, y"):
        compose(a, b, {"z": "u"})
    with pytest.raises(ModelError, match="no port 'y'; there are u, w"):
        compose(a, b, {"y": "y"})
    with pytest.raises(ModelError, match="port 'x' has size 2, port 'w' 1"):
        compose(a, b, {"x": "w"})
    c = random_structure({"x": 2}, rng)
    with pytest.raises(ModelError, match="both structures have a port 'x'"):
        direct_product(a, c)
    same_size = random_structure({"x": 2, "y": 2}, rng)
    with pytest.raises(ModelError, match="port 'u' is connected twice"):
        compose(same_size, b, {"x": "u", "y": "u"})


def test_ports_are_reordered_and_renamed_as_a_whole(rng: np.random.Generator) -> None:
    a = random_structure({"x": 2, "y": 1}, rng)
    same(a.reordered(["y", "x"]), a)
    for names in (["x"], ["x", "x", "y"], ["x", "z"]):
        with pytest.raises(ModelError, match="every port once; there are x, y; given: x"):
            a.reordered(names)
    with pytest.raises(ModelError, match="two ports would have the same name: y, y"):
        a.renamed({"x": "y"})
    with pytest.raises(ModelError, match="no port 'z'"):
        a.renamed({"z": "y"})
