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


def test_a_gain_crosses_its_range_in_the_crossing_time() -> None:
    first = TaskSpaceIDAPBC.Gains(stiffness=0.0)
    ramp = GainRamp(first)
    assert ramp.follow(first, 1e-3) is first
    target = TaskSpaceIDAPBC.Gains(stiffness=1000.0, damping_task=10.0, tank_capacity=5.0)
    half = ramp.follow(target, 0.5 * RAMP_DURATION)
    assert half.stiffness == 500.0
    assert (half.damping_task, half.tank_capacity) == (10.0, 5.0)
    for dt in (0.0, -1.0, np.nan):
        assert ramp.follow(target, dt) == half
    assert ramp.follow(target, RAMP_DURATION) == target
    ramp.restart(target)
    assert ramp.follow(first, 1e-3) == first


@pytest.mark.parametrize("force", [-1.0, 0.0, 5.0, 20.0, 2e4, np.inf])
def test_a_limit_changes_by_a_hundredth_in_a_millisecond_and_begins_at_what_it_limits(
    force: float,
) -> None:
    unlimited, limited = CartesianImpedance.Gains(), CartesianImpedance.Gains(force_limit=10.0)
    ramp = GainRamp(unlimited, {"force_limit": force})
    ramp.follow(unlimited, 1e-3)
    first_limit = 10.0 if force < 10.0 else min(force, 1e4) / 1.01
    assert ramp.follow(limited, 1e-3).force_limit == pytest.approx(first_limit)
    steps = [ramp.follow(limited, 1e-3).force_limit for _ in range(70 if force < 1e4 else 800)]
    assert steps[-1] == 10.0
    assert ramp.follow(unlimited, 1e-3).force_limit == pytest.approx(10.1)
    for _ in range(800):
        ramp.follow(unlimited, 1e-3)
    assert ramp.gains == unlimited


LIMITS = {
    "force_limit": 40.0, "moment_limit": 8.0, "null_energy": 100.0, "power": 4.0,
    "torque_rate": 2.0,
}  # fmt: skip


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("share", [0.0, 0.02])
def test_a_limit_that_jumps_makes_no_step_in_the_torque_and_adds_little_power(
    name: str, share: float
) -> None:
    dt, (law, home, away) = 1e-3, displaced(name, LIMITS[name])
    law.update(home, HOLD, dt)
    commands = [law.update(away, HOLD, dt) for _ in range(20)]
    for value in (share * LIMITS[name], LIMITS[name]):
        law.gains = replace(law.gains, **{name: value})
        commands += [law.update(away, HOLD, dt) for _ in range(1500)]
    torques = np.array([each.torque for each in commands[19:]])
    span = np.ptp(torques, axis=0).max()
    assert span > 0.3
    # Of what the limit changes: about a hundredth in a millisecond, more only where it ends to act.
    assert np.abs(np.diff(torques, axis=0)).max() < 0.08 * span
    assert max(each.energy.reference_power for each in commands[20:]) < 4.2  # W


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("name", ["force_limit", "moment_limit", "power", "torque_rate"])
def test_a_limit_acts_at_once_where_there_was_none(name: str) -> None:
    dt, torques = 1e-3, {}
    for value in (0.0, LIMITS[name]):
        law, home, away = displaced(name, value)
        law.update(home, HOLD, dt)
        torques[value] = [law.update(away, HOLD, dt).torque for _ in range(20)]
        law.gains = replace(law.gains, **{name: LIMITS[name]})
        torques[value] += [law.update(away, HOLD, dt).torque for _ in range(80)]
    late, limited = torques.values()
    if name == "torque_rate":  # it has reached what it holds, by the first step
        late = [law.update(home, HOLD, dt).torque for _ in range(20)]
        assert np.abs(np.diff(late, axis=0)).max() <= 1.001 * dt * LIMITS[name]
        return
    assert np.abs(late[19] - limited[19]).max() > 0.3
    # From 60 N to 40 N, say, in 41 ms, by a hundredth of them in a millisecond.
    np.testing.assert_allclose(late[-1], limited[-1], atol=1e-6)
    assert np.abs(np.diff(late, axis=0))[19:].max() < 0.08 * np.abs(late[19] - limited[19]).max()


def displaced(name: str, value: float) -> tuple[CartesianImpedance, RobotState, RobotState]:
    """Return a law with a limit, its state at home, and one where its springs pull."""
    model, still = robots.load("fr3"), np.zeros(7)
    gains = CartesianImpedance.Gains(stiffness=400.0, stiffness_rotation=30.0, null_stiffness=10.0)
    gains = replace(gains, **{name: value})
    law, q = CartesianImpedance(model, gains), model.home
    law.reset(RobotState(q, still))
    step = np.concatenate([0.15 * np.eye(3)[2], 0.5 * np.eye(3)[0]]) / 60.0
    for _ in range(60):  # lowered by 0.15 m, turned by 0.5 rad, and moved in the null space
        J = model.evaluate(q, still).J_end_effector
        null_motion = np.linalg.svd(J)[2][-1]
        q = model.integrate(
            q, np.linalg.pinv(J) @ step + np.copysign(0.01, null_motion[0]) * null_motion
        )
    # At power limits it moves as its springs pull.
    v = -0.1 * np.linalg.pinv(J) @ np.append(60.0 * step[:3], np.zeros(3)) / 0.15
    return law, RobotState(model.home, still), RobotState(q, v if name == "power" else still)


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
        if item.metadata["low"] is not None and item.metadata["ramp"] == "range"
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


@pytest.mark.parametrize("native", [None, False])
def test_an_update_without_time_loads_no_spring(native: bool | None) -> None:
    model = robots.load("panda")
    law = CartesianImpedance(model if native is None else model.with_native(native))
    law.gains = CartesianImpedance.Gains(stiffness=100.0)
    law.reset(RobotState(model.home, np.zeros(7)))
    state = RobotState(model.home + 0.05, np.zeros(7))
    for _ in range(10):
        law.update(state, HOLD, 1e-3)
    law.gains = replace(law.gains, stiffness=3000.0)
    before = law.update(state, HOLD, 1e-3)
    after = law.update(state, HOLD, 0.0)
    stored = after.energy.shaped_potential - before.energy.shaped_potential
    assert abs(stored) < 1e-9
    np.testing.assert_allclose(after.torque, before.torque, rtol=0, atol=0.5)
