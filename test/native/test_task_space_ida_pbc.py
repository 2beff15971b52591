# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Task-space IDA-PBC in C++ does what it does in Python."""

from dataclasses import fields
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import TaskSpaceIDAPBC
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

from .arms import ARMS, arm, home
from .conftest import native_model
from .task_space_scenarios import (
    SCENARIOS,
    Loop,
    Scenario,
    a_tank_in_debt_at_a_low_rate,
    a_tank_that_runs_empty,
    limited_torques,
    near_singular,
    out_of_reach,
)
from .twins import Twins

_THREE = """<robot name="three"><link name="world"/>{}</robot>"""
_JOINT = """<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/>
<origin xyz="0.3 0 0" rpy="{turn} 0 0"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="30" velocity="2"/></joint>
<link name="l{k}"><inertial><mass value="1"/><origin xyz="0.15 0 0"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
_TIP = """<joint name="tip" type="fixed"><parent link="l{last}"/><child link="end"/>
<origin xyz="0.3 0 0"/></joint><link name="end"/>"""


def chain(joints: int) -> VMSModel:
    """Return an arm of up to three joints, the last of them not parallel to the others."""
    parts = [
        _JOINT.format(k=k, parent=f"l{k - 1}" if k else "world", turn=1.5 if k else 0.0)
        for k in range(joints)
    ]
    parts.append(_TIP.format(last=joints - 1))
    return VMSModel.from_urdf(_THREE.format("".join(parts)))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
@pytest.mark.parametrize("name", ARMS)
def test_both_languages_agree_at_every_update(
    native: ModuleType, name: str, scenario: Scenario
) -> None:
    robot = arm(name)
    if scenario is near_singular:
        # There rounding of the mass matrix counts as many times as the task inertia is larger: both
        # laws take the terms from the core, whose own test is test_terms.
        robot = robot.with_native(True)
    twins = Twins(native, robot)
    scenario(Loop(robot, twins, home(name)), 12)


@pytest.mark.parametrize(
    ("scenario", "sentence"),
    [
        (limited_torques, "rate of torque at its limit"),
        (limited_torques, "power at its limit of 0.3 W"),
        (limited_torques, "torque at its limit: panda_joint"),
        (a_tank_that_runs_empty, "the energy tank is empty"),
        (out_of_reach, "the minimum cannot follow"),
        (near_singular, "near a singularity: smallest singular value"),
    ],
)
def test_the_scenarios_reach_what_they_are_for(
    native: ModuleType, scenario: Scenario, sentence: str
) -> None:
    twins = Twins(native, arm("panda"))
    scenario(Loop(arm("panda"), twins, home("panda")), 40)
    assert any(reason.startswith(sentence) for reason in twins.reasons), twins.reasons


def test_the_low_rate_scenario_runs_the_tank_into_debt(native: ModuleType) -> None:
    twins = Twins(native, arm("panda"))
    a_tank_in_debt_at_a_low_rate(Loop(arm("panda"), twins, home("panda")), 40)
    assert twins.last.energy.unaccounted_energy > 0.1


@pytest.mark.parametrize("name", ARMS)
def test_they_agree_at_random_states_with_random_gains(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    model = arm(name)
    twins = Twins(native, model)
    table = {gain.name: gain for gain in twins.cpp.gains}
    for k in range(60):
        if k % 10 == 0:
            drawn = {
                name: float(rng.integers(2)) if gain.is_switch else _drawn(gain, rng)
                for name, gain in table.items()
            }
            twins.set_gains(**drawn)
            twins.reset(model.random_configuration(rng))
        q, v = model.random_configuration(rng), rng.uniform(-2.0, 2.0, model.nv)
        twins.update(q, v, rng.uniform(-0.6, 0.6, 3), None, 10.0 ** rng.uniform(-4, -1))


def _drawn(gain: Any, rng: np.random.Generator) -> float:
    """Return a value within bounds, small ones as often as large, zero now and then."""
    if gain.low == 0.0 and rng.random() < 0.3:
        return 0.0
    return float(np.exp(rng.uniform(np.log(max(gain.low, 1e-3)), np.log(gain.high))))


def test_an_arm_without_a_null_space_is_controlled_alike(native: ModuleType) -> None:
    model = chain(3)
    for scenario in SCENARIOS:
        twins = Twins(native, model)
        scenario(Loop(model, twins, np.array([0.3, 0.8, -0.9])), 4)


def test_every_gain_has_the_same_name_default_bounds_and_description(native: ModuleType) -> None:
    ours = native.make_law("TaskSpaceIDAPBC", native_model(native, arm("panda"))).gains
    theirs = fields(TaskSpaceIDAPBC.Gains)
    assert [gain.name for gain in ours] == [field.name for field in theirs]
    for gain, field in zip(ours, theirs, strict=True):
        assert gain.description == field.metadata["description"]
        assert gain.is_switch == isinstance(field.default, bool)
        assert gain.initial == gain.value == float(field.default)
        if not gain.is_switch:
            assert (gain.low, gain.high) == (field.metadata["low"], field.metadata["high"])


def test_a_gain_that_is_none_or_out_of_bounds_is_refused(native: ModuleType) -> None:
    law = native.make_law("TaskSpaceIDAPBC", native_model(native, arm("panda")))
    for gain in (("stiffnes", 1.0), ("stiffness", -1.0), ("power", np.nan), ("power", 1e9)):
        assert not law.set_gain(*gain)
    assert [gain.value for gain in law.gains] == [gain.initial for gain in law.gains]


def test_a_reset_to_what_is_no_configuration_changes_nothing(native: ModuleType) -> None:
    twins = Twins(native, arm("kinova"))
    q = home("kinova")
    twins.reset(q)
    for wrong in (q[1:], q * np.nan, 1.1 * q):
        twins.reset(wrong)
        twins.update(q, np.ones(6), None, None, 1e-3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda native, m: native.make_law("TaskSpaceIDAPBC", m(robots.load("hextilt"))), "fixed"),
        (lambda native, m: native.make_law("TaskSpaceIDAPBC", m(chain(2))), "at least 3 joints"),
    ],
)
def test_what_it_is_not_for_is_refused_with_a_sentence(
    native: ModuleType, make: Any, sentence: str
) -> None:
    with pytest.raises(native.ModelError, match=sentence):
        make(native, lambda model: native_model(native, model))
