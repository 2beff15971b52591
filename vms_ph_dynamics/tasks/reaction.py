# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The rotation of a free base by its joints as a task."""

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from ..evaluation import Evaluation, check_moving_rigid
from ..model import VMSModel
from .task import Task


class ReactionTask(Task):
    """``eta = A_w qdot``: the angular velocity that the joints take from the base, rad/s.

    At zero momentum the base rotates with ``-eta`` in its own axes; joint motions with ``eta = 0``
    are the reaction null space (Yoshida). It is not integrable: the connection has curvature, see
    :func:`~vms_ph_dynamics.decoupling.curvature`.
    """

    def __init__(self, model: VMSModel) -> None:
        """Create the task of a robot.

        Args:
            model: the robot.

        Raises:
            ModelError: the base is fixed, the robot is in a fluid, or it has fewer joints than the
                rotation of its base has components.
        """
        super().__init__(model)
        check_moving_rigid(Evaluation(model, model.neutral_configuration(), np.zeros(model.nv)))
        self.dimension = 1 if model.base == "planar" else 3
        if model.n < self.dimension:
            raise ModelError(
                f"the reaction task has {self.dimension} dimensions; '{model.name}' has "
                f"{model.n} joints, and needs at least as many"
            )

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``(0, A_w)``, (m,nv)."""
        return self._widened(d.A)

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative along ``d.v``, (m,nv)."""
        return self._widened(d.A_rate)

    def _widened(self, connection: Array) -> Array:
        rows = connection[-self.dimension :]
        return np.concatenate([np.zeros((self.dimension, self.model.b)), rows], axis=1)
