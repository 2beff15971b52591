# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A hopping law that is sampled and late: what it predicts, and what it learns from hop to hop."""

from math import pi, sqrt

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_hopping import HoppingController, LegMotion, LegPrediction
from vms_ph_hopping.laws.hopping import HopReference, flight_force, neutral_angle, within_limits
from vms_ph_hopping.laws.hopping_over_delay import HopCorrection, HoppingOverDelay

from .conftest import state, thesis

SAMPLE, GRAVITY = 1e-3, 9.81


def flying(controller: HoppingController, foot: float, rates: tuple[float, ...]) -> LegMotion:
    """A leg whose foot is at a height; ``rates`` are those of (x, y, theta, joints)."""
    leg = controller.leg
    joint = (-2.4, 1.78) if "revolute" in controller.model.name else (-pi / 2, 0.12)
    q, _ = state(leg, 0.0, 1.0, *joint)
    q[1] += foot - leg.at(q, np.zeros(4)).foot[1]
    turn = np.array([[q[2], q[3]], [-q[3], q[2]]])
    return LegMotion(q, np.concatenate([turn @ rates[:2], rates[2:]]), False)


def undelayed(controller: HoppingController, motion: LegMotion, lag: float) -> np.ndarray:
    """The effort of the law at a state in flight that is known at once."""
    gains, leg = controller.gains, controller.leg.at(motion.q, motion.v)
    period = pi * sqrt(controller.model.total_mass / gains.radial_stiffness)
    angle = neutral_angle(float(leg.centre_rate[0]), period, gains.length)
    stiffness = (gains.radial_stiffness, gains.polar_stiffness)
    force = flight_force(leg, gains.length, angle, stiffness, lag)
    return within_limits(controller.model, force)


def test_its_effort_is_that_of_a_law_without_delay_in_the_middle_of_its_sample(
    hopper: VMSModel,
) -> None:
    controller, late, count, parts = thesis(hopper), 9, 20, 4
    law = HoppingOverDelay(controller, HopReference(0.4), late)
    prediction, motion = LegPrediction(controller.leg), flying(controller, 0.3, (0.6, 0.5, 1.0, -2))
    sent, middles = [np.zeros(4)] * late, []
    for _ in range(count + late):
        sent.append(law.update(motion, SAMPLE))
        for part in range(parts):
            if part == parts // 2:
                middles.append(motion)
            motion = prediction.step(motion, sent[-1 - late], SAMPLE / parts)
    # The first efforts jump, and what acts in the sample itself is not yet known.
    efforts = np.array(sent[late + 2 : late + count])[:, 3]
    lag = (late + 1) * SAMPLE
    exact = np.array([undelayed(controller, m, lag)[3] for m in middles[late + 2 : late + count]])
    # An effort half a sample older is wrong by 4 % of the largest.
    np.testing.assert_allclose(efforts, exact, rtol=0, atol=0.01 * np.abs(exact).max())


def test_a_leg_that_has_just_left_the_floor_is_not_turned_into_it(hopper: VMSModel) -> None:
    moments = {}
    for foot in (0.001, 0.01):
        for rate in (0.5, -0.5):
            controller = thesis(hopper)
            law = HoppingOverDelay(controller, HopReference(0.4), 0)
            motion = flying(controller, foot, (0.5, rate, 0.0, 0.0))
            moments[foot, rate] = law.update(motion, 1e-4)[2]
    assert abs(moments[0.001, 0.5]) < 1e-15
    assert all(abs(moment) > 1e-3 for at, moment in moments.items() if at != (0.001, 0.5))


def test_a_foot_that_seems_to_lose_the_floor_on_the_way_down_stands_until_the_leg_rises(
    hopper: VMSModel,
) -> None:
    controller, instant = thesis(hopper), 1e-7
    law = HoppingOverDelay(controller, HopReference(0.4), 0)
    falling, rising = (
        flying(controller, foot, (0.3, rate, 0.0, 0.0))
        for foot, rate in ((0.001, -0.5), (0.05, 0.5))
    )
    law.update(falling._replace(contact=True), instant)
    for motion, stands in ((falling, True), (rising, False)):
        leg = controller.leg.at(motion.q, motion.v)
        stance = within_limits(hopper, controller.law.efforts(leg, True).force)
        found = law.update(motion, instant)
        assert np.allclose(found, stance, rtol=1e-3, atol=1e-6) == stands


def test_what_a_hop_lacks_in_height_and_speed_is_added_to_the_next(hopper: VMSModel) -> None:
    controller, correction = thesis(hopper), HopCorrection()
    before, low, slow, up = controller.gains, 0.01, 0.06, 1.0
    start = flying(controller, 0.02, (0.3, up, 0.0, 0.0))
    apex = controller.leg.at(start.q, start.v).centre[1] + 0.5 * up**2 / GRAVITY
    law = HoppingOverDelay(controller, HopReference(apex + low, 0.3 + slow), 0)
    turn, duration = start.v[:2] / up, 2.0 * up / GRAVITY
    turn = np.array([[start.q[2], start.q[3]], [-start.q[3], start.q[2]]])
    count = round(duration / SAMPLE)
    weight = hopper.total_mass * GRAVITY
    for hop in range(4):
        # A stiff leg flies without turning; in a sample on the floor its speed is reversed.
        for k in range(count + 1):
            t = min(k * SAMPLE, duration)
            q, v = start.q.copy(), start.v.copy()
            q[:2] += 0.3 * (t + hop * duration), up * t - 0.5 * GRAVITY * t**2
            v[:2] = turn @ [0.3, up - GRAVITY * t]
            law.update(LegMotion(q, v, contact=k in (0, count)), SAMPLE)
        # The fall from the start is no hop.
        energy, integral = hop * correction.energy * weight * low, hop * correction.integral * slow
        assert controller.gains.energy - before.energy == pytest.approx(
            min(energy, correction.largest_energy * before.energy), rel=0.02
        )
        angle = integral + (correction.speed * slow if hop else 0.0)
        assert controller.gains.angle - before.angle == pytest.approx(-angle, rel=0.02)
