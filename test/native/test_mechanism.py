# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms in C++, along their tree: those of numpy, which solves all constraints at once."""

import timeit
from collections.abc import Callable
from functools import partial
from types import ModuleType

import numpy as np
import pytest

from vms_ph_dynamics import ModelError
from vms_ph_ephs import (
    Equations,
    SimulationError,
    SingularConstraint,
    System,
    TemperatureError,
    assemble,
    close_loops,
    simulate,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import TwoBodies, oscillator
from vms_ph_ephs.simulation import Simulation
from vms_ph_io import robots
from vms_ph_studies.benchmarks.ephs import chain, four_bar, four_bar_state

pytestmark = pytest.mark.usefixtures("native")

Start = Callable[[Equations], np.ndarray]


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
    return close_loops(equations, mb.consistent_state(equations, angles, poses={"bar": pose}))


def of_robot(name: str) -> tuple[System, Start]:
    robot, model = robots.get(name), robots.load(name)
    rng = np.random.default_rng(1)
    q, v = model.random_configuration(rng), rng.uniform(-1.0, 1.0, model.nv)
    system = mb.from_urdf(robot.description(), robot.base, robot.gravity)
    return system, lambda equations: mb.state_of(equations, model, q, v)


def tree_of_all_pairs() -> tuple[System, Start]:
    """Bodies on every pair in turn, one joint from child to parent, with springs and heat."""
    rng = np.random.default_rng(3)

    def frame() -> np.ndarray:
        return TwoBodies().offsets[0] @ TwoBodies().suspension[int(rng.integers(2))]

    pairs: list[mb.LowerPair] = [
        mb.Revolute(),
        mb.Prismatic(),
        mb.Screw(0.3),
        mb.Cylindrical(),
        mb.Planar(),
        mb.Spherical(),
    ]
    bodies = {f"b{k}": mb.rigid_body(1.0 + 0.2 * k, [0.03, 0.02, 0.025]) for k in range(len(pairs))}
    joints = {}
    for k, pair in enumerate(pairs):
        joint = mb.joint(
            pair,
            frame(),
            frame(),
            friction=mb.Coulomb(0.2, 0.1, softening=0.05, reference=290.0)
            if k == 1
            else 0.1 * (k + 1),
            potential=mb.Spring(pair, 0.5, 0.1) if pair.is_vector_space else None,
            heat=mb.Heat(capacity=3.0, conductance=0.2) if k % 2 else None,
            armature=0.01 if k == 1 else 0.0,
            driven=k == 2,
        )
        ends = (mb.GROUND if k == 0 else f"b{(k - 1) // 2}", f"b{k}")
        joints[f"j{k}"] = mb.Between(*(ends if k != 3 else ends[::-1]), joint)
    system = mb.mechanism(bodies, joints, open_bodies=["b4"])
    moved = {"j0": 0.4, "j1": 0.2, "j2": -0.3, "j3": [0.1, 0.5]}
    rates = {"j0": 0.5, "j1": -0.4, "j2": 1.0, "j4": [0.2, 0.1, 0.4], "j5": [0.3, -0.5, 0.7]}
    return system, lambda equations: mb.consistent_state(equations, moved, rates)


SYSTEMS: dict[str, Callable[[], tuple[System, Start]]] = {
    "pendulum": lambda: (TwoBodies().pendulum(), TwoBodies().pendulum_state),
    "free bodies": lambda: (TwoBodies().free(), TwoBodies().free_state),
    "all pairs": tree_of_all_pairs,
    "four-bar": lambda: (four_bar(), four_bar_state),
    "two arms": lambda: (two_arms(), two_arms_state),
    "panda": lambda: of_robot("panda"),
    "omnidirectional_panda": lambda: of_robot("omnidirectional_panda"),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_rates_and_steps_along_the_tree_are_those_of_the_general_solver(name: str) -> None:
    system, start = SYSTEMS[name]()
    oracle = assemble(system, check=False, native=False)
    ours = assemble(system, check=False, native=True)
    x = start(oracle)
    inputs = dict.fromkeys(system.pattern.outer, 0.3)
    a, b = (Simulation(equations, x, 1e-3, inputs=inputs) for equations in (oracle, ours))
    flow = oracle.flow_vector({port: np.array(0.3) for port in inputs})
    expected, found = oracle.tangent(a.x, flow), ours.core.rates(a.x, flow)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other, one, rtol=0.0, atol=1e-11 * np.abs(one).max())
    for _ in range(3):
        a.step()
        b.step()
    # Where constraints are redundant, stages that violate them by the order differ by as much.
    scale = 1e-9 if ours.core.loop_rows else 1e-12
    np.testing.assert_allclose(b.x, a.x, rtol=0.0, atol=scale * (1.0 + np.abs(a.x).max()))
    assert b.supplied == pytest.approx(a.supplied, abs=1e-13 + scale)
    assert ours.core.energy(a.x) == pytest.approx(oracle.storages.energy(a.x), rel=1e-13)
    assert b.violation() < 1e-12


def test_a_run_along_the_tree_records_the_same_books() -> None:
    two = TwoBodies(heat=mb.Heat(capacity=20.0, conductance=0.1))
    runs = []
    for native in (False, True):
        equations = assemble(two.pendulum(), check=False, native=native)
        x = two.pendulum_state(equations)
        runs.append(simulate(equations, x, 1e-3, 20, inputs=lambda t, x: {}))
    for name in ("states", "energy", "entropy", "supplied", "violation"):
        expected, found = (getattr(run, name) for run in runs)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=name)


def test_what_fails_along_the_tree_is_named_as_by_the_general_solver() -> None:
    two = TwoBodies(heat=mb.Heat(capacity=1e-4))
    cold = assemble(two.pendulum(), check=False, native=True)
    x = two.pendulum_state(cold)
    x[cold.layout.find("j1.s").indices] = -1.0
    with pytest.raises(TemperatureError, match=r"j1\.th"):
        Simulation(cold, x).step()
    long = assemble(TwoBodies().pendulum(), check=False, native=True)
    with pytest.raises(SimulationError, match=r"opens joint 'j\d' by"):
        Simulation(long, TwoBodies().pendulum_state(long), 1.0).step()


def test_singular_loops_are_named_along_the_tree_too() -> None:
    # A parallelogram folds flat when its crank points along the base: there it may go two ways.
    equations = assemble(four_bar(0.2, 0.5, 0.2), check=False, native=True)
    near = {"a": 0.4, "b": -0.4, "c": 0.4, "d": 0.4}
    x = close_loops(equations, mb.consistent_state(equations, near, {"a": -8.0}))
    with pytest.raises(SingularConstraint, match=r"constraint of '[abcd]' is singular") as caught:
        simulate(equations, x, dt=1e-3, steps=1000, stride=1000)
    angle = float(equations.states.value(np.asarray(caught.value.state), "a.q_r")[0])
    assert abs(angle) < 0.05
    flat = mb.consistent_state(equations, dict.fromkeys("abcd", 0.0))
    with pytest.raises(SingularConstraint, match="began at a singular configuration"):
        simulate(equations, flat, dt=1e-2, steps=200, stride=200)


def test_a_system_that_the_core_does_not_know_is_solved_by_numpy(native: ModuleType) -> None:
    assert assemble(oscillator()).core is None
    with pytest.raises(ModelError, match="native=True: the system has no bodies"):
        assemble(oscillator(), native=True)
    bent = mb.Friction(lambda q, u, theta: np.array([[0.1]]), mb.Revolute())
    joint = mb.joint(mb.Revolute(), friction=bent)
    rod = mb.rigid_body(1.0, [0.1, 0.1, 0.1])
    system = mb.mechanism({"rod": rod}, {"j": mb.Between("ground", "rod", joint)})
    assert assemble(system).core is None
    with pytest.raises(ModelError, match=r"box 'j\.mf' is not one of the bodies"):
        assemble(system, native=True)


def test_the_cost_is_in_proportion_to_the_number_of_bodies() -> None:
    costs = {}
    for links in (5, 40):
        equations = assemble(chain(links), check=False, native=True)
        x = mb.consistent_state(equations, {f"j{k}": 0.1 for k in range(links)})
        step = partial(equations.core.step, 0.0, x, 1e-3, None, 1e-6)
        costs[links] = min(timeit.repeat(step, number=3))
    # Eight times the bodies; dense constraints would cost 512 times as much.
    assert costs[40] < 16.0 * costs[5]
