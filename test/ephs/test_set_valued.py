# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Dry friction that sticks, and unilateral contact, as Onsager structures."""

import numpy as np
import pytest

from vms_ph_ephs import (
    Component,
    Contact,
    DryFriction,
    Environment,
    Quadratic,
    Reversible,
    Storage,
    StructureError,
    System,
    assemble,
    compose,
    displacement,
    momentum,
    power,
    simulate,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.errors import SimulationError
from vms_ph_ephs.library import PlaneContact, point_mass
from vms_ph_ephs.quantities import R
from vms_ph_ephs.simulation.impulses import ActiveRows, impulses

SCHEMES = ("projected_rk4", "discrete_gradient")
GRAVITY = 9.81


def on_a_line(process: Component, port: str, mass: float = 1.0, weight: float = 0.0) -> System:
    """A mass on a line with a process at its momentum, and an outer port for a force."""
    potential = Storage(
        {"q": power(displacement)}, lambda q: weight * q, lambda q: np.full(1, weight)
    )
    reading = ("process.q",) if "q" in process.interface else ()
    return compose(
        {
            "ke": Quadratic({"p": power(momentum)}, 1.0 / mass),
            "pe": potential,
            "pkc": Reversible(
                {"q": power(displacement), "p": power(momentum)}, skew=[[0, -1], [1, 0]]
            ),
            "process": process,
            "env": Environment(300.0),
        },
        {
            "q": ("pe.q", "pkc.q", *reading),
            "p": ("ke.p", "pkc.p", f"process.{port}", "p"),
            "s": ("process.s", "env.s"),
        },
        ["p"],
    )


def ball(restitution: float) -> System:
    contact = Contact(
        displacement, lambda q: float(q[0]), lambda q: np.eye(1), restitution=restitution
    )
    return on_a_line(contact, "p", mass=0.5, weight=0.5 * GRAVITY)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_block_that_is_pushed_below_dry_friction_does_not_creep(scheme: str) -> None:
    equations = assemble(on_a_line(DryFriction(1.0, R, "p"), "p"))
    motion = simulate(
        equations, equations.states.vector(), 1e-3, 300, scheme=scheme, inputs={"p": [0.855]}
    )
    assert np.abs(motion.value("q")).max() == 0.0
    assert motion.entropy[-1] == motion.entropy[0]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_block_that_is_shaken_below_dry_friction_stays_where_it_is(scheme: str) -> None:
    equations = assemble(on_a_line(DryFriction(1.0, R, "p"), "p"))
    motion = simulate(
        equations,
        equations.states.vector(),
        1e-3,
        60,
        scheme=scheme,
        # It changes within a step, so that friction must balance its mean.
        inputs=lambda t, x: {"p": [0.5 + 0.4 * np.sin(300.0 * t)]},
    )
    assert np.abs(motion.value("q")).max() < 1e-18
    assert np.abs(motion.value("p")).max() < 1e-17


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_sliding_block_stops_where_its_energy_is_spent_and_stays(scheme: str) -> None:
    equations = assemble(on_a_line(DryFriction(1.0, R, "p"), "p", mass=2.0))
    start = equations.states.vector({"p": 2.0 * 0.1})
    motion = simulate(equations, start, 1e-3, 250, scheme=scheme)
    # v^2 / (2 mu): 0.01 m after 0.2 s, to the square of a step
    assert motion.value("q")[-1][0] == pytest.approx(0.01, abs=1e-7)
    assert motion.value("p")[-1][0] == 0.0
    assert motion.value("q")[-1] == motion.value("q")[220]
    assert np.abs(motion.first_law).max() < 1e-14
    assert np.diff(motion.entropy).min() >= 0.0
    assert 300.0 * (motion.entropy[-1] - motion.entropy[0]) == pytest.approx(0.01, rel=1e-12)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_a_block_that_stops_within_a_step_under_a_changing_load_is_slowed_evenly(
    share: float,
) -> None:
    equations = assemble(on_a_line(DryFriction(1.0, R, "p"), "p"))
    dt, force, rate = 1e-3, 0.3, 300.0
    momentum = share * dt
    motion = simulate(
        equations,
        equations.states.vector({"p": momentum}),
        dt,
        1,
        inputs=lambda t, x: {"p": [force * np.sin(rate * t)]},
    )
    # The friction of the step takes its momentum and the impulse of the load, and no more.
    impulse = force * (1.0 - np.cos(rate * dt)) / rate
    moved = force * (dt - np.sin(rate * dt) / rate) / rate
    path = momentum * dt + moved - 0.5 * (momentum + impulse) * dt
    # Runge-Kutta integrates the load to 1.1e-11 m.
    assert motion.value("q")[-1][0] == pytest.approx(path, abs=2e-11)
    assert motion.value("p")[-1][0] == pytest.approx(0.0, abs=1e-18)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_ball_under_a_load_that_changes_stays_on_the_ground(scheme: str) -> None:
    equations = assemble(ball(0.0))
    motion = simulate(
        equations,
        equations.states.vector(),
        1e-3,
        60,
        scheme=scheme,
        inputs=lambda t, x: {"p": [-2.0 + 4.0 * np.sin(300.0 * t)]},
    )
    assert np.abs(motion.value("q")).max() < 1e-17
    assert np.abs(motion.value("p")).max() < 1e-17


def test_a_block_that_a_force_turns_back_produces_entropy_in_every_step() -> None:
    equations = assemble(on_a_line(DryFriction(1.0, R, "p"), "p"))
    start = equations.states.vector({"p": 0.05})

    def force(t: float, x: np.ndarray) -> dict[str, list[float]]:
        return {"p": [0.9 if t > 0.05 else -4.0]}

    motion = simulate(equations, start, 1e-3, 120, inputs=force, scheme="discrete_gradient")
    assert np.diff(motion.entropy).min() >= 0.0
    assert motion.value("p").min() < -0.05  # it slid back
    assert motion.value("p")[-1] == 0.0  # and stopped under 0.9 N
    assert np.abs(motion.first_law).max() < 1e-12


@pytest.mark.parametrize("restitution", [0.0, 0.6, 1.0])
def test_the_books_of_an_impact_close_and_entropy_never_falls(restitution: float) -> None:
    equations = assemble(ball(restitution))
    fallen = 0.02
    start = equations.states.vector({"q": fallen})
    motion = simulate(equations, start, 1e-3, 110)
    assert np.abs(motion.first_law).max() < 1e-13
    assert np.diff(motion.entropy).min() >= 0.0
    lost = 300.0 * (motion.entropy[-1] - motion.entropy[0])
    spent = 0.5 * GRAVITY * fallen * (1.0 - restitution**2)
    assert lost == pytest.approx(spent, abs=2e-7 if restitution < 1.0 else 1e-15)
    assert motion.value("q").min() > -2e-9


def test_a_ball_rises_again_to_the_square_of_its_restitution() -> None:
    equations = assemble(ball(0.6))
    motion = simulate(equations, equations.states.vector({"q": 0.05}), 1e-3, 180)
    after = motion.value("q")[110:, 0]
    assert after.max() == pytest.approx(0.36 * 0.05, rel=2e-4)


@pytest.mark.parametrize("n", [5, 20])
def test_every_contact_of_a_stack_that_lands_carries_the_momentum_above_it(n: int) -> None:
    masses, none, fall = np.arange(1.0, n + 1.0), np.zeros(n), np.eye(n)[0]
    rows = np.eye(n) - np.eye(n, k=-1)  # of gaps, over the velocities of the blocks
    mobility, normal = (rows / masses) @ rows.T, np.full(n, -1)
    stack = ActiveRows(
        [], none, np.full(n, np.inf), none, normal, none, rows, fall, mobility, rows.T
    )
    carried = impulses(stack, fall, 1e-3, none, none)
    np.testing.assert_allclose(carried, np.cumsum(masses[::-1])[::-1], rtol=1e-12)


def test_impulses_that_are_not_found_are_refused_and_not_taken_for_found_ones() -> None:
    # Sweeps go round in a circle between what sticks and what slides at these three contacts.
    rng, k = np.random.default_rng(78), 9
    rows, masses = rng.normal(size=(k, 8)), 10.0 ** rng.uniform(-0.5, 0.5, 8)
    fall, mobility = rows @ rng.normal(size=8), (rows / masses) @ rows.T
    none, is_normal = np.zeros(k), np.arange(k) % 3 == 0
    scene = ActiveRows(
        [], np.full(k, -np.inf), np.where(is_normal, 0.0, np.inf), np.where(is_normal, 0.0, 1.0),
        np.where(is_normal, -1, 3 * (np.arange(k) // 3)), none, rows, fall, mobility, rows.T,
    )  # fmt: skip
    with pytest.raises(SimulationError, match=r"not found: velocities of up to 5.43 m/s"):
        impulses(scene, fall, 1e-3, none, none)


def test_a_bounce_that_dies_away_ends_at_rest_on_the_ground() -> None:
    equations = assemble(ball(0.3))
    motion = simulate(equations, equations.states.vector({"q": 0.002}), 1e-3, 60)
    # Rounding of the impulse of its weight in a step, 5e-3 N s.
    assert abs(motion.value("p")[-1][0]) < 1e-17
    assert abs(motion.value("q")[-1][0]) < 1e-8
    assert motion.value("q")[-1][0] == pytest.approx(motion.value("q")[-10][0], abs=1e-20)
    assert np.abs(motion.first_law).max() < 1e-14


def test_a_joint_sticks_under_a_load_below_its_dry_friction() -> None:
    down = np.eye(4)
    down[2, 3] = 0.2
    level = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1]], dtype=float)
    joint = mb.joint(
        mb.Revolute(),
        level,
        level @ np.array([[1.0, 0, 0, -0.2], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
        friction=DryFriction(2.5, mb.Revolute()),
    )
    rod = mb.rigid_body(1.0, [0.01, 0.01, 0.001])
    arm = assemble(mb.mechanism({"rod": rod}, {"hinge": mb.Between("ground", "rod", joint)}))
    start = mb.consistent_state(arm, {"hinge": 0.3})
    load = abs(arm.rates(start).tangent[arm.layout.entries["rod.p"]]).max()
    motion = simulate(arm, start, 1e-3, 20)
    assert load > 1.0  # without friction it falls
    assert np.abs(motion.value("hinge.q_r") - 0.3).max() < 1e-15


def test_heat_that_is_far_more_than_a_cold_capacity_had_is_all_stored_in_it() -> None:
    system = compose(
        {
            "block": point_mass(1.0),
            "floor": PlaneContact(0.5),
            "cold": mb.HeatCapacity(1e-4, 0.01),
            "env": Environment(300.0),
        },
        {
            "p": ("block.p", "floor.p"),
            "q": ("block.q", "floor.q"),
            "s": ("floor.s", "cold.s"),
            "rest": ("env.s",),
        },
    )
    equations = assemble(system)
    start = equations.states.vector({"q": [0.0, 0.0, 5e-4], "p": [0.1, 0.0, 0.0]})
    motion = simulate(equations, start, 1e-3, 40)
    assert np.abs(motion.first_law).max() < 1e-14
    assert equations.storages.temperatures(motion.final)["cold.s"] > 90.0


def test_what_is_no_contact_is_refused() -> None:
    with pytest.raises(StructureError, match="restitution from 0 to 1"):
        ball(1.2)
    with pytest.raises(StructureError, match="limit of dry friction"):
        DryFriction(-1.0, R)
    wrong = Contact(displacement, lambda q: float(q[0]), lambda q: np.array([[2.0]]))
    with pytest.raises(StructureError, match="first row of the contact"):
        assemble(on_a_line(wrong, "p"))
