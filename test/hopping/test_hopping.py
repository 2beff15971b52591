# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Runs of legs on the floor: located events, conserved momenta, closed balances."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_hopping import (
    EventKind,
    Floor,
    HoppingRun,
    LegEfforts,
    LegLaw,
    LegOnFloor,
    Phase,
    hop,
)
from vms_ph_hopping.laws.hopping import HoppingController

from .conftest import state, thesis

DROP = {"revolute_hopper": (0.0, 0.3, -1.9938, 1.7802), "prismatic_hopper": (0, 0.3, -1.4, 0.12)}


def run(
    controller: HoppingController, duration: float, floor: Floor | None = None, **options: float
) -> HoppingRun:
    system = LegOnFloor(controller.leg, controller.law, floor or Floor())
    q, v = state(controller.leg, *DROP[controller.model.name])
    return hop(system, q, v, duration, **options)  # type: ignore[arg-type]


def unbalanced(found: HoppingRun) -> float:
    """What the energy of the robot misses of the energies at its ports, J, at the worst event."""
    start = found.leg(0).energy
    ends = [(e.state, e.energies) for e in found.events] + [(found.states[-1], found.energies[-1])]
    return max(
        abs(found.system.leg_state(y).energy - start - float(energies[:3].sum()))
        for y, energies in ends
    )


def test_a_falling_leg_meets_the_floor_when_the_parabola_does(hopper: VMSModel) -> None:
    still = LegLaw(lambda leg, stance: LegEfforts(np.zeros(4), (), 0.0))
    leg = thesis(hopper).leg
    q, v = state(leg, *DROP[hopper.name])
    height = leg.at(q, v).foot[1]
    found = hop(LegOnFloor(leg, still, Floor()), q, v, 0.25)
    event = found.events[0]
    assert event.kind is EventKind.TOUCH_DOWN
    # Without torques the leg falls as one: the time is exact but for the event's 1e-13 m.
    assert event.time == pytest.approx(np.sqrt(2 * height / 9.81), abs=1e-11)
    assert abs(leg.at(leg.configuration(event.state[:4]), event.state[4:8]).foot[1]) < 1e-12


def test_flight_conserves_momentum_and_undamped_energy(revolute: VMSModel) -> None:
    """The virtual spring exchanges energy with the leg, and neither turns nor pushes it."""
    controller = thesis(revolute, flight_damping=0.0, energy_gain=0.0, length=0.15)
    system = LegOnFloor(controller.leg, controller.law, Floor())
    q, _ = state(controller.leg, 0.0, 2.0, -2.0, 1.7)
    v = np.array([0.3, 1.0, 2.0, -3.0])
    found = hop(system, q, v, 0.1, tolerance=1e-9)
    assert not found.events
    turning = found.of(lambda leg: leg.angular_momentum)
    pushing = found.of(lambda leg: float(leg.momentum[0]))
    springs = np.array(
        [controller.law.efforts(found.leg(i), False).stored for i in range(len(found.times))]
    )
    # Errors of 1e-9 a step and rounding.
    assert np.ptp(turning) < 1e-10
    assert np.ptp(pushing) < 1e-10
    assert np.ptp(found.of(lambda leg: leg.energy) + springs) < 1e-8


@pytest.mark.parametrize("friction", [None, 0.6])
def test_the_balance_of_the_robot_the_floor_and_the_law_closes(
    hopper: VMSModel, friction: float | None
) -> None:
    controller = thesis(
        hopper,
        energy_gain=5.0,
        polar_damping=0.1,
        stance_damping=2.0,
        **({} if "revolute" in hopper.name else {"length": 0.114}),
    )
    found = run(controller, 0.4, Floor(friction=friction))
    kinds = {event.kind for event in found.events}
    assert {EventKind.TOUCH_DOWN, EventKind.RELIEF} <= kinds
    if friction is not None:
        assert {EventKind.SLIP, EventKind.GRIP} & kinds
    limit = 1e-9
    assert unbalanced(found) < limit
    # What went into the floor is in its springs, or is heat.
    kept = (
        -found.energy("floor")[-1] - found.floor_stored(-1) - found.energy("floor_dissipated")[-1]
    )
    assert abs(kept) < limit
    assert np.diff(found.energy("floor_dissipated")).min() > -1e-9
    # What the law gave is the sum of its parts.
    parts = (
        found.energy("radial_spring")
        - found.energy("radial_damping")
        + found.energy("regulator")
        + found.energy("polar_spring")
        - found.energy("polar_damping")
    )
    np.testing.assert_allclose(found.energy("external") + found.energy("joint"), parts, atol=1e-12)


def test_the_foot_is_below_the_floor_in_stance_only_and_pushed_up_alone(
    revolute: VMSModel,
) -> None:
    found = run(thesis(revolute), 0.35, sample_interval=1e-3)
    for y, phase in zip(found.states, found.phases, strict=True):
        leg = found.system.leg_state(y)
        force = found.system.floor_force(Phase(int(phase)), leg, y)
        # Samples within a step are those of a polynomial of degree five.
        assert (leg.foot[1] > -1e-9) == (phase == Phase.FLIGHT) or abs(leg.foot[1]) < 1e-6
        assert force.normal >= -1e-6


def test_tolerance_moves_the_result_by_no_more_than_it_says(revolute: VMSModel) -> None:
    coarse, fine = (run(thesis(revolute), 0.25, tolerance=t) for t in (1e-7, 1e-10))
    # A stance amplifies errors of 1e-7 a step; they stay of that size.
    np.testing.assert_allclose(coarse.states[-1], fine.states[-1], atol=1e-5)
    for a, b in zip(coarse.events, fine.events, strict=True):
        assert a.kind is b.kind
        assert a.time == pytest.approx(b.time, abs=1e-6)


def test_friction_lets_a_leg_slip_that_the_floor_of_the_source_holds(revolute: VMSModel) -> None:
    held, slipping = (
        run(thesis(revolute), 0.26, Floor(friction=mu), tolerance=1e-5) for mu in (None, 0.02)
    )
    travelled = [float(found.leg(-1).foot[0]) for found in (held, slipping)]
    assert abs(travelled[1] - travelled[0]) > 2e-3


def test_touch_downs_that_follow_at_once_count_as_one(prismatic: VMSModel) -> None:
    controller = thesis(prismatic, length=0.114, energy_gain=0.0, flight_damping=0.0)
    found = run(controller, 0.4)
    every = [e.time for e in found.events if e.kind is EventKind.TOUCH_DOWN]
    distinct = [e.time for e in found.touch_downs()]
    assert set(distinct) <= set(every)
    assert all(b - a > 0.05 for a, b in pairwise(distinct))


def test_a_run_ends_at_its_stop_condition(revolute: VMSModel) -> None:
    controller = thesis(revolute, "I", energy_gain=0.0, flight_damping=0.0)
    system = LegOnFloor(controller.leg, controller.law, Floor())
    q, v = state(controller.leg, 0.0, 0.3, -2.5174, 1.7802)
    found = hop(system, q, v, 2.0, tolerance=1e-4, stop=lambda leg: abs(leg.angle) > 1.0)
    assert found.stopped
    assert found.times[-1] < 2.0


@pytest.mark.parametrize("seconds", [0.5, pytest.param(1.2, marks=pytest.mark.slow)])
def test_hops_are_those_of_a_fixed_step_integration(
    revolute: VMSModel, golden: Path, seconds: float
) -> None:
    """Against RK4 with steps of 2e-6 s on equations written by hand: states and energies."""
    data = np.load(golden / "B_hopper_R_V.npz")
    columns, log = list(data["cols"]), data["log"]
    found = run(thesis(revolute, length=0.1411, energy=2.8382), seconds, sample_interval=0.01)
    rows = log[: len(found.times)]
    np.testing.assert_allclose(rows[:, 0], found.times, atol=1e-9)
    # The reference leaves phases at the end of its own steps, up to 2e-6 s late, with a foot that
    # brakes within 1e-5 s. Its own balance misses 6e-5 J by the end and its angular velocity after
    # a stance changes by 1e-3 rad/s when its step is halved: 2e-4 rad after a flight. Ours moves by
    # 1e-7 between tolerances of 1e-7 and 1e-10.
    flying = found.phases == Phase.FLIGHT
    for name, ours in (
        ("x", found.states[:, 0]),
        ("y", found.states[:, 1]),
        ("th", found.states[:, 2]),
        ("q", found.states[:, 3]),
        ("W_ext", found.energy("external")),
        ("W_joint", found.energy("joint")),
        ("W_floor", found.energy("floor")),
        ("D_rad", found.energy("radial_damping")),
    ):
        theirs = rows[:, columns.index(name)]
        np.testing.assert_allclose(ours[flying], theirs[flying], atol=2e-4, err_msg=name)
    theirs = [e[0] for e in data["events"] if e[0] < seconds and e[1] == 0]
    landings = [e.time for e in found.events if e.kind is EventKind.TOUCH_DOWN]
    np.testing.assert_allclose(landings, theirs, atol=1e-4)
