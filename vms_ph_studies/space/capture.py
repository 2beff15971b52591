# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A satellite catches a tumbling body and brings its arm to rest: momentum before and after."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vms_ph_controllers import DecoupledVMSController, RobotState
from vms_ph_controllers.controller import Command, Reference
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import DecoupledForm, momenta
from vms_ph_dynamics.free_floating import Body, Capture, capture
from vms_ph_dynamics.groups import SE3
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io.progress import Progress, Stages

from ..check import bounded, required
from ..study import Outcome, Parameter, Settings, Study
from .satellite import BUS, CUBE, satellite, simulate, tumbling_cube

_SE3 = SE3()


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    model, home = satellite(settings)
    body, twist = tumbling_cube(settings)
    caught = capture(model, home, np.zeros(model.nv), body, twist)
    before = _momentum_of(model, home, body, twist)
    after = momenta(caught.model.evaluate(caught.q, caught.v)).spatial
    stages = Stages(progress, 2)
    duration, dt = float(settings["duration"]), float(settings["step"])
    # Free motion of the same robot: the error of the scheme itself.
    freely = _carried(caught, duration, dt, False, stages.begin("free motion"))
    braked = _carried(caught, duration, dt, True, stages.begin("arm brought to rest"))
    scale = np.array([np.linalg.norm(before[:3])] * 3 + [np.linalg.norm(before[3:])] * 3)
    scheme_error = float(np.max(np.abs(freely.momentum - after)[3:] / scale[3:]))
    jump, linear, angular = (
        float(np.max(np.abs(x - y)[rows] / scale[rows]))
        for x, y, rows in (
            (after, before, slice(0, 6)),
            (braked.momentum, before, slice(0, 3)),
            (braked.momentum, before, slice(3, 6)),
        )
    )
    checks = [
        bounded("momentum of robot and body over the capture, relative", jump, 1e-12),
        required(
            "kinetic energy lost by the capture",
            "not negative",
            f"{caught.lost:.4g} J",
            caught.lost >= 0.0,
        ),
        bounded("linear momentum at the end, relative", linear, 1e-6),
        required(
            "angular momentum at the end, relative",
            f"error of the scheme in free motion ({scheme_error:.1e}), or rounding",
            f"{angular:.1e}",
            angular <= max(10.0 * scheme_error, 1e-9),
        ),
        required(
            "joint rates at the end",
            "below a hundredth of the largest",
            f"{braked.rate:.2g} of {braked.fastest:.2g} rad/s",
            braked.rate < 0.01 * braked.fastest,
        ),
    ]
    return Outcome(checks)


def _momentum_of(model: VMSModel, q: Array, body: Body, twist: Array) -> Array:
    """Return the momentum of a robot at rest and a body, about the inertial origin, (6,)."""
    placement = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)
    return _SE3.Ad(_SE3.inverse(placement)).T @ (body.spatial() @ twist)


class _Carried(NamedTuple):
    """Momentum about the inertial origin (6,), largest joint rate at the end and of all, rad/s."""

    momentum: Array
    rate: float
    fastest: float


def _carried(
    caught: Capture, duration: float, dt: float, brakes: bool, report: Callable[[float], None]
) -> _Carried:
    """Simulate the robot with its body from the instant of the capture on."""
    model, form = caught.model, DecoupledForm(caught.model)
    law = DecoupledVMSController(model, base_actuated=False)
    law.reset(RobotState(caught.q, caught.v))
    fastest = 0.0
    nothing = Command(np.zeros(model.b), np.zeros(model.n))

    def control(q: Array, v: Array, step: float) -> Command:
        nonlocal fastest
        fastest = max(fastest, float(np.abs(v[model.b :]).max()))
        return law.update(RobotState(q, v), Reference(), step) if brakes else nothing

    simulation = Simulation(form, caught.q, dt, control, start_velocity=caught.v)
    simulate(simulation, round(duration / dt), report)
    sample = simulation.sample()
    d = model.evaluate(sample.q, sample.v)
    return _Carried(momenta(d).spatial, float(np.abs(sample.v[model.b :]).max()), fastest)


STUDY = Study(
    id="space-capture",
    source="Space robotics: capture of a free body by a free-floating robot",
    title="A satellite catches a tumbling body",
    parameters={
        **CUBE,
        "duration": Parameter(20.0, "of the simulation after the capture, s", above=0.0),
        "step": Parameter(0.001, "sampling time, s", above=0.0),
        **BUS,
    },
    compute=_compute,
)
