# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The factorised mass matrix of a robot at one configuration."""

from typing import Any

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..evaluation import Evaluation
from .centroidal import Centroidal


class Factorised:
    """The mass matrix at the configuration given last."""

    def __init__(self, robot: Centroidal) -> None:
        self._robot = robot
        self._model = robot.model
        self._plain = robot.model.is_plain
        self._pin: Any = robot.model.tree.pinocchio
        self._data = self._pin.createData()
        self._matrix: Array = np.zeros((0, 0))

    def at(self, q: Array) -> None:
        """Factorise at a configuration (nq,)."""
        if self._plain:
            self._matrix = pin.crba(self._pin, self._data, q)
            pin.cholesky.decompose(self._pin, self._data)
        else:
            self._matrix = Evaluation(self._model, q, self._robot.nothing).M

    def velocity(self, momentum: Array) -> Array:
        """Return the velocity (nv,) of a generalised momentum (nv,)."""
        if self._plain:
            return pin.cholesky.solve(self._pin, self._data, momentum)
        return np.linalg.solve(self._matrix, momentum)

    def diagonal(self) -> Array:
        """Return the diagonal of the mass matrix for the joints, (n,)."""
        return np.diag(self._matrix)[self._model.b :].copy()

    def coupling(self) -> Array:
        """Return the rows of the base's linear velocity in the other columns, (k,r+n)."""
        k = self._robot.k
        return self._matrix[:k, k:]

    def lever(self) -> Array:
        """Return the centre of mass in the base frame, (k,)."""
        m, mass = self._matrix, self._robot.mass
        if self._robot.k == 2:
            return np.array([m[1, 2], -m[0, 2]]) / mass
        # Only the upper triangle is available: m (v + w x lever) in the rows of v.
        return np.array([m[1, 5], -m[0, 5], m[0, 4]]) / mass
