# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Computation time of the control laws of moving bases, against Pinocchio's algorithms."""

import numpy as np
import pinocchio as pin

from vms_ph_controllers import (
    DecoupledVMSController,
    EndEffectorImpedance,
    Reference,
    RobotState,
)
from vms_ph_dynamics import VmsPhError
from vms_ph_io import robots

from . import Benchmark
from .timing import Case

_ABA = "pinocchio aba"


def _cases(robot: str, base: str) -> list[Case]:
    if base == "fixed":
        raise VmsPhError("these laws need a planar or floating base; given: fixed")
    bundled = robots.get(robot)
    model = bundled.model(bundled.description(), base)
    m, rng = model.pinocchio, np.random.default_rng(0)
    data = m.createData()
    q, v = model.random_configuration(rng), 0.1 * rng.uniform(-1, 1, model.nv)
    tau, state = np.zeros(model.nv), RobotState(q, v)
    at_rest, moving = DecoupledVMSController(model), DecoupledVMSController(model)
    impedance = EndEffectorImpedance(model)
    for law in (at_rest, moving, impedance):
        law.reset(state)
    hold, onward = Reference(), Reference(twist=np.array([0.1, 0, 0, 0, 0, 0.1]))
    return [
        Case("pinocchio crba", lambda: pin.crba(m, data, q)),
        Case(_ABA, lambda: pin.aba(m, data, q, v, tau)),
        Case(
            "DecoupledVMSController.update, resting reference",
            lambda: at_rest.update(state, hold, 1e-3),
            seconds=200e-6,
        ),
        Case(
            "DecoupledVMSController.update, moving reference",
            lambda: moving.update(state, onward, 1e-3),
            seconds=200e-6,
        ),
        Case("EndEffectorImpedance.update", lambda: impedance.update(state, hold, 1e-3)),
    ]


BENCHMARK = Benchmark(
    id="control",
    title="one update of the control laws",
    reference=_ABA,
    cases=_cases,
)
