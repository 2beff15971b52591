# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The pose reference."""

import numpy as np

from vms_ph_controllers import Reference
from vms_ph_controllers.references.drive_reference import _Quintic
from vms_ph_controllers.references.pose_reference import JointReference, PoseReference
from vms_ph_dynamics.groups import SE3


def test_the_pose_reference_arrives_and_rests() -> None:
    group, reference = SE3(), PoseReference()
    target = group.exp(np.array([1.0, -0.5, 0.2, 0.3, 2.0, -0.4]))
    reference.go_to(target)
    for _ in range(2_500):
        before = group.inverse(reference.pose)
        reference.advance(None, 0.3, 0.5, 1.5, 8e-3)
        assert np.linalg.norm(reference.twist[:3]) < 0.3 + 1e-9
        assert np.linalg.norm(reference.twist[3:]) < 0.5 + 1e-9
        moved = group.log(group.compose(before, reference.pose))  # it does not jump
        assert np.linalg.norm(moved[:3]) < 2.4e-3 + 1e-9
        assert np.linalg.norm(moved[3:]) < 4.0e-3 + 1e-9
    np.testing.assert_allclose(reference.pose, target, atol=1e-5)


def test_a_target_that_moves_is_met_and_stands_when_its_twist_ends() -> None:
    group, reference, dt = SE3(), PoseReference(), 2e-3
    target, twist = np.eye(4), np.array([0.2, 0.1, -0.1, 0.3, -0.2, 0.1])
    target[:3, 3] = [0.1, -0.2, 0.1]
    for k in range(1500):
        if k % 30 == 0:  # it comes at 17 Hz only, and moves on between
            reference.go_to(target)
        reference.advance(twist, 1.0, 1.0, 20.0, dt)
        error = group.log(group.inverse(reference.pose) @ target)
        target = target @ group.exp(dt * twist)
    assert np.linalg.norm(error) < 1e-3
    np.testing.assert_allclose(reference.twist, twist, atol=1e-3)
    for _ in range(1500):
        reference.advance(None, 1.0, 1.0, 20.0, dt)
    assert reference.is_resting
    np.testing.assert_allclose(reference.pose, target, atol=1e-9)


def test_a_body_beside_the_reference_that_moves_as_it_does_keeps_its_pose_error() -> None:
    group, reference = SE3(), PoseReference()
    error = group.exp(np.array([0.2, -0.1, 0.3, 0.5, -0.4, 0.7]))
    twist = np.array([0.3, 0.1, -0.2, 0.4, 0.5, -0.6])
    assert not reference.twist_at(error).any()
    for _ in range(3):
        reference.advance(twist, 1.0, 1.0, 100.0, 0.01)
    carried = group.exp(reference.twist) @ error
    np.testing.assert_allclose(error @ group.exp(reference.twist_at(error)), carried, atol=1e-14)


def test_a_joint_reference_turns_round_and_arrives_at_rest_within_its_rates() -> None:
    reference, speed, dt = JointReference(np.zeros(2, bool)), np.array([0.5, 1.0]), 5e-3
    reference.restart(np.array([0.4, -0.2]))
    reference.set_target(Reference(joints=np.array([1.0, -1.0])))
    for k in range(3000):
        if k == 100:
            reference.set_target(Reference(joints=np.zeros(2)))
        before = reference.rates
        reference.advance(speed, 5.0, dt)
        assert (np.abs(reference.rates) <= speed + 1e-12).all()
        # The rates change by no more than twice the bandwidth admits.
        assert (np.abs(reference.rates - before) <= dt * 2.0 * 5.0 * 2.0 * speed + 1e-12).all()
    assert reference.is_resting
    np.testing.assert_array_equal(reference.positions, np.zeros(2))


def test_a_quintic_leads_from_any_motion_to_rest(rng: np.random.Generator) -> None:
    now, end, duration, h = (0.3, -0.8, 1.7), -1.1, 2.5, 1e-4
    part = _Quintic(now, end, duration)
    np.testing.assert_allclose(part.evaluate(0.0), now)
    np.testing.assert_allclose(part.evaluate(duration), (end, 0.0, 0.0), atol=1e-13)
    for t in rng.uniform(0.1, 2.4, 5):
        before, here, after = np.array(
            [part.evaluate(t - h), part.evaluate(t), part.evaluate(t + h)]
        )
        np.testing.assert_allclose((after - before)[:2] / (2 * h), here[1:], atol=1e-6)


def test_a_shift_along_one_axis_begins_and_ends_at_rest() -> None:
    reference, target = PoseReference(), np.eye(4)
    target[0, 3] = 0.2
    reference.go_to(target)
    places = []
    for _ in range(350):
        reference.advance(None, 0.3, 0.5, 20.0, 0.01)
        places.append(reference.pose[0, 3])
    assert np.abs(np.diff([0.0, *places])).max() < 0.3 * 0.01 + 1e-12
    assert reference.is_resting
    np.testing.assert_allclose(reference.pose, target, atol=1e-9)


def test_a_continuous_joint_takes_the_shorter_way_and_others_count_turns() -> None:
    reference = JointReference(np.array([True, False]))
    reference.restart(np.array([3.0, 3.0]))
    np.testing.assert_allclose(reference.error_of(np.array([-3.0, -3.0])), [2 * np.pi - 6.0, -6.0])
    reference.set_target(Reference(joints=np.array([-3.0, -3.0])))
    for _ in range(4000):
        reference.advance(1.0, 5.0, 5e-3)
    np.testing.assert_allclose(reference.positions, [2 * np.pi - 3.0, -3.0])
