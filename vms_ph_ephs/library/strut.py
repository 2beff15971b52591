# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The distance of two points as a coordinate: a leg that springs, dampers and motors act along."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Reversible
from ..errors import StructureError
from ..patterns import power, state
from ..quantities import Euclidean, momentum, momentum_of, pose_of
from .parameters import Parameter

PARAMETERS = (Parameter("dimension", "", "of space, 2 or 3", number=False),)


class Strut(Reversible):
    """A massless telescopic strut: ``0 = n . (v_2 - v_1) - u`` along the line between two points.

    Its ports p_1 and p_2 are those of the points, q_1 and q_2 read their positions, and the port p
    is that of the length: its effort is the rate u, and a force that shortens the strut acts at it.

    Args:
        dimension: of space, 2 or 3.

    Raises:
        StructureError: the dimension is another one.
    """

    def __init__(self, dimension: int = 3) -> None:
        if dimension not in (2, 3):
            raise StructureError(f"a strut is in a space of 2 or 3 dimensions; given: {dimension}")
        self._dimension = dimension
        position, force = pose_of(Euclidean(dimension)), momentum_of(Euclidean(dimension))
        super().__init__(
            {
                "q_1": state(position),
                "q_2": state(position),
                "p_1": power(force),
                "p_2": power(force),
                "p": power(momentum),
            },
            constraint=self._matrix,
            constraint_rate=self._rate,
            reads=("q_1", "q_2"),
            constant_columns=("p",),
        )

    def described(self) -> Mapping[str, Any]:
        """Return the dimension."""
        return {"kind": "strut", "dimension": self._dimension}

    def _matrix(self, q_1: Array, q_2: Array) -> Array:
        n = _along(q_2 - q_1)[0]
        return np.concatenate([-n, n, [-1.0]])[None]

    def _rate(self, states: tuple[Array, ...], rates: Array, e: Array) -> Array:
        d = self._dimension
        n, length = _along(states[1] - states[0])
        across = rates[d:] - rates[:d]
        across = across - n * float(n @ across)
        return np.array([float(across @ (e[d : 2 * d] - e[:d])) / length])


def _along(line: Array) -> tuple[Array, float]:
    """Return the unit vector of a line and its length, which is kept from zero."""
    length = max(float(np.sqrt(line @ line)), 1e-12)
    return line / length, length


def strut(**values: Any) -> Strut:
    """Return a :class:`Strut`."""
    return Strut(**values)
