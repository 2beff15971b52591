# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Group axioms and the relations between a group, its algebra and their duals, for every group."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from vms_ph_dynamics.groups import SE2, SE3, SO3, Group
from vms_ph_dynamics.groups.spatial import stumpff
from vms_ph_ephs.quantities import SO3TimesR3

GROUPS = (SO3(), SE2(), SE3(), SO3TimesR3())
MATRIX_GROUPS = GROUPS[:3]
every_group = pytest.mark.parametrize("group", GROUPS, ids=str)
seeds = st.integers(0, 2**32 - 1)
# Log-uniform: small angles are where closed forms break.
sizes = st.floats(-14, 0.4).map(lambda e: 10.0**e)


def algebra(group: Group, seed: int, size: float = 1.0) -> np.ndarray:
    return size * np.random.default_rng(seed).uniform(-1, 1, group.dimension)


def derivative(function, step: float = 1e-6) -> np.ndarray:  # type: ignore[no-untyped-def]
    return (function(step) - function(-step)) / (2 * step)


@every_group
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_it_is_a_group(group: Group, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = (group.random(rng) for _ in range(3))
    one = group.identity()
    left = group.compose(group.compose(a, b), c)
    np.testing.assert_allclose(left, group.compose(a, group.compose(b, c)), atol=1e-13)
    np.testing.assert_allclose(group.compose(a, one), a)
    np.testing.assert_allclose(group.compose(a, group.inverse(a)), one, atol=1e-14)
    np.testing.assert_allclose(group.compose(group.inverse(a), a), one, atol=1e-14)


@every_group
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_adjoints_are_representations(group: Group, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = group.random(rng), group.random(rng)
    product = group.Ad(group.compose(a, b))
    np.testing.assert_allclose(product, group.Ad(a) @ group.Ad(b), atol=1e-13)
    np.testing.assert_allclose(group.Ad(group.inverse(a)), np.linalg.inv(group.Ad(a)), atol=1e-12)
    x = algebra(group, seed)
    np.testing.assert_allclose(group.Ad(group.exp(x)), expm(group.ad(x)), atol=1e-12)


@every_group
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_the_bracket_is_antisymmetric_and_jacobi_holds(group: Group, seed: int) -> None:
    x, y = algebra(group, seed), algebra(group, seed + 1)
    ad = group.ad
    np.testing.assert_allclose(ad(x) @ y, -ad(y) @ x, atol=1e-15)
    np.testing.assert_allclose(ad(ad(x) @ y), ad(x) @ ad(y) - ad(y) @ ad(x), atol=1e-14)
    p = algebra(group, seed + 3)
    poisson = group.coadjoint_matrix(p)
    np.testing.assert_allclose(poisson, -poisson.T, atol=1e-15)
    np.testing.assert_allclose(poisson @ x, group.coad(x) @ p, atol=1e-15)


@pytest.mark.parametrize("group", MATRIX_GROUPS, ids=str)
@given(seed=seeds, size=sizes)
@settings(max_examples=30, deadline=None)
def test_the_exponential_is_that_of_the_matrix(group: Group, seed: int, size: float) -> None:
    x = algebra(group, seed, size)
    np.testing.assert_allclose(group.exp(x), expm(group.hat(x)), rtol=0, atol=3e-14)
    np.testing.assert_allclose(group.vee(group.hat(x)), x, rtol=1e-15)


@pytest.mark.parametrize("group", MATRIX_GROUPS, ids=str)
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_adjoint_and_bracket_are_those_of_the_matrices(group: Group, seed: int) -> None:
    g = group.random(np.random.default_rng(seed))
    x, y = algebra(group, seed), algebra(group, seed + 1)
    conjugate = g @ group.hat(x) @ group.inverse(g)
    np.testing.assert_allclose(group.hat(group.Ad(g) @ x), conjugate, atol=1e-14)
    a, b = group.hat(x), group.hat(y)
    np.testing.assert_allclose(group.hat(group.ad(x) @ y), a @ b - b @ a, atol=1e-14)


@every_group
@given(seed=seeds, size=sizes)
@settings(max_examples=30, deadline=None)
def test_logarithm_and_exponential_are_inverse(group: Group, seed: int, size: float) -> None:
    x = algebra(group, seed, min(size, 1.7))
    tolerance = 1e-14 * max(1.0, float(np.linalg.norm(x)))
    np.testing.assert_allclose(group.log(group.exp(x)), x, rtol=1e-8, atol=tolerance)
    np.testing.assert_allclose(group.cayley_inverse(group.cayley(x)), x, rtol=1e-8, atol=tolerance)


@every_group
def test_random_elements_fill_a_cube_of_the_algebra_below_half_a_turn(group: Group) -> None:
    rng, reach = np.random.default_rng(0), np.pi / np.sqrt(3)
    drawn = np.array([group.log(group.random(rng)) for _ in range(200)])
    assert np.abs(drawn).max() <= reach * (1.0 + 1e-12)
    assert (np.abs(drawn).max(axis=0) > 0.9 * reach).all()
    assert (np.abs(drawn.mean(axis=0)) < 0.2 * reach).all()


@pytest.mark.parametrize("short", [0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize(
    "axis",
    [
        *([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -2, 0.5]),
        # Two components are the largest, and one is too small to be divided by.
        *([1, 1, 1e-9], [1, 1e-9, 1], [1e-9, 1, 1], [1, -1, 1e-9], [1, 1e-9, -1], [1e-9, 1, -1]),
    ],
)
def test_the_logarithm_is_exact_next_to_half_a_turn(short: float, axis: list[float]) -> None:
    direction = np.array(axis) / np.linalg.norm(axis)
    w = (np.pi - short) * direction
    back = SO3().log(SO3().exp(w))
    np.testing.assert_allclose(np.abs(back), np.abs(w), atol=1e-14)
    np.testing.assert_allclose(SO3().exp(back), SO3().exp(w), atol=1e-15)


@every_group
@given(seed=seeds, size=sizes)
@settings(max_examples=30, deadline=None)
def test_differentials_are_those_of_the_maps(group: Group, seed: int, size: float) -> None:
    x, dx = algebra(group, seed, size), algebra(group, seed + 1)
    for to_group, differential, inverse in (
        (group.exp, group.dexp, group.dexp_inverse),
        (group.cayley, lambda x: np.linalg.inv(group.dcayley_inverse(x)), group.dcayley_inverse),
    ):
        here = group.inverse(to_group(x))

        def moved(h: float, to_group=to_group, here=here) -> np.ndarray:  # type: ignore[no-untyped-def]
            return group.log(group.compose(here, to_group(x + h * dx)))

        # Central differences at 1e-6: truncation 1e-12, rounding 1e-10.
        np.testing.assert_allclose(differential(x) @ dx, derivative(moved), atol=2e-9)
        product = differential(x) @ inverse(x)
        np.testing.assert_allclose(product, np.eye(group.dimension), atol=2e-14 * (1 + size**2))


@every_group
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_the_adjoint_of_the_cayley_map_is_the_cayley_transform(group: Group, seed: int) -> None:
    x = algebra(group, seed)
    half = 0.5 * group.ad(x)
    one = np.eye(group.dimension)
    transform = np.linalg.solve(one - half, one + half)
    np.testing.assert_allclose(group.Ad(group.cayley(x)), transform, atol=1e-13)


@pytest.mark.parametrize("exponent", np.linspace(-30, 3.2, 60))
def test_stumpff_functions_keep_their_digits_down_to_zero(exponent: float) -> None:
    s = float(10.0**exponent)
    got = stumpff(s)
    with mpmath.workdps(60):

        def c(n: int, square: mpmath.mpf) -> mpmath.mpf:
            return mpmath.nsum(
                lambda k: (-square) ** int(k) / mpmath.factorial(n + 2 * int(k)), [0, 120]
            )

        exact = [c(n, mpmath.mpf(s)) for n in range(7)]
        for n in range(7):
            # A few roundings; c_0 and c_1 have zeros, where that of the angle itself is left.
            scale = max(1.0, s**0.5) if n < 2 else 1e-3
            assert abs(got.c[n] - exact[n]) < 2e-15 * max(abs(exact[n]), scale)
        for n in range(5):
            slope = (n * exact[n + 2] - exact[n + 1]) / 2
            assert abs(got.function(n).slope - slope) < 2e-15


@given(seed=seeds, size=sizes)
@settings(max_examples=25, deadline=None)
def test_lemmas_on_three_frames(seed: int, size: float) -> None:
    """Source B, lemmas 2.3 to 2.9, for frames X, Y, Z that move against each other."""
    group = SE3()
    rng = np.random.default_rng(seed)
    xy, yz = group.random(rng), group.random(rng)
    v_xy, v_yz = size * rng.uniform(-1, 1, 6), size * rng.uniform(-1, 1, 6)
    xz = group.compose(xy, yz)
    # 2.3: Ad_xz = Ad_xy Ad_yz;  2.6: its inverse is Ad_zx.
    np.testing.assert_allclose(group.Ad(xz), group.Ad(xy) @ group.Ad(yz), atol=1e-13)
    inverse = group.Ad(group.inverse(xz))
    np.testing.assert_allclose(inverse @ group.Ad(xz), np.eye(6), atol=1e-13)
    # 2.4: velocities add after transport, nu_xz = Ad_zy nu_xy + nu_yz.
    v_xz = group.Ad(group.inverse(yz)) @ v_xy + v_yz

    def moved(h: float) -> np.ndarray:
        a = group.compose(xy, group.exp(h * v_xy))
        b = group.compose(yz, group.exp(h * v_yz))
        return group.log(group.compose(group.inverse(xz), group.compose(a, b)))

    scale = max(1.0, size)
    np.testing.assert_allclose(derivative(moved), v_xz, atol=1e-8 * scale)

    # 2.5: d/dt Ad_xy = Ad_xy ad_nu_xy.
    def adjoint(h: float) -> np.ndarray:
        return group.Ad(group.compose(xy, group.exp(h * v_xy)))

    expected = group.Ad(xy) @ group.ad(v_xy)
    np.testing.assert_allclose(derivative(adjoint), expected, atol=1e-8 * scale)
    # 2.7 as printed, ad_x y = -ad_y x as matrices, is false; it holds for the products. 2.8: ad_x x
    # = 0. 2.9: ad of a transported velocity is the transported ad.
    np.testing.assert_allclose(group.ad(v_xy) @ v_yz, -group.ad(v_yz) @ v_xy, atol=1e-14 * scale)
    np.testing.assert_allclose(group.ad(v_xy) @ v_xy, np.zeros(6), atol=1e-15 * scale**2)
    transported = group.Ad(yz) @ group.ad(v_yz) @ group.Ad(group.inverse(yz))
    np.testing.assert_allclose(group.ad(group.Ad(yz) @ v_yz), transported, atol=1e-13 * scale)


def test_planar_motions_are_those_of_space_within_the_plane() -> None:
    planar, space = SE2(), SE3()
    lift = np.zeros((6, 3))
    lift[[0, 1, 5], [0, 1, 2]] = 1.0
    x = np.array([0.4, -0.7, 1.2])
    for to_planar, to_space in ((planar.exp, space.exp), (planar.cayley, space.cayley)):
        flat, full = to_planar(x), to_space(lift @ x)
        np.testing.assert_allclose(full[:2, :2], flat[:2, :2], atol=1e-15)
        np.testing.assert_allclose(full[:2, 3], flat[:2, 2], atol=1e-15)
    np.testing.assert_allclose(space.ad(lift @ x) @ lift, lift @ planar.ad(x), atol=1e-15)
    for d_planar, d_space in (
        (planar.dexp, space.dexp),
        (planar.dexp_inverse, space.dexp_inverse),
        (planar.dcayley_inverse, space.dcayley_inverse),
    ):
        np.testing.assert_allclose(d_space(lift @ x) @ lift, lift @ d_planar(x), atol=1e-14)
