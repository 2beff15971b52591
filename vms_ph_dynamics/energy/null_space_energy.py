# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
