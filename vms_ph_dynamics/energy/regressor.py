# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy of a robot as a linear function of the inertial parameters of its bodies."""

from typing import Any

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen
from ..errors import ModelError
from ..evaluation_batch import EvaluationBatch
from ..model import VMSModel

PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""The ten parameters of a body in Pinocchio's order: mass, first moments, inertia at its origin."""


class EnergyRegressor:
    """Rows ``Y(q, v)`` with ``kinetic + potential energy = Y phi``; no accelerations are needed.

    ``phi`` stacks the ten parameters of every body that a joint of the tree moves, the base's body
    first, each at the origin and in the axes of its joint. The energy of armature and of a fluid is
    no part of it: see :func:`.fluid_path`.

    Attributes:
        model: the robot.
        bodies: names of the joints that move the bodies.
        parameters: (10 bodies,) phi of the description.
    """

    def __init__(self, model: VMSModel) -> None:
        self.model = model
        tree = model.tree.pinocchio
        self.bodies = tuple(tree.names[i] for i in range(1, tree.njoints))
        self.parameters = frozen(
            np.concatenate([tree.inertias[i].toDynamicParameters() for i in range(1, tree.njoints)])
        )

    def rows(self, q: Array, v: Array) -> Array:
        """Return the rows Y, (N, 10 bodies), at configurations (N,nq) and velocities (N,nv)."""
        d = EvaluationBatch(self.model, np.asarray(q), np.asarray(v))
        d.compute(("kinetic_regressor", "potential_regressor"))
        return d.kinetic_regressor + d.potential_regressor

    def of_frame(self, frame: str) -> tuple[int, Array]:
        """Return how the parameters of a body fixed at a frame add to those of the body under it.

        Returns:
            The index of the body, and T (10,10) with ``phi of the body = T phi in the frame``.

        Raises:
            ModelError: there is no such frame, or it does not move.
        """
        model_frame = self.model.tree.pinocchio.frames[self.model.frame_id(frame)]
        if model_frame.parentJoint == 0:
            raise ModelError(f"the frame '{frame}' does not move, so no energy tells its load")
        columns = [_inertia_in_parent(model_frame.placement, unit) for unit in np.eye(10)]
        return model_frame.parentJoint - 1, np.stack(columns, axis=1)


def pseudo_inertia(parameters: Array) -> Array:
    """Return the pseudo-inertia of ten parameters at the origin, (4,4).

    It is ``[[S, h], [h^T, m]]`` with ``S = 1/2 tr(I) 1 - I``, and positive semidefinite if and only
    if the mass is nowhere negative.
    """
    m, h, inertia = _parts(parameters)
    matrix = np.empty((4, 4))
    matrix[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    matrix[:3, 3] = matrix[3, :3] = h
    matrix[3, 3] = m
    return matrix


def _parts(p: Array) -> tuple[float, Array, Array]:
    inertia = np.array([[p[4], p[5], p[7]], [p[5], p[6], p[8]], [p[7], p[8], p[9]]])
    return float(p[0]), np.asarray(p[1:4]), inertia


def _inertia_in_parent(placement: Any, parameters: Array) -> Array:
    """Return ten parameters of a frame at the origin and in the axes of its parent.

    Pinocchio's class of inertias cannot do this: it divides by the mass, which is zero for most of
    the unit vectors.
    """
    m, h, inertia = _parts(parameters)
    rotation, p = placement.rotation, pin.skew(placement.translation)
    h = rotation @ h
    rotational = rotation @ inertia @ rotation.T - m * p @ p - p @ pin.skew(h) - pin.skew(h) @ p
    entries = [
        rotational[0, 0],
        rotational[0, 1],
        rotational[1, 1],
        rotational[0, 2],
        rotational[1, 2],
        rotational[2, 2],
    ]
    return np.array([m, *(h + m * placement.translation), *entries])
