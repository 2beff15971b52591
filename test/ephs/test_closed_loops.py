# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Closed chains run, and singular ones are named."""

from functools import cache

import numpy as np
import pytest

from vms_ph_dynamics.groups import SO3, pose
from vms_ph_ephs import SingularConstraint, System, Trajectory, assemble, close_loops, simulate
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.simulation import Projection

# A hinge about the inertial y axis: the linkage moves in the plane of x and z.
TURN = SO3().exp(np.array([-np.pi / 2, 0.0, 0.0]))


def at(x: float) -> np.ndarray:
    return pose(TURN, np.array([x, 0.0, 0.0]))


def rod(length: float) -> System:
    mass = 2.0 * length
    thin = mass * length**2 / 12.0
    return mb.rigid_body(mass, [1e-3, thin, thin])


def four_bar(crank: float, coupler: float, rocker: float, base: float) -> System:
    """Ground, crank, coupler, rocker, ground: rods along their own x axes."""

    def hinge(a: np.ndarray, b: np.ndarray) -> System:
        return mb.joint(mb.Revolute(), a, b)

    lengths = {"crank": crank, "coupler": coupler, "rocker": rocker}
    return mb.mechanism(
        {name: rod(length) for name, length in lengths.items()},
        {
            "a": mb.Between("ground", "crank", hinge(at(0.0), at(-crank / 2))),
            "b": mb.Between("crank", "coupler", hinge(at(crank / 2), at(-coupler / 2))),
            "c": mb.Between("coupler", "rocker", hinge(at(coupler / 2), at(rocker / 2))),
            "d": mb.Between("ground", "rocker", hinge(at(base), at(-rocker / 2))),
        },
    )


def assembled_four_bar() -> tuple[object, np.ndarray]:
    equations = assemble(four_bar(0.2, 0.5, 0.4, 0.5))
    # A guess of the angles; closing the loop is a matter of Newton's method.
    guess = mb.consistent_state(equations, {"a": -1.2, "b": 0.9, "c": 1.9, "d": -1.4}, {"a": 3.0})
    return equations, close_loops(equations, guess)


@cache
def turning_four_bar() -> Trajectory:
    equations, x = assembled_four_bar()
    return simulate(equations, x, dt=8e-4, steps=250)


def test_a_four_bar_linkage_turns_with_redundant_constraints() -> None:
    motion = turning_four_bar()
    equations = motion.equations
    # Four hinges with 5 constraints each on three bodies of 6 freedoms leave one: rank 17 of 20.
    assert equations.constraints.row_count == 20
    assert equations.rank == 17
    assert motion.violation.max() < 1e-12
    assert np.abs(motion.first_law).max() < 1e-9
    assert np.ptp(motion.value("a.q_r")) > 0.5


def test_the_four_bar_linkage_obeys_freudensteins_equation_and_its_one_freedom() -> None:
    crank, coupler, rocker = 0.2, 0.5, 0.4
    motion, samples = turning_four_bar(), 201
    equations, states, dt = motion.equations, motion.states[:samples], motion.t[1]
    ends = []
    for k in range(samples):
        c, r = motion.value("crank.q")[k], motion.value("rocker.q")[k]
        pin_b = c @ np.array([crank / 2, 0.0, 0.0, 1.0])
        pin_c = r @ np.array([rocker / 2, 0.0, 0.0, 1.0])
        ends.append(np.linalg.norm(pin_b - pin_c))
    np.testing.assert_allclose(ends, coupler, rtol=0, atol=1e-12)

    # One freedom: with I(q) = sum of kinetic terms per squared crank rate, E = I qd^2 / 2 + V.
    # Energy alone then determines the motion along the curve of positions.
    q = motion.value("a.q_r")[:samples, 0]
    rate = np.array([mb.joint_velocities(equations, s)["a"][0] for s in states])
    kinetic = []
    potential = []
    for s in states:
        energies = equations.storages.energies(s)
        kinetic.append(sum(v for k, v in energies.items() if k.endswith(".ke")))
        potential.append(sum(v for k, v in energies.items() if k.endswith(".pe")))
    inertia = 2.0 * np.array(kinetic) / rate**2
    energy = kinetic[0] + potential[0]
    # Where the crank turns back, its rate has few digits to divide by.
    expected = np.sign(rate) * np.sqrt(2.0 * (energy - np.array(potential)) / inertia)
    np.testing.assert_allclose(rate, expected, rtol=1e-9, atol=1e-10)
    # And the rate is that of the angle: the trapezoidal rule, of second order.
    gained = float(np.sum(0.5 * dt * (rate[1:] + rate[:-1])))
    assert q[-1] - q[0] == pytest.approx(gained, abs=1e-5)


def test_an_outstretched_four_bar_linkage_is_refused_by_name() -> None:
    # A parallelogram folds flat when its crank points along the base: there it may go two ways.
    equations = assemble(four_bar(0.2, 0.5, 0.2, 0.5))
    x = close_loops(
        equations,
        mb.consistent_state(equations, {"a": 0.4, "b": -0.4, "c": 0.4, "d": 0.4}, {"a": -8.0}),
    )
    with pytest.raises(
        SingularConstraint, match=r"at t = .*constraint of '[abcd]' is singular"
    ) as caught:
        simulate(equations, x, dt=1e-3, steps=1000)
    error = caught.value
    assert error.time is not None
    # The state is the last good one: its angle has not passed the flat position by a step.
    angle = float(equations.states.value(np.asarray(error.state), "a.q_r")[0])
    assert abs(angle) < 0.05


def test_the_same_joint_twice_is_redundant_and_moves_as_one() -> None:
    def system(copies: int) -> System:
        joint = mb.joint(mb.Revolute(), at(0.0), at(-0.3))
        between = mb.Between("ground", "rod", joint)
        return mb.mechanism({"rod": rod(0.6)}, {f"j{i}": between for i in range(copies)})

    ends = []
    for copies in (1, 2):
        equations = assemble(system(copies))
        start = {f"j{i}": 0.5 for i in range(copies)}
        motion = simulate(equations, mb.consistent_state(equations, start), dt=1e-3, steps=80)
        ends.append(motion.value("rod.q")[-1])
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-12)


def test_a_long_open_chain_has_no_dependent_constraints() -> None:
    # The least eigenvalue of its constraints falls with the fourth power of its length.
    joint = mb.joint(mb.Revolute(), at(0.1), at(-0.1))
    links = {f"b{k}": rod(0.2) for k in range(40)}
    names = ["ground", *links]
    chain = mb.mechanism(
        links, {f"j{k}": mb.Between(names[k], names[k + 1], joint) for k in range(40)}
    )
    equations = assemble(chain)
    assert Projection(equations).find_rank(mb.consistent_state(equations)) == 200
    motion = simulate(equations, mb.consistent_state(equations), dt=1e-3, steps=3)
    assert motion.violation.max() < 1e-12


def test_a_motion_that_begins_at_a_singular_position_is_refused_once_it_leaves_it() -> None:
    equations = assemble(four_bar(0.2, 0.5, 0.2, 0.5))
    flat = mb.consistent_state(equations, {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0})
    with pytest.raises(SingularConstraint, match="began at a singular configuration"):
        simulate(equations, flat, dt=1e-2, steps=200)


def test_discrete_gradients_keep_the_energy_of_a_closed_loop() -> None:
    equations, x = assembled_four_bar()
    motion = simulate(equations, x, dt=2e-3, steps=50, scheme="discrete_gradient", stride=10)
    # Rounding of 50 steps; the joints drift apart by the square of the step.
    assert np.abs(motion.first_law).max() < 1e-13
    assert motion.violation.max() < 1e-3
