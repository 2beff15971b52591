# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The law of source D with its minimum held, in C++ where that is installed."""

from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from vms_ph_controllers import Command, Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.integrators import native_module

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
        native: False for the law in Python; None for its twin in C++ where that is installed.
    """
    core = None if native is False else native_module()
    if core is not None:
        try:
            return _compiled(core, model, q_star, gains, weight, routing)
        except ValueError:  # The core covers fewer robots; the law in Python covers them all.
            pass
    law, hold = TaskSpaceIDAPBC(model, gains=gains, weight=weight, routing=routing), Reference()
    law.reset(RobotState(q_star, np.zeros(model.nv)))
    return lambda state, dt: law.update(state, hold, dt)


def _compiled(
    core: Any,
    model: VMSModel,
    q_star: Array,
    gains: TaskSpaceIDAPBC.Gains,
    weight: Array | None,
    routing: str,
) -> Law:
    robot = core.Model(model.pinocchio, model.end_effector)
    values = {name: float(value) for name, value in asdict(gains).items()}
    law = core.TaskSpaceIDAPBC(robot, gains=values, weight=weight, routing=routing)
    law.reset(q_star)

    def update(state: RobotState, dt: float) -> Command:
        # Its commands have the fields of those in Python.
        return law.update(state.q, state.v, None, None, dt)

    return update
