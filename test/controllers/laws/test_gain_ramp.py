# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Changes of gains: no step in the torque, and the values set in the end."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    Controller,
    DecoupledVMSController,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.laws.gain_ramp import RAMP_DURATION, GainRamp
from vms_ph_io import robots

from ..support.closed_loops import HOLD

LAWS = {
    "task space": (TaskSpaceIDAPBC, "panda"),
    "end effector": (CartesianImpedance, "omnidirectional_panda"),
    "decoupled": (DecoupledVMSController, "satellite_panda"),
}


def effort(law: Controller, state: RobotState, dt: float) -> np.ndarray:
    told = law.update(state, HOLD, dt)
    return np.concatenate([told.wrench_base, told.torque])


def test_a_gain_crosses_its_range_in_the_crossing_time_and_limits_act_at_once() -> None:
    first = TaskSpaceIDAPBC.Gains(stiffness=0.0)
    ramp = GainRamp(first)
    assert ramp.follow(first, 1e-3) is first
    target = TaskSpaceIDAPBC.Gains(stiffness=1000.0, damping_task=10.0, torque_rate=5.0)
    half = ramp.follow(target, 0.5 * RAMP_DURATION)
    assert half.stiffness == 500.0
    assert (half.damping_task, half.torque_rate) == (10.0, 5.0)
    for dt in (0.0, -1.0, np.nan):
        assert ramp.follow(target, dt) == half
    assert ramp.follow(target, RAMP_DURATION) == target
    ramp.restart(target)
    assert ramp.follow(first, 1e-3) == first


@pytest.mark.parametrize("name", LAWS)
def test_gains_that_jump_between_their_bounds_make_no_step_in_the_torque(
    name: str, rng: np.random.Generator
) -> None:
    kind, robot = LAWS[name]
    model = robots.load(robot)
    home = model.configuration(robots.get(robot).home)
    state = RobotState(
        model.integrate(home, 0.02 * rng.uniform(-1, 1, model.nv)),
        0.05 * rng.uniform(-1, 1, model.nv),
    )
    law, dt = kind(model), 1e-3
    law.reset(RobotState(home, np.zeros(model.nv)))
    torques = [effort(law, state, dt)]
    for item in fields(kind.Gains):
        low, high = item.metadata["low"], item.metadata["high"]
        if item.name in ("torque_rate", "power", "tank_capacity", "tank_initial"):
            continue
        was = getattr(law.gains, item.name)
        other: Any = (not was) if low is None else high
        for value in (other, was if low is None else low, was):
            law.gains = replace(law.gains, **{item.name: value})
            torques += [effort(law, state, dt) for _ in range(4)]
    change = np.abs(np.diff(np.array(torques), axis=0)).max()
    law.reset(RobotState(home, np.zeros(model.nv)))
    strong = {
        item.name: item.metadata["high"]
        for item in fields(kind.Gains)
        if item.metadata["low"] is not None and not item.metadata["at_once"]
    }
    law.gains = replace(law.gains, **(strong | {"delay": 0.0}))
    whole = np.abs(effort(law, state, dt) - torques[0]).max()
    # At most what a gain moves in a sample, of the effort at the bounds.
    assert 0.0 < change < 8.0 * dt / RAMP_DURATION * whole


@pytest.mark.usefixtures("core")
def test_the_frame_of_the_end_effector_is_changed_without_a_step() -> None:
    model = robots.load("omnidirectional_panda")
    home = model.configuration(robots.get("omnidirectional_panda").home)
    law, dt = CartesianImpedance(model), 1e-2
    law.reset(RobotState(home, np.zeros(model.nv)))
    away = RobotState(model.integrate(home, np.full(model.nv, 0.03)), np.zeros(model.nv))
    before = effort(law, away, dt)
    law.gains = replace(law.gains, relative_to_base=True)
    torques = np.array([before, *(effort(law, away, dt) for _ in range(225))])
    weight = model.evaluate(away.q, away.v).g
    assert np.abs(np.diff(torques, axis=0)).max() < 2.0 * dt / RAMP_DURATION * np.abs(before).max()
    # In the frame of the base it holds the pose of that moment, and the base goes on being held.
    held = torques[-1] - weight
    assert np.abs(held[model.b :]).max() < 0.1 * np.abs((before - weight)[model.b :]).max()
