# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""EPHS beside Pinocchio: steps of the same robot, loops, and the growth with the number of bodies.

The reference is a Runge-Kutta step of fourth order on Pinocchio's ``aba``, in C++ and without
Python in between; the systems of bodies and joints take the same step with heat and environments.
"""

from collections.abc import Callable

import numpy as np

from vms_ph_dynamics.native import native_module
from vms_ph_ephs import Equations, Simulation, System, assemble, closed
from vms_ph_ephs import multibody as mb
from vms_ph_io import robots

from .timing import Case, Timing

REFERENCE = "C++: RK4 on Pinocchio's aba"
_STEP, _STEPS = 1e-3, 50
_CHAIN = "C++: chain of {} bodies"
_LINKS = (1, 5, 10, 20, 40, 60)
_LIMIT, _PYTHON_LIMIT, _LOOP_LIMIT = 5.0, 20.0, 20.0


def chain(links: int) -> System:
    """Return a chain of equal bodies with revolute joints and friction, attached to the ground."""
    up, down = np.eye(4), np.eye(4)
    up[2, 3], down[2, 3] = 0.1, -0.1
    link = mb.rigid_body(1.0, [0.01, 0.01, 0.01])
    joint = mb.joint(mb.Revolute(), down, up, friction=0.01)
    bodies = {f"b{k}": link for k in range(links)}
    names = [mb.GROUND, *bodies]
    joints = {f"j{k}": mb.Between(names[k], names[k + 1], joint) for k in range(links)}
    return mb.mechanism(bodies, joints)


def four_bar(crank: float = 0.2, coupler: float = 0.5, rocker: float = 0.4) -> System:
    """Return a planar four-bar linkage of hinges on a base of half a metre."""
    lengths = {"crank": crank, "coupler": coupler, "rocker": rocker}
    bodies = {name: mb.rigid_body(2.0 * a, [1e-3, a / 6, a / 6]) for name, a in lengths.items()}

    def at(x: float) -> np.ndarray:
        return np.array([[1, 0, 0, x], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]], dtype=float)

    def hinge(first: str, a: float, second: str, b: float) -> mb.Between:
        return mb.Between(first, second, mb.joint(mb.Revolute(), at(a), at(b)))

    joints = {
        "a": hinge(mb.GROUND, 0.0, "crank", -crank / 2),
        "b": hinge("crank", crank / 2, "coupler", -coupler / 2),
        "c": hinge("coupler", coupler / 2, "rocker", rocker / 2),
        "d": hinge(mb.GROUND, 0.5, "rocker", -rocker / 2),
    }
    return mb.mechanism(bodies, joints)


def four_bar_state(equations: Equations) -> np.ndarray:
    """Return a state in which the crank turns."""
    angles = {"a": -1.2, "b": 0.9, "c": 1.9, "d": -1.4}
    return closed(equations, mb.consistent_state(equations, angles, {"a": 3.0}))


def two_arms() -> System:
    """Return two arms of three links in space that hold one bar."""
    bodies = {"bar": mb.rigid_body(1.0, [0.02, 0.02, 0.002])}
    joints: dict[str, mb.Between] = {}
    axes = {
        "x": np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]]),
        "y": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]),
    }

    def frame(axis: str, position: tuple[float, float, float]) -> np.ndarray:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = axes[axis], position
        return pose

    for side, x in (("left", -0.3), ("right", 0.3)):
        last, here = mb.GROUND, (x, 0.0, 0.0)
        for k, axis in enumerate(("x", "y", "x")):
            name = f"{side}{k}"
            bodies[name] = mb.rigid_body(0.5, [0.005, 0.005, 0.001])
            down = frame(axis, (0.0, 0.0, 0.15))
            joints[f"{side}_{k}"] = mb.Between(
                last, name, mb.joint(mb.Revolute(), frame(axis, here), down, friction=0.02)
            )
            last, here = name, (0.0, 0.0, -0.15)
        grip = mb.joint(mb.Spherical(), frame("x", here), frame("x", (x, 0.0, 0.0)))
        joints[f"{side}_grip"] = mb.Between(last, "bar", grip)
    return mb.mechanism(bodies, joints)


def two_arms_state(equations: Equations) -> np.ndarray:
    """Return a state in which the bar is at rest, off the vertical of both arms."""
    pose = np.eye(4)
    pose[:3, 3] = 0.02, 0.03, -0.88
    angles = {"left_0": 0.2, "left_1": 0.2, "left_2": -0.4, "right_0": 0.2, "right_1": 0.2}
    angles["right_2"] = -0.4
    return closed(equations, mb.consistent_state(equations, angles, poses={"bar": pose}))


def cases(robot: str, base: str) -> list[Case]:
    """Return the cases; none without the C++ core."""
    module = native_module()
    if module is None or not hasattr(module, "Mechanism"):
        return []
    bundled = robots.get(robot)
    model = bundled.model(bundled.description(), base)
    arm = assemble(mb.from_urdf(bundled.description(), base, bundled.gravity), check=False)
    q = model.configuration(bundled.home)
    x = mb.state_of(arm, model, q, np.zeros(model.nv))
    native = module.Model(model.pinocchio)
    v = np.zeros(model.nv)
    cases = [
        Case(
            REFERENCE,
            lambda: module.pinocchio_rk4(native, q, v, _STEP, _STEPS),
            per=_STEPS,
        ),
        _case(f"C++: {robot} with heat", arm, x, _LIMIT),
        Case(
            f"from Python: {robot} with heat",
            Simulation(arm, x, _STEP).step,
            reference=REFERENCE,
            limit=_PYTHON_LIMIT,
        ),
    ]
    for name, system, state in (
        ("C++: four-bar linkage", four_bar(), four_bar_state),
        ("C++: two arms and one bar", two_arms(), two_arms_state),
    ):
        equations = assemble(system, check=False)
        cases.append(_case(name, equations, state(equations), _LOOP_LIMIT))
    for links in _LINKS:
        equations = assemble(chain(links), check=False)
        start = mb.consistent_state(equations, {f"j{k}": 0.1 for k in range(links)})
        cases.append(_case(_CHAIN.format(links), equations, start, None))
    return cases


def _case(name: str, equations: Equations, x: np.ndarray, limit: float | None) -> Case:
    Simulation(equations, x)  # finds the rank of the constraints
    core = equations.core
    run: Callable[[], object] = lambda: core.run(x, _STEP, _STEPS)  # noqa: E731
    return Case(name, run, per=_STEPS, reference=REFERENCE, limit=limit)


def growth(timings: list[Timing]) -> str:
    """Return the fit of the growth with the number of bodies, in one line; empty without chains."""
    times = {t.case.name: t.lower for t in timings}
    points = [(n, times[_CHAIN.format(n)]) for n in _LINKS if _CHAIN.format(n) in times]
    if len(points) < 2:
        return ""
    n, t = np.array(points).T
    slope, offset = np.polyfit(n, 1e6 * t, 1)
    large = n >= 5
    power = np.polyfit(np.log(n[large]), np.log(t[large]), 1)[0]
    worst = float(np.abs(1e6 * t / (slope * n + offset) - 1.0)[large].max())
    return (
        f"chains of {int(n[0])} to {int(n[-1])} bodies: {slope:.3g} us per body and step + "
        f"{offset:.3g} us, within {100.0 * worst:.0f} %; time ~ bodies^{power:.2f}"
    )
