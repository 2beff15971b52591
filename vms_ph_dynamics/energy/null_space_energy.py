# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The part of the kinetic energy that lies in the null space of a task."""

import numpy as np

from ..evaluation import Evaluation
from ..tasks import Task

# Below this smallest singular value the task inertia, and with it the split, is not meaningful.
_SINGULAR = 1e-3


def kinetic_null(d: Evaluation, task: Task) -> float:
    """Return ``1/2 pi_nu^T Lambda_nu^-1 pi_nu`` [D (26)], J; NaN at a singular configuration.

    The null-space part is computed without the inverse of a nearly singular matrix.
    """
    _, values, right = np.linalg.svd(task.jacobian(d))
    if values[-1] <= _SINGULAR:
        return float("nan")
    z = right[task.dimension :]
    momentum = z @ d.momentum
    return 0.5 * float(momentum @ np.linalg.solve(z @ d.M @ z.T, momentum))
