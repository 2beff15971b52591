# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers I, II and III of hopping legs."""

import numpy as np
import pytest
from controllers.support.unusable_steps import UNUSABLE_STEPS, check_that_it_works_on

from vms_ph_controllers import Reference, RobotState, Status
from vms_ph_dynamics import ModelError, OptionError, VMSModel
from vms_ph_hopping.laws.hopping import CHANNELS, HoppingController
from vms_ph_io import robots


@pytest.fixture(scope="module")
def leg_robot() -> VMSModel:
    return robots.load("revolute_hopper")


def states(controller: HoppingController, height: float, rng: np.random.Generator) -> RobotState:
    coordinates = np.array([0.0, height, -2.4, 1.7]) + 0.1 * rng.uniform(-1, 1, 4)
    return RobotState(controller.leg.configuration(coordinates), rng.uniform(-1, 1, 4))


@pytest.mark.parametrize("kind", ["I", "II", "III"])
def test_the_flows_of_the_law_are_the_power_at_its_ports(
    leg_robot: VMSModel, kind: str, rng: np.random.Generator
) -> None:
    controller = HoppingController(leg_robot, kind=kind)
    controller.gains = controller.Gains(stance_damping=3.0, polar_damping=0.4, angle=0.1)
    for stance in (False, True):
        s = states(controller, 0.1, rng)
        efforts = controller.law.efforts(controller.leg.at(s.q, s.v), stance)
        flows = dict(zip(CHANNELS, efforts.powers, strict=True))
        given = sum(flows.values()) - 2 * (flows["radial_damping"] + flows["polar_damping"])
        assert efforts.force @ s.v == pytest.approx(given, abs=1e-12)
        assert flows["radial_damping"] >= 0.0
        assert flows["polar_damping"] >= 0.0
        # No part of it pushes the base; only a polar law in stance turns it.
        assert np.abs(efforts.force[:2]).max() < 1e-10
        turns = abs(efforts.force[2]) > 1e-6
        assert turns == (stance and kind != "I")


def test_the_kinetic_energy_of_the_record_is_that_of_base_and_shape(
    leg_robot: VMSModel, rng: np.random.Generator
) -> None:
    controller = HoppingController(leg_robot)
    s = states(controller, 0.3, rng)
    controller.reset(s)
    energy = controller.update(s, Reference(), 1e-3).energy
    d = leg_robot.evaluate(s.q, s.v)
    assert energy.kinetic_base == pytest.approx(0.5 * d.p @ d.v_hat, rel=1e-12)
    assert energy.kinetic_shape == pytest.approx(0.5 * d.pi_hat @ s.v[3:], rel=1e-9)
    assert energy.closed_loop_energy == pytest.approx(
        energy.shaped_potential + energy.kinetic_base + energy.kinetic_shape, rel=1e-12
    )


def test_the_springs_are_the_gradient_of_what_they_store(
    leg_robot: VMSModel, rng: np.random.Generator
) -> None:
    for kind in ("II", "III"):
        controller = HoppingController(leg_robot, kind=kind)
        controller.gains = controller.Gains(energy_gain=0.0, flight_damping=0.0, angle=0.2)
        s, h, law = states(controller, 0.1, rng), 1e-6, controller.law

        def stored(step: float, s: RobotState = s, c: HoppingController = controller) -> float:
            q = leg_robot.integrate(s.q, step * s.v)
            return c.law.efforts(c.leg.at(q, s.v), True).stored

        power = law.efforts(controller.leg.at(s.q, s.v), True).force @ s.v
        assert power == pytest.approx(-(stored(h) - stored(-h)) / (2 * h), abs=1e-6)


def test_the_regulator_feeds_a_leg_that_has_too_little_and_only_then(
    leg_robot: VMSModel, rng: np.random.Generator
) -> None:
    controller = HoppingController(leg_robot)
    s = states(controller, 0.1, rng)
    leg = controller.leg.at(s.q, s.v)
    for wanted, sign in ((10.0, 1.0), (0.0, -1.0)):
        controller.gains = controller.Gains(energy=wanted)
        flow = controller.law.efforts(leg, True).powers[CHANNELS.index("regulator")]
        assert np.sign(flow) == sign


def test_the_frame_of_controller_iii_is_aligned_with_the_locked_velocity(
    leg_robot: VMSModel,
) -> None:
    controller = HoppingController(leg_robot, kind="III")
    rest = np.zeros(4)
    straight = controller.leg.configuration(np.array([0.0, 1.0, -np.pi / 2, 0.0]))
    assert controller.frame_angle(controller.leg.at(straight, rest)) == pytest.approx(0, abs=1e-14)
    for knee in (-3.0, -1.0, 0.7, 2.9):
        bent = controller.leg.configuration(np.array([0.0, 1.0, -np.pi / 2, knee]))
        # The angular velocity of the aligned frame per rate of the knee, by Gauss quadrature.
        points, weights = np.polynomial.legendre.leggauss(64)
        along = [
            controller.leg.configuration(np.array([0.0, 1.0, -np.pi / 2, 0.5 * knee * (1 + x)]))
            for x in points
        ]
        angle = 0.5 * knee * weights @ [leg_robot.evaluate(q, rest).A[2, 0] for q in along]
        # The spectral fit of the connection over the knee's whole range.
        assert controller.frame_angle(controller.leg.at(bent, rest)) == pytest.approx(
            angle, abs=1e-11
        )


def test_the_sampled_law_finds_out_by_itself_whether_the_leg_stands(
    leg_robot: VMSModel, rng: np.random.Generator
) -> None:
    controller = HoppingController(leg_robot)
    for height, stance in ((0.3, False), (0.05, True)):
        s = states(controller, height, rng)
        command = controller.update(s, Reference(), 0.0)
        wanted = controller.law.efforts(controller.leg.at(s.q, s.v), stance).force
        limit = leg_robot.joints.effort
        np.testing.assert_allclose(command.wrench_base, wanted[:3])
        np.testing.assert_allclose(command.torque, np.clip(wanted[3:], -limit, limit))
    broken = RobotState(np.full(5, np.nan), np.zeros(4))
    safe = controller.update(broken, Reference(), 1e-3)
    assert safe.status is Status.HOLDING
    assert not safe.torque.any()
    assert not safe.wrench_base.any()


def test_strong_damping_held_for_a_sample_does_not_reverse_the_speed_of_the_leg(
    leg_robot: VMSModel, rng: np.random.Generator
) -> None:
    controller = HoppingController(leg_robot)
    controller.gains = controller.Gains(
        radial_stiffness=0.0, flight_damping=1e4, energy_gain=0.0, delay=0.0
    )
    for dt in (1e-3, 1e-2):
        s = states(controller, 0.3, rng)
        leg = controller.leg.at(s.q, s.v)
        damping = controller.update(s, Reference(), dt).energy.damping_task / leg.length_rate
        after = leg.length_rate - dt * damping * leg.J_length @ np.linalg.solve(leg.M, leg.J_length)
        assert 0.0 < after / leg.length_rate < 0.1
    explicit = controller.update(s, Reference(), 0.0).energy.damping_task
    assert explicit == pytest.approx(1e4 * leg.length_rate**2)


def test_a_torque_beyond_the_limit_is_clipped_and_said(
    leg_robot: VMSModel, rng: np.random.Generator
) -> None:
    controller = HoppingController(leg_robot)
    controller.gains = controller.Gains(radial_stiffness=1e5, length=1.0)
    command = controller.update(states(controller, 0.3, rng), Reference(), 1e-3)
    assert command.status is Status.SATURATED
    assert abs(command.torque[0]) == leg_robot.joints.effort[0]
    assert command.energy.clipped_power != 0.0


def test_what_cannot_be_controlled_is_refused_in_words(leg_robot: VMSModel) -> None:
    with pytest.raises(OptionError, match="one of I, II, III; given: 'IV'"):
        HoppingController(leg_robot, kind="IV")
    with pytest.raises(ModelError, match="has a fixed base"):
        HoppingController(robots.load("panda"))


@pytest.mark.parametrize("dt", UNUSABLE_STEPS)
def test_after_a_time_step_that_is_none_the_law_works_on(dt: float) -> None:
    check_that_it_works_on(HoppingController, "revolute_hopper", dt)
