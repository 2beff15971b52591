# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Computation time of the task-space form and its controller, against Pinocchio's terms."""

import numpy as np
import pinocchio as pin

from vms_ph_controllers import Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.forms import Ports, TaskSpaceForm
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots

from . import Benchmark
from .timing import Case

_TERMS = "pinocchio crba + computeJointJacobians"

# Matrices without derivatives, and those with derivatives.
_MATRICES = ("J_bar", "J_bar_inverse", "Lambda_bar", "P", "eta_e", "pi", "pi_nu")


def _cases(robot: str, base: str) -> list[Case]:
    if base != "fixed":
        raise VmsPhError(f"this controller needs a fixed base; given: {base}")
    bundled = robots.get(robot)
    model = bundled.model(bundled.description(), base)
    m, rng = model.pinocchio, np.random.default_rng(0)
    data = m.createData()
    home = model.configuration(bundled.home)
    q, v = home + rng.uniform(-0.1, 0.1, model.nv), rng.uniform(-0.5, 0.5, model.nv)
    form = TaskSpaceForm(model, PositionTask(model), reference=home)
    x, ports = form.state(q, v), Ports(np.zeros(model.n))
    state, hold = RobotState(q, v), Reference()
    onward = Reference(velocity=np.array([0.0, 0.0, 1e-6]))

    def terms() -> None:
        pin.crba(m, data, q)
        pin.computeJointJacobians(m, data, q)

    def matrices() -> object:
        t = form.evaluate(q, v)
        for name in _MATRICES:
            getattr(t, name)
        return t

    def everything() -> None:
        t = form.evaluate(q, v)
        for name in (*_MATRICES, "J_z", "operational_space"):
            getattr(t, name)

    def law(**options: object) -> TaskSpaceIDAPBC:
        controller = TaskSpaceIDAPBC(model, **options)  # type: ignore[arg-type]
        controller.reset(RobotState(home, np.zeros(model.nv)))
        return controller

    default, moving, routed = law(), law(), law(routing="cancel")
    tanked = law(gains=TaskSpaceIDAPBC.Gains(tank_capacity=1.0))
    name = "TaskSpaceIDAPBC.update"
    return [
        Case(_TERMS, terms),
        Case("TaskSpaceForm, all matrices without derivatives", matrices),
        Case("TaskSpaceForm, all matrices, G and J_z too", everything),
        Case("TaskSpaceForm.rate", lambda: form.rate(x, ports)),
        Case(name, lambda: default.update(state, hold, 1e-3), seconds=150e-6),
        Case(
            f"{name}, moving reference", lambda: moving.update(state, onward, 1e-3), seconds=150e-6
        ),
        Case(f"{name}, with a tank", lambda: tanked.update(state, hold, 1e-3), seconds=150e-6),
        Case(
            f"{name}, coupling cancelled", lambda: routed.update(state, hold, 1e-3), seconds=400e-6
        ),
    ]


BENCHMARK = Benchmark(
    id="task-space",
    title="the task-space form and its controller",
    reference=_TERMS,
    cases=_cases,
    base="fixed",
)
