# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of a differential task."""

from abc import ABC, abstractmethod

import numpy as np

from ..arrays import Array
from ..evaluation import Evaluation
from ..model import VMSModel


class Task(ABC):
    """A linear map ``eta = J(q) v`` from velocities to a task velocity [D (1)].

    It need not be integrable. On a moving base v includes the base twist, and derivatives are taken
    along velocities with the base part in the base frame.

    Attributes:
        dimension: m, the size of ``eta``.

    Args:
        model: the robot.
    """

    dimension: int

    def __init__(self, model: VMSModel) -> None:
        self.model = model

    @abstractmethod
    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (m,nv)."""

    @abstractmethod
    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along the velocity of the evaluation, (m,nv)."""

    def jacobian_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of ``J`` along each unit velocity, (m,nv,nv), the last index.

        The rate is linear in the velocity, so unit velocities give it exactly.
        """
        units = np.eye(self.model.nv)
        return np.stack(
            [self.jacobian_rate(Evaluation(self.model, d.q, unit)) for unit in units], axis=2
        )
