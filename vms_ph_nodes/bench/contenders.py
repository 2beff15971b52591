"""Ways to integrate the free motion of a robot: ours, and those a user would take instead."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.integrators import make_stepper, take
from vms_ph_dynamics.structure import PHState, Ports, StandardForm

Motion = tuple[Array, Array]
"""Configuration and velocity, as everywhere here."""


@dataclass(frozen=True)
class Run:
    """A motion under way.

    Attributes:
        step: takes one step.
        motion: returns configuration and velocity now.
    """

    step: Callable[[], object]
    motion: Callable[[], Motion]


@dataclass(frozen=True)
class Contender:
    """A way to integrate.

    Attributes:
        name: what it is called in tables.
        ours: whether it is of this project.
        start: makes a run from configuration, velocity and step, s.
    """

    name: str
    ours: bool
    start: Callable[[Array, Array, float], Run]


def ours(model: VMSModel, scheme: str) -> Contender:
    """Return one of our schemes, on the momenta of the standard form; failing steps are halved."""
    form = StandardForm(model)
    stepper = make_stepper(scheme, form)

    def start(q: Array, v: Array, dt: float) -> Run:
        state: dict[str, Any] = {"x": stepper.begin(form.state(q, v), 0.0), "k": 0}
        nothing = Ports()

        def step() -> None:
            state["x"] = take(stepper, state["x"], nothing, state["k"] * dt, dt).advance.carried
            state["k"] += 1

        return Run(step, lambda: stepper.motion(state["x"]))

    return Contender(scheme, True, start)


def by_hand(model: VMSModel) -> Contender:
    """Return what is written in a quarter of an hour: Pinocchio's aba, integrate and RK4."""
    m = model.pinocchio
    data, nothing = m.createData(), np.zeros(model.nv)

    def start(q: Array, v: Array, dt: float) -> Run:
        state = {"q": q, "v": v}
        half = 0.5 * dt

        def step() -> None:
            q, v = state["q"], state["v"]
            a1 = pin.aba(m, data, q, v, nothing)
            v2 = v + half * a1
            a2 = pin.aba(m, data, pin.integrate(m, q, half * v), v2, nothing)
            v3 = v + half * a2
            a3 = pin.aba(m, data, pin.integrate(m, q, half * v2), v3, nothing)
            v4 = v + dt * a3
            a4 = pin.aba(m, data, pin.integrate(m, q, dt * v3), v4, nothing)
            state["q"] = pin.integrate(m, q, (dt / 6.0) * (v + 2.0 * (v2 + v3) + v4))
            state["v"] = v + (dt / 6.0) * (a1 + 2.0 * (a2 + a3) + a4)

        return Run(step, lambda: (state["q"], state["v"]))

    return Contender("Pinocchio aba + RK4", False, start)


def from_mujoco(model: VMSModel, xml: str) -> Iterator[Contender]:
    """Yield MuJoCo's RK4 and implicitfast; nothing where MuJoCo is not installed."""
    try:
        from .mujoco_robot import MujocoRobot
    except ImportError:
        return
    for integrator in ("RK4", "implicitfast"):
        robot = MujocoRobot(model, xml, integrator)

        def start(q: Array, v: Array, dt: float, robot: "MujocoRobot" = robot) -> Run:
            robot.begin(q, v, dt)
            return Run(robot.step, robot.motion)

        yield Contender(f"MuJoCo {integrator}", False, start)


def moving(model: VMSModel) -> Motion:
    """Return a motion with every joint at about a radian per second and the centre of mass at rest.

    A fixed arm starts at rest instead, and falls.
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
