# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The motion of a leg over the delay of its law."""

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_hopping import (
    Floor,
    Hopper,
    Leg,
    LegEfforts,
    LegLaw,
    LegMotion,
    LegOnFloor,
    LegPrediction,
    Phase,
)

from .conftest import state

STIFF = Floor((1e7, 1e7), (1e5, 1e5))
START = {"prismatic_hopper": (-np.pi / 2, 0.12), "revolute_hopper": (-2.4, 1.78)}


def simulated(leg: Leg, motion: LegMotion, force: np.ndarray, time: float) -> Hopper:
    law = LegLaw(lambda leg, stance: LegEfforts(force, (), 0.0))
    hopper = Hopper(LegOnFloor(leg, law, STIFF), motion.q, motion.v, balance=False)
    for _ in hopper.steps_until(time):
        pass
    return hopper


def predicted(leg: Leg, motion: LegMotion, force: np.ndarray, time: float, n: int) -> LegMotion:
    prediction = LegPrediction(leg)
    for _ in range(n):
        motion = prediction.step(motion, force, time / n)
    return motion


def test_a_leg_in_flight_is_predicted_to_second_order(hopper: VMSModel) -> None:
    leg = Leg(hopper)
    q, v = state(leg, 0.0, 1.0, *START[hopper.name])
    v[:] = 0.3, 0.5, 1.0, -0.8
    force = np.array([0.0, 0.0, 0.05, 0.3])
    exact = simulated(leg, LegMotion(q, v, False), force, 0.01).state
    errors = []
    for n in (4, 8):
        found = predicted(leg, LegMotion(q, v, False), force, 0.01, n)
        errors.append(np.abs(leg.coordinates(found.q) - exact[:4]).max())
    # Positions by the mean of velocities that are of first order: at least that order remains.
    assert errors[1] < 0.6 * errors[0] < 1e-3


def test_a_foot_lands_when_and_where_a_stiff_floor_stops_it(hopper: VMSModel) -> None:
    leg = Leg(hopper)
    q, v = state(leg, 0.0, 1.0, *START[hopper.name])
    q[1] -= leg.at(q, v).foot[1] - 0.004
    turn = q[2:4]
    # The whole leg falls at 1.5 m/s, in the axes of its base.
    v[:2] = -1.5 * turn[1], -1.5 * turn[0]
    force = np.zeros(4)
    exact = simulated(leg, LegMotion(q, v, False), force, 0.01)
    assert exact.phase is not Phase.FLIGHT
    found = predicted(leg, LegMotion(q, v, False), force, 0.01, 5)
    assert found.contact
    seen, there = leg.at(found.q, found.v), exact.system.leg_state(exact.state)
    # The constraint is that of the start of a step: first order, a fortieth of the impact.
    assert np.abs(seen.foot_rate).max() < 1.5 / 40.0
    # It falls by 15 mm in this time, 11 of them on the floor; gravity over a step is 0.04 mm.
    assert seen.length == pytest.approx(there.length, abs=3e-4)
    assert seen.angle == pytest.approx(there.angle, abs=3e-3)


def test_a_floor_does_not_hold_a_leg_that_is_pulled_off_it(hopper: VMSModel) -> None:
    leg = Leg(hopper)
    q, v = state(leg, 0.0, 1.0, *START[hopper.name])
    q[1] -= leg.at(q, v).foot[1]
    standing = LegMotion(q, v, True)
    short = leg.at(q, v).J_length
    assert LegPrediction(leg).step(standing, 20.0 * short, 2e-3).contact
    assert not LegPrediction(leg).step(standing, -20.0 * short, 2e-3).contact
