# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of contact with people: equations, the effective mass, and the report."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from vms_ph_controllers.guard import EnergyGuardSettings
from vms_ph_dynamics import OptionError, TaskSpaceForm
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots
from vms_ph_studies.contact_limits import (
    REGIONS,
    STUDY,
    contact_limit,
    effective_mass,
    heaviest_direction,
    peak_force,
)


def test_the_effective_mass_is_that_of_the_task_form_and_largest_along_its_heaviest_direction():
    model = robots.load("panda")
    q = model.home
    d = model.evaluate(q, np.zeros(model.nv))
    inertia = TaskSpaceForm(model, PositionTask(model)).terms(d).Lambda_t
    masses = np.linalg.eigvalsh(inertia)
    assert effective_mass(model, q) == pytest.approx(masses[-1], rel=1e-9)
    assert effective_mass(model, q, payload=2.0) == pytest.approx(masses[-1] + 2.0, rel=1e-9)
    axes = d.placement(model.end_effector)[:3, :3]
    u = axes.T @ np.array([0.0, 0.0, 1.0])
    expected = 1.0 / np.linalg.inv(inertia)[2, 2]
    assert effective_mass(model, q, u) == pytest.approx(expected, rel=1e-9)
    assert effective_mass(model, q, heaviest_direction(d)) == pytest.approx(masses[-1], rel=1e-9)


def test_a_hand_bears_twice_the_force_when_it_recoils() -> None:
    clamped = contact_limit("hands and fingers", 3.0)
    assert (clamped.force, clamped.energy) == (140.0, pytest.approx(140.0**2 / 150e3))
    assert clamped.speed == pytest.approx(140.0 / sqrt(3.0 * 75e3))
    free = contact_limit("hands and fingers", 3.0, is_clamped=False)
    assert free.energy == pytest.approx(4.0 * clamped.energy)
    assert free.speed == pytest.approx(280.0 / sqrt(0.5 * 75e3))  # 1 / (1 / 3.0 + 1 / 0.6) = 0.5
    assert contact_limit("hands and fingers", 3.0, area=0.5).force == pytest.approx(95.0)
    with pytest.raises(OptionError, match="must be above zero; given: 0"):
        contact_limit("chest", 0.0)
    with pytest.raises(OptionError, match="there is no region 'ear'"):
        contact_limit("ear", 1.0)


@pytest.mark.parametrize("is_clamped", [False, True])
def test_no_contact_of_the_head_is_permitted(is_clamped: bool) -> None:
    for region in ("skull and forehead", "face"):
        limit = contact_limit(region, 3.0, is_clamped=is_clamped)
        assert (limit.force, limit.energy, limit.speed) == (0.0, 0.0, 0.0)
        assert limit.settings.tank_initial == 0.0
        assert limit.settings.speed > 0.0  # zero is no limit


@pytest.mark.parametrize("region", [name for name, r in REGIONS.items() if r.transient_ratio])
def test_the_budget_and_all_that_the_guard_may_exceed_it_by_is_the_energy(region: str) -> None:
    limit = contact_limit(region, 5.0)
    settings = limit.settings
    assert isinstance(settings, EnergyGuardSettings)
    worst = 1.8 * settings.tank_initial + max(1e-3, limit.energy / 20.0)
    assert worst == pytest.approx(limit.energy)
    assert settings.speed == limit.speed


def test_an_impact_of_the_whole_arm_reaches_the_force_of_the_two_masses() -> None:
    model = robots.load("panda")
    u = np.array([0.0, 0.0, 1.0])
    mass = effective_mass(model, model.home, u)
    limit = contact_limit("hands and fingers", mass, is_clamped=False)
    force = peak_force(model, model.home, u, "hands and fingers", limit.speed)
    assert force == pytest.approx(limit.force, rel=0.01)


def test_the_report_says_what_it_does_not_cover(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("vms_ph_studies.contact_limits.peak_force", lambda *arguments: 280.0)
    outcome = STUDY.run(STUDY.settings({"area": "0.5", "payload": "0.5"}), tmp_path)
    (file,) = outcome.files
    text = file.read_text("utf-8")
    assert "no certification" in text
    face, hands = (
        text.split(f"<td>{name}</td>")[1].split("</tr>")[0]
        for name in ("face", "hands and fingers")
    )
    assert face.count("<td class='number'>0</td>") == 6  # no contact
    assert "<td class='number'>0.241</td>" in hands  # J: twice 190 N/cm^2 on half a cm^2
    assert "contact area 0.5 cm²" in text
    verdicts = {check.name.split(":")[0]: check.verdict for check in outcome.checks}
    assert verdicts["hands and fingers"] == "agrees"  # 280 N
    assert verdicts["lower legs"] == "differs"  # 260 N
    assert len(verdicts) == len(REGIONS) - 2  # none of the head
