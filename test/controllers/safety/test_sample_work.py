# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy of a sample whose effort is held, and the least brake that a budget needs."""

import numpy as np
import pytest

from vms_ph_controllers.safety.sample_grant import (
    SampleGrant,
    SamplePredictor,
    SampleWork,
    _largest_share,
    strongest_brake,
)
from vms_ph_dynamics import VMSModel

Q = np.array([0.3, -0.5, 0.2, -1.8, 0.4, 1.5, -0.6])


@pytest.mark.parametrize("largest", ["held", "safe", "one after the other"])
def test_over_an_unseen_sample_the_largest_possible_work_is_booked(
    largest: str, panda: VMSModel
) -> None:
    first, rest = np.eye(7)[0], np.zeros(7)
    moved, predicted = 0.1 * first, 0.04 * first
    held, safe = {"held": (5.0, 2.0), "safe": (2.0, 5.0), "one after the other": (5.0, 2.0)}[
        largest
    ]
    if largest == "one after the other":  # it went on in the direction of both
        predicted = 0.2 * first
    works = {
        "held": held * 0.1,
        "safe": safe * 0.1,
        "one after the other": held * predicted[0] + safe * (0.1 - predicted[0]),
    }
    assert max(works, key=works.__getitem__) == largest
    work, before, after = SampleWork(panda), 3.0, 4.0
    d, later = panda.evaluate(Q, rest), panda.evaluate(Q + moved, rest)
    work.hold(d, held * first, predicted, before)
    assert work.recovered_energy(later, after, 1e-3) == pytest.approx(before - after - held * 0.1)
    work.note_missed_updates(safe * first)
    found = work.recovered_energy(later, after, 1e-3)
    assert found == pytest.approx(before - after - works[largest])
    assert work.recovered_energy(later, 1.0, 1e-3) == 0.0  # no credit


@pytest.mark.parametrize("kept", [-1e4, 0.2, 0.6])
def test_a_brake_takes_out_what_the_budget_lacks_and_is_gentle_where_little_is_lacking(
    kept: float, panda: VMSModel
) -> None:
    d, dt = panda.evaluate(Q, np.array([0.3, -0.2, 0.4, 0.1, -0.3, 0.2, 0.1])), 2e-3
    prediction, strongest = SamplePredictor(panda), strongest_brake(d, dt)
    prediction.start_at(d, np.zeros(7), 0.0, dt)
    # The compensation is held while the weight changes: that gives 9 uJ.
    budget = kept * prediction.predict(d.g).max_energy
    grant = SampleGrant(panda)
    granted = grant.grant(d, d.g + 2.0 * np.sign(d.v), d.g, budget, dt)
    assert not granted.is_covered
    force, along = grant.brake(granted, d.g, strongest) - d.g, strongest - d.g
    share = float(force @ along) / float(along @ along)
    np.testing.assert_allclose(force, share * along, atol=1e-9 * np.abs(along).max())
    energy = prediction.predict(d.g + force).max_energy
    assert energy <= budget
    assert energy > 1.2 * budget if kept < 0.0 else share == pytest.approx(0.01)  # the smallest
    np.testing.assert_array_equal(grant.displacement, prediction.predict(d.g + force).displacement)


def test_a_covered_effort_is_granted_whole(panda: VMSModel) -> None:
    d, force, grant = panda.evaluate(Q, np.full(7, 0.1)), np.full(7, 3.0), SampleGrant(panda)
    for dt in (0.0, 2e-3):
        granted = grant.grant(d, force, d.g, 100.0, dt)
        assert granted.force is force
        assert (granted.share, granted.is_covered) == (1.0, True)


def test_a_long_sample_is_predicted_as_its_parts(panda: VMSModel) -> None:
    v, parts, dt = np.array([6.0, -4.0, 3.0, 5.0, -3.0, 8.0, 6.0]), 40, 0.08
    d, force, prediction = panda.evaluate(Q, v), panda.evaluate(Q, v).g, SamplePredictor(panda)
    prediction.start_at(d, np.zeros(7), 0.0, dt)
    whole, energy = prediction.predict(force), 0.0
    for _ in range(parts):
        prediction.start_at(d, np.zeros(7), 0.0, dt / parts)
        part = prediction.predict(force)
        energy += part.max_energy
        d = panda.evaluate(part.q, part.v)
    # Steps of a fifth of a radian in place of some of 0.02.
    np.testing.assert_allclose(whole.q, d.q, atol=1e-4)
    np.testing.assert_allclose(whole.v, d.v, atol=1e-2)
    assert whole.max_energy == pytest.approx(energy, abs=0.05 * d.kinetic_energy)


def test_in_debt_an_effort_along_the_motion_is_granted_no_share(panda: VMSModel) -> None:
    v = np.full(7, 0.1)
    d, grant = panda.evaluate(Q, v), SampleGrant(panda)
    granted = grant.grant(d, d.g + 3.0, d.g, -0.1, 2e-3)
    np.testing.assert_array_equal(granted.force, d.g)
    assert (granted.share, granted.is_covered) == (0.0, False)


@pytest.mark.parametrize(("a", "b", "room"), [(2.0, 3.0, 0.5), (0.0, 3.0, 0.5), (-2.0, 3.0, 0.5)])
def test_the_largest_share_fills_the_room(a: float, b: float, room: float) -> None:
    s = _largest_share(a, b, room)
    # Where the effort brakes at first, the room counts from the least work on.
    least = -(min(a, 0.0) ** 2) / (2.0 * b)
    assert s * a + 0.5 * s * s * b == pytest.approx(least + room)


@pytest.mark.parametrize(("a", "room"), [(0.0, 0.0), (1.0, 0.0), (1.0, -1.0), (0.0, -1.0)])
def test_without_room_an_effort_that_does_not_brake_has_no_share(a: float, room: float) -> None:
    assert _largest_share(a, 3.0, room) == 0.0
