# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Closed loops of the joints of a free-floating robot at zero momentum."""

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import DecoupledEvaluation, momenta
from vms_ph_dynamics.groups import SO3
from vms_ph_io import robots
from vms_ph_studies.reorientation import (
    EllipticLoop,
    _least_ellipse,
    base_motion,
    holonomy,
    plan_reorientation,
    turn_by_curvature,
)

_SO3 = SO3()
_LIGHT = {"bus_mass": "60", "bus_ixx": "3", "bus_iyy": "2.5", "bus_izz": "3.5"}


@pytest.fixture(scope="module")
def light() -> VMSModel:
    return robots.load("satellite_panda", **_LIGHT)


@pytest.fixture(scope="module")
def home(light: VMSModel) -> Array:
    return light.configuration(robots.get("satellite_panda").home)


def test_motion_of_the_base_keeps_zero_momentum_and_the_centre_of_mass(
    light: VMSModel, home: Array
) -> None:
    # A quarter of an ellipse.
    way = EllipticLoop(
        np.array([-0.4, 0.3, -0.2, -0.5, 0.1, -0.3, 0.0]), np.full(7, 0.1), 0.25, 1.0
    )
    poses = base_motion(light, home, way, 64)
    assert np.abs(poses[-1] - base_motion(light, home, way, 256)[-1]).max() < 1e-8
    end = light.integrate(home, np.concatenate([np.zeros(6), way(1.0).offset]))
    rest = np.zeros(light.nv)
    before = momenta(light.evaluate(home, rest)).centre_of_mass
    after = momenta(light.evaluate(end, rest)).centre_of_mass
    # The end configuration has the base at its start: the base's own motion carries the centre.
    pose = light.base_pose(home)
    moved = pose @ poses[-1] @ np.linalg.inv(pose) @ np.append(after, 1.0)
    assert np.abs(moved[:3] - before).max() < 1e-6
    assert np.linalg.norm(poses[-1][:3, 3]) > 1e-3


def test_planned_loops_turn_the_base_as_wanted(light: VMSModel, home: Array) -> None:
    wanted = _SO3.exp(np.radians(3.0) * np.array([0.3, -0.8, 0.5]))
    plan = plan_reorientation(light, home, wanted, amplitude=1.2, rate=0.7)
    assert np.linalg.norm(_SO3.log(wanted.T @ plan.displacement[:3, :3])) < 1e-9
    # The same, by another scheme of integration along the timed path.
    steps = 120 * plan.loops
    along = base_motion(light, home, plan.path, steps)[-1]
    assert np.abs(along - plan.displacement).max() < 1e-6
    times = np.linspace(0.0, plan.path.duration, 400)
    motions = [plan.path(t) for t in times]
    assert max(np.abs(m.offset).max() for m in motions) <= 1.2 + 1e-12
    assert max(np.abs(m.rate).max() for m in motions) <= 0.7 + 1e-12
    assert np.abs(motions[-1].offset).max() < 1e-12
    assert max(np.abs(motions[i].rate).max() for i in (0, -1)) < 1e-12
    middle = plan.path.duration * 0.37
    ahead, behind = plan.path(middle + 1e-4), plan.path(middle - 1e-4)
    assert np.abs((ahead.rate - behind.rate) / 2e-4 - plan.path(middle).acceleration).max() < 1e-6


def test_a_turn_that_one_loop_can_reach_takes_one(light: VMSModel, home: Array) -> None:
    # Newton's method needs the slope at the loop that it has come to, not at its first guess.
    wanted = _SO3.exp(np.radians(1.0) * np.array([1.0, 0.0, 0.0]))
    assert plan_reorientation(light, home, wanted, amplitude=1.2, rate=0.7).loops == 1


def test_more_loops_are_tried_by_tenths_until_there_are_too_many(
    light: VMSModel, home: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn, tried = np.array([0.02, -0.05, 0.03]), []

    def corrected(model: VMSModel, start: Array, half: Array, target: Array) -> None:
        tried.append(round(turn[0] / target[0]))
        assert len(tried) < 99

    name = "vms_ph_studies.reorientation._correct_half_diameters"
    monkeypatch.setattr(name, corrected)
    with pytest.raises(StateError, match="Newton's method did not converge"):
        plan_reorientation(light, home, _SO3.exp(turn), amplitude=1.2, rate=0.7)
    assert len(tried) > 9
    assert tried[1:] == [int(np.ceil(1.1 * loops)) + 1 for loops in tried[:-1]]


def test_loop_run_backwards_turns_the_base_back(light: VMSModel, home: Array) -> None:
    cosine, sine = np.zeros(7), np.zeros(7)
    cosine[0], sine[1] = 0.5, 0.4
    forwards = holonomy(light, home, EllipticLoop(cosine, sine, 1, 1.0))
    backwards = holonomy(light, home, EllipticLoop(cosine, -sine, 1, 1.0))
    assert np.abs(forwards @ backwards - np.eye(4)).max() < 1e-10
    assert np.linalg.norm(_SO3.log(forwards[:3, :3])) > 1e-3


def test_curvature_predicts_small_loops_to_second_order(light: VMSModel, home: Array) -> None:
    rng = np.random.default_rng(4)
    cosine, sine = rng.normal(size=(2, 7))
    errors = []
    for size in (0.04, 0.02):
        loop = EllipticLoop(size * cosine, size * sine, 1, 1.0)
        turn = _SO3.log(holonomy(light, home, loop)[:3, :3])
        error = np.linalg.norm(turn_by_curvature(light, home, loop) - turn)
        errors.append(error / np.linalg.norm(turn))
    assert errors[1] < 0.01
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2


def test_plans_that_cannot_be_are_refused_in_words(light: VMSModel, home: Array) -> None:
    fixed = robots.load("panda")
    with pytest.raises(ModelError, match="floating base"):
        plan_reorientation(fixed, fixed.neutral_configuration(), np.eye(3))
    with pytest.raises(StateError, match="need not turn"):
        plan_reorientation(light, home, np.eye(3))
    with pytest.raises(StateError, match="rotation matrix"):
        plan_reorientation(light, home, 2.0 * np.eye(3))
    with pytest.raises(ModelError, match="positive"):
        plan_reorientation(light, home, _SO3.exp(np.array([0.1, 0, 0])), amplitude=0.0)


@pytest.mark.parametrize("loops", [1, -3])
def test_a_loop_is_as_fast_as_it_says_at_most(loops: int) -> None:
    way = EllipticLoop(np.array([0.3, 0.0, -0.2]), np.array([0.1, 0.4, 0.2]), loops, 2.0)
    rates = np.abs([way(t).rate for t in np.linspace(0.0, 2.0, 2001)]).max(axis=0)
    assert (rates <= way.max_rate * (1.0 + 1e-12)).all()
    assert (rates > 0.7 * way.max_rate).all()


def test_rates_of_a_loop_are_the_derivatives_of_its_offset() -> None:
    cosine, sine, h = np.array([0.3, -0.1, 0.2]), np.array([0.1, 0.4, -0.2]), 1e-4
    loop = EllipticLoop(cosine, sine, 2, 3.0)
    for t in (0.4, 1.1, 1.5, 2.6):
        before, here, after = (loop(t + step) for step in (-h, 0.0, h))
        slope = (after.offset - before.offset) / (2.0 * h)
        bend = (after.rate - before.rate) / (2.0 * h)
        np.testing.assert_allclose(here.rate, slope, atol=1e-6)
        np.testing.assert_allclose(here.acceleration, bend, atol=1e-5)
    for t in (0.0, 3.0):
        np.testing.assert_allclose([*loop(t).offset, *loop(t).rate], 0.0, atol=1e-12)


def test_the_least_ellipse_turns_the_base_by_the_curvature(light: VMSModel, home: Array) -> None:
    target = np.array([0.02, -0.05, 0.03])
    cosine, sine = _least_ellipse(light, home, target)
    # What a loop encloses, to first order, along the wanted axis.
    d = DecoupledEvaluation(light.evaluate(home, np.zeros(light.nv)))
    turn = np.pi * np.einsum("i,ijk,j->k", cosine, d.curvature[:, :, 3:], sine)
    assert turn @ target / (target @ target) == pytest.approx(1.0)
    assert np.linalg.norm(cosine) == pytest.approx(np.linalg.norm(sine))
    # A loop of a thousandth of the size turns it by a millionth.
    small = _least_ellipse(light, home, 1e-6 * target)
    np.testing.assert_allclose(small, (1e-3 * cosine, 1e-3 * sine), rtol=1e-9, atol=1e-15)
