# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The functions of the source's table A.1, against the groups and against themselves."""

import numpy as np
import pytest
import sympy as sp

from vms_ph_dynamics.export import symbolic
from vms_ph_dynamics.groups import SE2

SE2_ = SE2()
ANGLE, X, Y = sp.symbols("angle x_o y_o", real=True)


def numbers(matrix: sp.Matrix, **values: float) -> np.ndarray:
    by_name = {symbol: values[symbol.name] for symbol in matrix.free_symbols}
    return np.array(matrix.subs(by_name), dtype=float)


def test_poses_and_adjoints_are_those_of_the_group(rng: np.random.Generator) -> None:
    h = symbolic.pose(ANGLE, (X, Y))
    for _ in range(5):
        angle, x, y = rng.uniform(-3, 3, 3)
        values = {"angle": angle, "x_o": x, "y_o": y}
        g = numbers(h, **values)
        np.testing.assert_allclose(numbers(symbolic.adjoint(h), **values), SE2_.Ad(g), atol=1e-14)
        np.testing.assert_allclose(
            numbers(symbolic.inverse(h), **values), SE2_.inverse(g), atol=1e-14
        )
        np.testing.assert_allclose(numbers(symbolic.frame_origin(h), **values)[:, 0], [x, y])
        np.testing.assert_allclose(
            numbers(symbolic.frame_orientation(h), **values), g[:2, :2], atol=1e-15
        )
        assert float(symbolic.frame_angle(h).subs({ANGLE: angle})) == pytest.approx(angle)
        twist = rng.uniform(-1, 1, 3)
        small = np.array(symbolic.small_adjoint(list(twist)), dtype=float)
        np.testing.assert_allclose(small, SE2_.ad(twist), atol=1e-15)


def test_a_link_of_two_bodies_has_their_inertia_about_its_frame() -> None:
    a, b, m, n, i = sp.symbols("a b m n i", positive=True)
    matrix, mass, centre = symbolic.link_inertia([(a, 0), (0, b)], [m, n], [i, 0])
    assert sp.simplify(mass - m - n) == 0
    assert sp.simplify(centre - sp.Matrix([m * a, n * b]) / (m + n)) == sp.zeros(2, 1)
    assert sp.expand(matrix[2, 2] - i - m * a**2 - n * b**2) == 0
    assert matrix == matrix.T
    # Its kinetic energy for a turn about the frame: linear velocity of each body is S o.
    assert sp.expand(matrix[0, 2] + n * b) == 0
    assert sp.expand(matrix[1, 2] - m * a) == 0


def test_the_matrix_of_a_vector_gives_the_vector_back() -> None:
    u, v, c = sp.symbols("u v c")
    vector = sp.Matrix([3 * u * v + c * u + 2, v**2 * c - u])
    matrix, rest = symbolic.coefficients(vector, [u, v])
    assert sp.expand(matrix * sp.Matrix([u, v]) + rest - vector) == sp.zeros(2, 1)
    assert rest == sp.Matrix([2, 0])


def test_jacobians_give_the_derivatives_along_the_motion() -> None:
    motion = symbolic.Motion.of(2)
    q1, q2 = motion.coordinates[3:]
    h = motion.base * symbolic.pose(q1, (sp.Rational(1, 3), q2))
    velocities = sp.Matrix(motion.velocities)
    twist = motion.twist_jacobian(h) * velocities
    body = symbolic.inverse(h) * motion.rate(h)
    expected = sp.Matrix([body[0, 2], body[1, 2], body[1, 0]])
    assert (twist - expected).applyfunc(sp.simplify) == sp.zeros(3, 1)
    assert motion.adjoint_of(h) == symbolic.small_adjoint(list(twist))
    origin = symbolic.frame_origin(h)
    moving = motion.origin_jacobian(origin) * velocities
    assert (moving - motion.rate(origin)).applyfunc(sp.simplify) == sp.zeros(2, 1)
    output = sp.Matrix([q1 * motion.coordinates[0], motion.coordinates[2] ** 2])
    made = motion.output_jacobian(output) * velocities
    assert (made - motion.rate(output)).applyfunc(sp.simplify) == sp.zeros(2, 1)
    assert symbolic.row12(motion.twist_jacobian(h)).shape == (2, 5)


def test_generated_code_is_text_that_computes_the_matrix() -> None:
    u, v, k = sp.symbols("u v k")
    matrix = symbolic.matrix_of([[sp.sin(u) * k, sp.cos(v)], [sp.sqrt(u * k), 1]])
    text = symbolic.source("stiffness", matrix, [u, v], {k: 2.0})
    assert text.startswith("def stiffness(u, v):\n")
    made = symbolic.numeric(matrix, [u, v], {k: 2.0})(0.5, 0.2)
    np.testing.assert_allclose(made, [[2 * np.sin(0.5), np.cos(0.2)], [1.0, 1.0]], atol=1e-15)
    with pytest.raises(ValueError, match="needs values of k"):
        symbolic.source("stiffness", matrix, [u, v])
