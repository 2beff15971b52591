# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of a result, what is believed of them beforehand, and what efforts mean."""

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.identification.effort_meaning import EffortMeaning, effort_meaning
from vms_ph_dynamics.identification.result import Parameter, armature_unknowns, payload_unknowns

from .known_truth import random_truth, recording


def test_a_parameter_knows_its_joint_and_is_multiplied_with_its_interval() -> None:
    one = Parameter("friction.left.arm_1.viscous", "friction", "N m s/rad", 2.0, 1.5, 3.0)
    assert one.joint == "left.arm_1"
    assert Parameter("gain.left.arm_1", "gains", "1").joint == "left.arm_1"
    assert Parameter("payload_mass", "payload", "kg").joint == ""
    scaled = one.times(-4.0)
    assert (scaled.value, scaled.low, scaled.high) == (-8.0, -12.0, -6.0)
    assert one.times(1.0) is one


def test_a_load_may_weigh_half_of_what_carries_it_and_be_as_wide_as_a_hand() -> None:
    deviations = [u.deviation for u in payload_unknowns(8.0)]
    np.testing.assert_allclose(deviations, [4.0, *3 * [0.6], *6 * [0.09]])


def test_what_a_rotor_adds_to_a_joint_that_slides_is_a_mass() -> None:
    turns, slides = armature_unknowns(["wrist", "lift"], [False, True], np.array([0.1, 2.0]))
    assert (turns.unit, slides.unit) == ("kg m^2", "kg")
    assert (turns.floor, slides.floor) == (-0.1, -2.0)


def test_an_effort_that_friction_explains_as_well_means_nothing() -> None:
    ratio = {
        "torque": np.array([1.2, 1.2, 1.0, np.nan]),
        "scaled": np.array([0.97, 0.9, 0.97, np.nan]),
    }
    ones = np.ones(4)
    meaning = EffortMeaning({}, "torque", 1.0, ratio, ones, ones, 1.0)
    assert meaning.unrelated_joints.tolist() == [True, False, False, False]


def test_a_gain_that_fits_hardly_better_than_friction_is_not_sure() -> None:
    ratio = {"torque": np.array([2.2, 2.2]), "scaled": np.array([0.72, 0.3])}
    gains, error = np.array([4.0, 4.0]), np.array([0.06, 0.06])
    meaning = EffortMeaning({}, "torque", 1.0, ratio, gains, error, 1.0)
    assert meaning.scaled.tolist() == [False, True]


def test_intervals_that_are_apart_by_what_is_negligible_agree() -> None:
    torque = Parameter("friction.a.offset", "friction", "N m", -2e-6, -3e-6, -1e-6)
    energy = Parameter("friction.a.offset", "friction", "N m", 2e-6, 1e-6, 3e-6)
    assert not torque.overlaps(energy)
    assert torque.overlaps(energy, negligible=2e-6)
    assert not torque.overlaps(energy, negligible=1.9e-6)


def test_efforts_of_zero_miss_the_whole_of_what_is_required(panda: VMSModel) -> None:
    t = np.arange(0.0, 4.0, 0.01)
    q, v = np.zeros((2, t.size, 7))
    q[:, 1], v[:, 1] = np.sin(2.0 * t), 2.0 * np.cos(2.0 * t)
    misfit = effort_meaning(panda, t, q, v, np.zeros_like(q), np.ones(7, bool)).misfit
    assert misfit["torque"][0] == misfit["opposite"][0] == pytest.approx(1.0)


def test_what_happened_in_a_gap_says_nothing_about_efforts(panda: VMSModel) -> None:
    samples = recording(
        panda,
        random_truth(panda, np.random.default_rng(5), 1e-6),
        np.random.default_rng(6),
        duration=6.0,
    )
    halves = np.split(np.arange(len(samples)), 2)[::-1]  # the robot is elsewhere after the gap
    q, v, torque = (
        np.concatenate([x[k] for k in halves]) for x in (samples.q, samples.v, samples.torque)
    )
    t = np.concatenate([samples.t[halves[0]] - 3.0, samples.t[halves[1]] + 9.0])
    ratio = effort_meaning(panda, t, q, v, torque, np.ones(7, bool)).ratio["torque"]
    whole = effort_meaning(panda, samples.t, samples.q, samples.v, samples.torque, np.ones(7, bool))
    np.testing.assert_allclose(ratio, whole.ratio["torque"], rtol=0.5)
