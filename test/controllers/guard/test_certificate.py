# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The certificate of an energy guard says what it saw, and what it could not see."""

import json
from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers.guard import EnergyGuardSettings, PortGuard
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

from ..support.guard_runs import ContactPlant

DT = 1e-3


def _driven(model: VMSModel, delay: int = 0, lost: int = 0) -> tuple[PortGuard, ContactPlant]:
    plant = ContactPlant(model, model.configuration(robots.get("panda").home), np.zeros(7), [])
    guard = PortGuard(model, EnergyGuardSettings(5.0, 2.0), delay=delay)
    guard.engage(plant.q, plant.v)
    queue = [np.array(model.evaluate(plant.q, plant.v).g)] * delay
    for k in range(80):
        d = model.evaluate(plant.q, plant.v)
        q = np.full(7, np.nan) if 40 <= k < 40 + lost else plant.q
        sent = guard.update(q, plant.v, d.g + d.M @ np.full(7, 4.0), DT if k else 0.0)
        queue.append(sent.effort)
        plant.hold(queue.pop(0), np.zeros(7), DT, np.zeros(7))
    return guard, plant


def test_it_books_what_an_independent_integration_finds(panda: VMSModel) -> None:
    for delay in (0, 3):
        guard, plant = _driven(panda, delay)
        before = guard.certificate
        guard.update(plant.q, plant.v, np.zeros(7), DT)
        found = guard.certificate
        assert abs(found.given - plant.given) < 1e-9
        assert found.largest_given >= before.given
        assert found.margin == found.budget - found.largest_given
        assert 0.0 < found.largest_unseen < 0.2 * found.largest_given  # of a few of 80 samples
        assert found.verdict == "kept"
        assert (found.samples, found.duration) == (81, pytest.approx(80 * DT))
        assert found.ports == panda.joint_names


def test_efforts_under_way_spend_the_budget_to_its_end_and_no_further(panda: VMSModel) -> None:
    for delay in (0, 3):
        plant = ContactPlant(panda, panda.configuration(robots.get("panda").home), np.zeros(7), [])
        guard = PortGuard(panda, EnergyGuardSettings(0.3, 0.3), delay=delay)
        guard.engage(plant.q, plant.v)
        queue, given = [np.array(panda.evaluate(plant.q, plant.v).g)] * delay, []
        for k in range(60):
            d = panda.evaluate(plant.q, plant.v)
            sent = guard.update(plant.q, plant.v, d.g + d.M @ np.full(7, 40.0), DT if k else 0.0)
            queue.append(sent.effort)
            plant.hold(queue.pop(0), np.zeros(7), DT, np.zeros(7))
            given.append(plant.given)
        assert 0.299 < max(given) < 0.3 + 1e-6


def test_lost_samples_are_counted_and_nothing_is_credited_for_them(panda: VMSModel) -> None:
    guard, plant = _driven(panda, lost=5)
    guard.update(plant.q, plant.v, np.zeros(7), DT)
    found = guard.certificate
    assert 5 <= found.lost <= 12  # and until states are believed again
    assert found.given >= plant.given - 1e-9
    assert any("without a plausible state" in each for each in found.not_seen)


def test_it_names_the_joint_of_the_first_lost_sample(panda: VMSModel) -> None:
    guard, plant = _driven(panda)
    for jump in (0.5 * np.eye(7)[2], np.full(7, np.nan)):
        guard.update(plant.q + jump, plant.v, np.zeros(7), DT)
    found = guard.certificate
    assert found.first_loss.startswith("implausible state: panda_joint3 jumped by 0.5")
    assert f"2 lost, the first as {found.first_loss}" in str(found)


def test_it_is_plain_data_and_lines_that_say_what_was_not_seen(panda: VMSModel) -> None:
    found = _driven(panda)[0].certificate
    read = json.loads(json.dumps(found.document()))
    assert read["verdict"] == "kept"
    assert read["samples"] == 80
    text = "\n".join(found.lines())
    assert "not seen     energy at other ports" in text
    assert "the energy given stayed within the budget" in text
    assert "without being booked" not in text
    assert "0.25 J that may have been given" in "\n".join(replace(found, unsettled=0.25).lines())
    carried = replace(found, effort_carries_weight=False)
    assert "which the hardware adds" in "\n".join(carried.lines())


def test_an_excess_beyond_the_work_not_seen_is_called_broken(panda: VMSModel) -> None:
    found = _driven(panda)[0].certificate
    assert replace(found, margin=-0.5 * found.largest_unseen).verdict == "excess"
    assert replace(found, margin=-1.0 - found.largest_unseen).verdict == "broken"
