# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Integrators of the free motion of a robot: those of this project and of other libraries."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import PHState, Ports, StandardForm
from vms_ph_dynamics.integrators import make_stepper, native_module
from vms_ph_dynamics.integrators.retry import multi_step_with_retry

PINOCCHIO_RK4 = "Pinocchio aba + RK4"

Motion = tuple[Array, Array]
"""Configuration (nq,) and velocity (nv,)."""


@dataclass(frozen=True)
class Run:
    """A motion in progress.

    Attributes:
        steps: performs a number of steps.
        motion: returns the current configuration and velocity.
    """

    steps: Callable[[int], object]
    motion: Callable[[], Motion]


@dataclass(frozen=True)
class Contender:
    """A method of integration.

    Attributes:
        name: name in tables.
        ours: whether it belongs to this project.
        start: returns a run from configuration, velocity and step, s.
        in_bulk: whether one call performs many steps without returning to Python.
    """

    name: str
    ours: bool
    start: Callable[[Array, Array, float], Run]
    in_bulk: bool = False


def ours(model: VMSModel, scheme: str, native: bool = False) -> Contender:
    """Return a scheme of this project in the standard form; failing steps are halved."""
    form = StandardForm(model)
    stepper = make_stepper(scheme, form, native=native)

    def start(q: Array, v: Array, dt: float) -> Run:
        state: dict[str, Any] = {"x": stepper.begin(form.state(q, v), 0.0), "k": 0}
        nothing = Ports()

        def steps(count: int) -> None:
            end = state["k"] + count
            while state["k"] < end:
                k = state["k"]
                done = multi_step_with_retry(stepper, state["x"], nothing, 0.0, dt, k, end - k)
                state["x"], state["k"] = done.result.solver_state, k + done.steps

        return Run(steps, lambda: stepper.motion(state["x"]))

    return Contender(in_cpp(scheme) if native else scheme, True, start, native)


def in_cpp(name: str) -> str:
    """Return the name of a contender where it runs in C++."""
    return f"{name} (C++)"


def pinocchio_rk4_in_cpp(model: VMSModel) -> Iterator[Contender]:
    """Yield the same in C++ with quaternions integrated componentwise, if it is built."""
    module = native_module()
    if module is None or not model.is_plain:
        return
    robot = module.Model(model.pinocchio, model.end_effector)
    scheme, nothing = module.Scheme(robot, "rk4"), module.Ports(robot)

    def start(q: Array, v: Array, dt: float) -> Run:
        state = {"x": scheme.begin(q, v)}

        def steps(count: int) -> None:
            state["x"], _, _ = scheme.run(state["x"], nothing, 0.0, dt, 0, count)

        return Run(steps, lambda: scheme.motion(state["x"]))

    yield Contender(in_cpp(PINOCCHIO_RK4), False, start, in_bulk=True)


def pinocchio_rk4(model: VMSModel) -> Contender:
    """Return RK4 with Pinocchio's aba and integrate."""
    m = model.pinocchio
    data, nothing = m.createData(), np.zeros(model.nv)

    def start(q: Array, v: Array, dt: float) -> Run:
        state = {"q": q, "v": v}
        half = 0.5 * dt

        def step(q: Array, v: Array) -> Motion:
            a1 = pin.aba(m, data, q, v, nothing)
            v2 = v + half * a1
            a2 = pin.aba(m, data, pin.integrate(m, q, half * v), v2, nothing)
            v3 = v + half * a2
            a3 = pin.aba(m, data, pin.integrate(m, q, half * v2), v3, nothing)
            v4 = v + dt * a3
            a4 = pin.aba(m, data, pin.integrate(m, q, dt * v3), v4, nothing)
            q = pin.integrate(m, q, (dt / 6.0) * (v + 2.0 * (v2 + v3) + v4))
            return q, v + (dt / 6.0) * (a1 + 2.0 * (a2 + a3) + a4)

        def steps(count: int) -> None:
            q, v = state["q"], state["v"]
            for _ in range(count):
                q, v = step(q, v)
            state["q"], state["v"] = q, v

        return Run(steps, lambda: (state["q"], state["v"]))

    return Contender(PINOCCHIO_RK4, False, start)


def from_mujoco(model: VMSModel, xml: str) -> Iterator[Contender]:
    """Yield MuJoCo's RK4 and implicitfast, if MuJoCo is installed."""
    try:
        from .mujoco_robot import MujocoRobot
    except ImportError:
        return
    for integrator in ("RK4", "implicitfast"):
        robot = MujocoRobot(model, xml, integrator)

        def start(q: Array, v: Array, dt: float, robot: "MujocoRobot" = robot) -> Run:
            robot.begin(q, v, dt)
            return Run(robot.steps, robot.motion)

        yield Contender(f"MuJoCo {integrator}", False, start, in_bulk=True)


def initial_motion(model: VMSModel) -> Motion:
    """Return a motion with joint rates of about 1 rad/s and the centre of mass at rest.

    On a fixed base the arm starts at rest and falls.
    """
    form = StandardForm(model)
    rates = np.resize([0.76, -0.33, -0.68, 0.51, 0.55, -0.65, -0.38], model.n)
    q = model.integrate(model.neutral_configuration(), np.r_[np.zeros(model.b), 0.5 * rates])
    v = np.zeros(model.nv)
    if model.base == "fixed":
        return q, v
    v[model.b :] = rates
    k = {"planar": 2, "floating": 3}[model.base]
    v[k : model.b] = [0.3, -0.25, 0.4][k - model.b :]
    v[:k] -= model.evaluate(q, v).p[:k] / model.total_mass
    x: PHState = form.state(q, v)
    return x.q, form.velocity(x)
