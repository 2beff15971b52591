# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The law of source D with its minimum held, in C++ where that is installed."""

from typing import Literal

import numpy as np

from vms_ph_controllers import Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array

from .pushed_arm import Law


def law_at(
    model: VMSModel,
    q_star: Array,
    gains: TaskSpaceIDAPBC.Gains,
    *,
    weight: Array | None = None,
    routing: Literal["keep", "cancel"] = "keep",
    native: bool | None = None,
) -> Law:
    """Return task-space IDA-PBC that holds a configuration, reset there.

    Args:
        model: of the arm.
        q_star: (nq,) the minimum.
        gains: of the law.
        weight: W (n,n) in place of the gains, N m/rad.
        routing: of the coupling between task and null space.
        native: whether the law runs in C++; None as the model does.
    """
    if native is not None:
        model = model.with_native(native)
    law, hold = TaskSpaceIDAPBC(model, gains=gains, weight=weight, routing=routing), Reference()
    law.reset(RobotState(q_star, np.zeros(model.nv)))
    return lambda state, dt: law.update(state, hold, dt)
