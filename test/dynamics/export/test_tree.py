# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The recursions of the exports over the tree, with numbers in place of symbols."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from vms_ph_dynamics.export.spatial import ArrayNamespace, Expression
from vms_ph_dynamics.export.tree import ExportedTree
from vms_ph_io import robots


class Numbers(ArrayNamespace):
    """The array namespace of numpy; its arrays are read-only, as those of JAX."""

    def constant(self, numbers: npt.ArrayLike) -> Expression:
        return frozen(np.array(numbers, dtype=float))

    def zeros(self, rows: int, columns: int) -> Expression:
        return frozen(np.zeros((rows, columns)))

    def vstack(self, parts: Sequence[Expression]) -> Expression:
        return frozen(np.vstack(parts))

    def hstack(self, parts: Sequence[Expression]) -> Expression:
        return frozen(np.hstack(parts))

    def cos(self, x: Expression) -> Expression:
        return np.cos(x)

    def sin(self, x: Expression) -> Expression:
        return np.sin(x)


def frozen(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda", "hextilt", "bluerov2_alpha5"])
def test_the_recursions_over_any_array_namespace_are_those_of_the_model(name: str) -> None:
    model, rng = robots.load(name), np.random.default_rng(3)
    q, v, w = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    d = model.evaluate(q, v)
    tree = ExportedTree(model, Numbers(), q[:, None])
    scale = float(np.abs(d.M).max())
    # Both sum products along the tree, each rounded: a few hundred of the size of the largest.
    near = {"rtol": 1e-11, "atol": 1e-12 * scale}
    np.testing.assert_allclose(tree.M, d.M, **near)
    np.testing.assert_allclose(tree.gravity[:, 0], d.g, rtol=1e-11, atol=1e-11 * scale)
    np.testing.assert_allclose(tree.potential[0, 0], d.potential_energy, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(tree.slope(v[:, None])[:, 0], d.C.T @ v, **near)
    rate = tree.mass_rate_times(v[:, None], w[:, None])[:, 0]
    np.testing.assert_allclose(rate, (d.C + d.C.T) @ w, **near)
    frame = model.end_effector
    np.testing.assert_allclose(tree.jacobian(frame), d.J_end_effector, atol=1e-13)
    pose = d.placement(frame)
    np.testing.assert_allclose(tree.pose(frame).rotation, pose[:3, :3], atol=1e-13)
    np.testing.assert_allclose(tree.pose(frame).position[:, 0], pose[:3, 3], atol=1e-13)
