# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""All terms of the task-space form at one state."""

import numpy as np

from ..arrays import Array, frozen
from ..cached import cached_property
from .task_coupling import TaskCoupling
from .task_terms import TaskTerms


class TaskEvaluation(TaskTerms):
    """An immutable snapshot of the task-space quantities; each is computed on first use."""

    @cached_property
    def coupling(self) -> TaskCoupling:
        """The derivative terms: A_t, A_n, G and the coupling of task and null space."""
        return TaskCoupling(self)

    @property
    def E(self) -> Array:
        """``[A_t; A_n]``, (nv,nv) [D, Prop. 1]; see :class:`TaskCoupling`."""
        return self.coupling.E

    @property
    def G(self) -> Array:
        """Gyroscopic block of the structure matrix, skew-symmetric, (nv,nv) [D (27)]."""
        return self.coupling.G

    @property
    def J_z(self) -> Array:
        """Structure matrix ``[[0, J_bar^-1], [-J_bar^-T, G]]``, skew, (2nv,2nv) [D (27)]."""
        nv = self.d.model.nv
        inverse = self.J_bar_inverse
        return frozen(np.block([[np.zeros((nv, nv)), inverse], [-inverse.T, self.G]]))
