# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""EPHS beside Pinocchio: assembly, steps of the same robot, a loop, growth with the bodies.

The reference is a Runge-Kutta step of fourth order on Pinocchio's ``aba``; that in C++ runs
without Python in between. Systems of bodies and joints take the same step with heat and
environments.
"""

from functools import partial

import numpy as np

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.native import native_module
from vms_ph_ephs import Equations, Simulation, System, assemble, close_loops
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import TwoBodies
from vms_ph_io import robots

from . import Benchmark
from .integrators import PINOCCHIO_RK4, pinocchio_rk4
from .timing import Case, Timing

_RK4_IN_CPP = "C++: RK4 on Pinocchio's aba"
_STEP, _STEPS = 1e-3, 50
_CHAIN = "C++: chain of {} bodies"
_LINK_COUNTS = (1, 5, 10, 20, 40, 60)


def chain(link_count: int) -> System:
    """Return a chain of equal bodies with revolute joints and friction, attached to the ground."""
    top_pose, bottom_pose = np.eye(4), np.eye(4)
    top_pose[2, 3], bottom_pose[2, 3] = 0.1, -0.1
    body = mb.rigid_body(1.0, [0.01, 0.01, 0.01])
    joint = mb.joint(mb.Revolute(), bottom_pose, top_pose, friction=0.01)
    bodies = {f"b{k}": body for k in range(link_count)}
    names = [mb.GROUND, *bodies]
    joints = {f"j{k}": mb.Between(names[k], names[k + 1], joint) for k in range(link_count)}
    return mb.mechanism(bodies, joints)


def four_bar(crank: float = 0.2, coupler: float = 0.5, rocker: float = 0.4) -> System:
    """Return a planar four-bar linkage of hinges on a base of half a metre."""
    lengths = {"crank": crank, "coupler": coupler, "rocker": rocker}
    bodies = {name: mb.rigid_body(2.0 * a, [1e-3, a / 6, a / 6]) for name, a in lengths.items()}

    def hinge_pose(x: float) -> np.ndarray:
        return np.array([[1, 0, 0, x], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]], dtype=float)

    def hinge(body: str, a: float, other_body: str, b: float) -> mb.Between:
        return mb.Between(body, other_body, mb.joint(mb.Revolute(), hinge_pose(a), hinge_pose(b)))

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
    return close_loops(equations, mb.consistent_state(equations, angles, {"a": 3.0}))


def _cases(robot: str, base: str) -> list[Case]:
    model = robots.load(robot, base=base)
    q, v, xml = model.home, np.zeros(model.nv), model.urdf
    # Without friction, which would end the motion; at rest an implicit step needs no iterations.
    two_bodies = TwoBodies(friction=(0.0, 0.0))
    pendulum = assemble(two_bodies.pendulum())
    x = two_bodies.pendulum_state(pendulum)
    arm = assemble(mb.from_urdf(xml, base, model.gravity.tolist()))
    rk4 = pinocchio_rk4(model).start(q, v, _STEP)
    return [
        Case(PINOCCHIO_RK4, lambda: rk4.advance(1)),
        Case("two-body pendulum, step of 1 ms", Simulation(pendulum, x).step, max_median=_STEP),
        Case(
            "the same with discrete gradients",
            Simulation(pendulum, x, scheme="discrete_gradient").step,
        ),
        Case(f"{robot}, step of 1 ms", Simulation(arm, mb.consistent_state(arm)).step),
        Case(
            f"assembling {robot} from its URDF",
            lambda: assemble(mb.from_urdf(xml, base, model.gravity.tolist())),
            max_median=1.0,
        ),
        Case("assembling a chain of 60 bodies", lambda: assemble(chain(60)), max_median=10.0),
        *_cpp_cases(robot, model, arm, q, v),
    ]


def _cpp_cases(robot: str, model: VMSModel, arm: Equations, q: Array, v: Array) -> list[Case]:
    """Return the cases of the C++ core; none without it."""
    module = native_module()
    if module is None or not hasattr(module, "Mechanism"):
        return []
    x, native = mb.state_of(arm, model, q, v), module.Model(model.pinocchio)
    linkage = assemble(four_bar(), check=False)
    cases = [
        Case(_RK4_IN_CPP, lambda: module.pinocchio_rk4(native, q, v, _STEP, _STEPS), units=_STEPS),
        _cpp_case(f"C++: {robot} with heat", arm, x, 5.0),
        Case(
            f"from Python: {robot} with heat",
            Simulation(arm, x, _STEP).step,
            reference=_RK4_IN_CPP,
            max_ratio=20.0,
        ),
        _cpp_case("C++: four-bar linkage", linkage, four_bar_state(linkage), 20.0),
    ]
    for link_count in _LINK_COUNTS:
        equations = assemble(chain(link_count), check=False)
        start_state = mb.consistent_state(equations, {f"j{k}": 0.1 for k in range(link_count)})
        cases.append(_cpp_case(_CHAIN.format(link_count), equations, start_state, None))
    return cases


def _cpp_case(name: str, equations: Equations, x: np.ndarray, max_ratio: float | None) -> Case:
    Simulation(equations, x)  # finds the rank of the constraints
    core = equations.core
    step = partial(core.step, 0.0, x, _STEP, None, 1e-6)
    return Case(name, step, reference=_RK4_IN_CPP, max_ratio=max_ratio)


def _growth_fit(timings: list[Timing]) -> str:
    """Return the fit of the growth with the number of bodies, in one line; empty without chains."""
    times = {timing.case.name: timing.lower for timing in timings}
    points = [(n, times[_CHAIN.format(n)]) for n in _LINK_COUNTS if _CHAIN.format(n) in times]
    if len(points) < 2:
        return ""
    n, t = np.array(points).T
    step_cost, offset = np.polyfit(n, 1e6 * t, 1)
    is_large = n >= 5
    exponent = np.polyfit(np.log(n[is_large]), np.log(t[is_large]), 1)[0]
    largest_error = float(np.abs(1e6 * t / (step_cost * n + offset) - 1.0)[is_large].max())
    return (
        f"chains of {int(n[0])} to {int(n[-1])} bodies: {step_cost:.3g} us per body and step + "
        f"{offset:.3g} us, within {100.0 * largest_error:.0f} %; time ~ bodies^{exponent:.2f}"
    )


BENCHMARKS = [
    Benchmark(
        "ephs",
        "bodies and joints as port-Hamiltonian systems",
        PINOCCHIO_RK4,
        _cases,
        base="fixed",
        summary=_growth_fit,
    )
]
