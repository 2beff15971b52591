# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy of a robot as a linear function of the inertial parameters of its bodies."""

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen
from ..errors import ModelError
from ..evaluation_batch import EvaluationBatch
from ..model import VMSModel

PARAMETER_NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""The ten parameters of a body in Pinocchio's order: mass, first moments, inertia at its origin."""


class EnergyRegressor:
    """Rows ``Y(q, v)`` with ``kinetic + potential energy = Y phi``; no accelerations are needed.

    ``phi`` stacks the ten parameters of every body that a joint of the tree moves, the base's body
    first, each at the origin and in the axes of its joint. The energy of armature and of a fluid is
    no part of it.

    Attributes:
        model: the robot.
        bodies: names of the joints that move the bodies.
        parameters: (10 bodies,) phi of the description.
    """

    def __init__(self, model: VMSModel) -> None:
        self.model = model
        pinocchio = model.tree.pinocchio
        self.bodies = tuple(pinocchio.names[i] for i in range(1, pinocchio.njoints))
        self.parameters = frozen(model.tree.inertial_parameters())

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
            raise ModelError(f"the frame '{frame}' does not move, so no energy shows its load")
        placement = model_frame.placement.homogeneous
        matrices = (placement @ pseudo_inertia(unit) @ placement.T for unit in np.eye(10))
        columns = [pin.PseudoInertia.FromMatrix(x).toDynamicParameters() for x in matrices]
        return model_frame.parentJoint - 1, np.stack(columns, axis=1)


def pseudo_inertia(parameters: Array) -> Array:
    """Return the pseudo-inertia of ten parameters at the origin, (4,4).

    It is ``[[S, h], [h^T, m]]`` with ``S = 1/2 tr(I) 1 - I``, and positive semidefinite if and only
    if the mass is nowhere negative.
    """
    return np.asarray(pin.PseudoInertia.FromDynamicParameters(parameters).toMatrix())
