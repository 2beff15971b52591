# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Which states are believed after others were not, and the bounds that follow from a robot."""

import pickle
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest

from vms_ph_controllers import CartesianImpedance, EnergyGuard, Reference
from vms_ph_controllers.guard.port_guard import PortGuard
from vms_ph_controllers.safety.plausibility import (
    PlausibilityBounds,
    ReferencePlausibility,
    StatePlausibility,
)
from vms_ph_io import robots

DT, GAP = 0.01, 20  # s, samples


def _nan(q: np.ndarray) -> np.ndarray:
    return np.full_like(q, np.nan)


def _longer(factor: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return a fault of the quaternion of a floating base."""

    def fault(q: np.ndarray) -> np.ndarray:
        wrong = q.copy()
        wrong[3:7] *= factor
        return wrong

    return fault


@pytest.mark.parametrize(
    ("name", "fault"),
    [("panda", _nan), ("hextilt", _nan), ("hextilt", _longer(1.1)), ("hextilt", _longer(1e200))],
)
def test_a_robot_may_have_moved_while_its_positions_were_none(
    name: str, fault: Callable[[np.ndarray], np.ndarray]
) -> None:
    model = robots.load(name)
    q = model.configuration(robots.get(name).home)
    states, bounds = StatePlausibility(model), PlausibilityBounds()
    states.restart(q)
    v = 0.3 * bounds.speeds(model) * np.eye(model.nv)[0 if model.b else -1]
    assert not states.judge(q, v, DT).reason
    for _ in range(GAP):
        judged = states.judge(fault(q), v, DT)
        assert judged.reason
        np.testing.assert_array_equal(judged.q, q)
    later = model.integrate(q, (GAP + 1) * DT * v)
    assert np.abs(model.difference(q, later)).max() > DT * v.max() + bounds.step_tolerance
    reasons = []
    for _ in range(bounds.recovery_samples):
        reasons.append(states.judge(later, v, DT).reason)
        later = model.integrate(later, DT * v)
    assert set(reasons[:-1]) == {"the state was implausible a moment ago"}
    assert not reasons[-1]


def test_a_configuration_is_believed_where_joints_alone_seem_too_fast_and_have_moved() -> None:
    model = robots.load("omnidirectional_panda")
    q = model.configuration(robots.get("omnidirectional_panda").home)
    rest, last, none = np.zeros(model.nv), np.eye(model.nv)[-1], np.full(model.nv, np.nan)
    states = StatePlausibility(model)
    most = states.bounds.speeds(model)
    upper = states.bounds.positions(model)[1][-1]
    beyond = q.copy()
    beyond[-1] = upper + 0.01

    def judge(now: np.ndarray, v: np.ndarray, before: np.ndarray = q, dt: float = DT) -> bool:
        states.restart(before)
        judgement = states.judge(now, v, dt)
        assert judgement.reason
        return judgement.is_located

    fast = 1.1 * most[-1] * last
    assert judge(model.integrate(q, DT * fast), fast)
    assert judge(model.integrate(q, 0.1 * last), 1e9 * last)  # a velocity of no meaning
    assert not judge(q, fast)
    assert not judge(q, none)
    assert not judge(model.integrate(q, DT * fast), fast, dt=2.0)
    base = 1.1 * most[0] * np.eye(model.nv)[0]
    assert not judge(model.integrate(q, DT * base), base)
    assert not judge(model.integrate(q, 0.5 * last), fast)  # a jump
    almost = beyond.copy()
    almost[-1] = upper - 0.01
    assert judge(beyond, 2.0 * last, almost)
    assert not judge(np.full_like(q, np.nan), rest)


def test_speeds_are_bounded_by_the_joints_and_by_the_largest_of_all() -> None:
    model = robots.load("hextilt")
    limit, bounds = model.joints.velocity, PlausibilityBounds(joint_speed=1.0)
    speeds = bounds.speeds(model)
    known = limit > 0.0
    np.testing.assert_allclose(speeds[:3], bounds.base_speed)
    np.testing.assert_allclose(speeds[3:6], bounds.base_turn)
    np.testing.assert_allclose(
        speeds[6:], np.where(known, np.minimum(bounds.velocity_factor * limit, 1.0), 1.0)
    )
    panda = robots.load("panda")
    wide = PlausibilityBounds(joint_speed=100.0)
    np.testing.assert_allclose(wide.speeds(panda), wide.velocity_factor * panda.joints.velocity)


def test_after_a_jump_a_place_is_believed_where_measured_positions_scatter_about_it() -> None:
    model = robots.load("panda")
    states, bounds, rest = StatePlausibility(model), PlausibilityBounds(), np.zeros(7)
    states.restart(model.home)
    noise = 0.45 * (bounds.step_tolerance + DT * bounds.speeds(model))
    times, restarts = np.arange(0.0, bounds.restart_time + 3 * DT, DT), []
    for k in range(len(times)):
        jumped = model.home + 0.5 + (-1) ** k * noise
        restarts.append(states.judge(jumped, rest, DT).needs_restart)
    assert not any(restarts[: int(bounds.restart_time / DT) - 1])
    assert sum(restarts) == 1


@pytest.mark.parametrize(("offset", "frozen"), [(0.38, False), (0.42, True)])
def test_an_offset_of_velocities_at_rest_means_frozen_positions_beyond_a_bound(
    offset: float, frozen: bool
) -> None:
    # What a velocity adds up to fades within half a second: 0.2 rad are reached from 0.4 rad/s on.
    model = robots.load("panda")
    states = StatePlausibility(model)
    states.restart(model.home)
    v = np.array([0.0, 0.0, -offset, 0.0, 0.0, 0.0, 0.0])
    reasons = {states.judge(model.home, v, DT).reason for _ in range(300)}
    assert any("position is frozen" in reason for reason in reasons) is frozen


def test_a_reference_may_be_near_origin_base_or_tool_and_a_joint_between_its_limits() -> None:
    model = robots.load("satellite_panda")
    q = model.configuration(robots.get("satellite_panda").home)
    q[:3] = 50.0, -20.0, 10.0
    bounds = PlausibilityBounds(reference_distance=0.1)
    tool = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)[:3, 3]
    assert np.linalg.norm(tool - q[:3]) > 0.2
    references = ReferencePlausibility(model, bounds)
    for place in (np.zeros(3), q[:3], tool):
        for away, refused in ((0.09, False), (0.11, True)):
            reference = Reference(position=place + away * np.array([0.6, 0.0, 0.8]))
            assert bool(references.plausible_part(reference, q)[1]) is refused
    lower, upper = bounds.positions(model)
    for joints, refused in ((lower, False), (upper, False), (upper + 1e-6, True)):
        assert bool(references.plausible_part(Reference(joints=joints), q)[1]) is refused


@pytest.mark.parametrize("in_python", [True, False])
def test_copies_of_a_check_continue_from_the_last_state(in_python: bool) -> None:
    model = robots.load("panda")
    model = model.with_native(False) if in_python else model
    states, rest = StatePlausibility(model), np.zeros(model.nv)
    states.restart(model.home)
    moved = model.home + 0.02
    for _ in range(3):
        assert not states.judge(moved, rest, DT).reason
    for copied in (deepcopy(states), pickle.loads(pickle.dumps(states))):
        assert not copied.judge(moved + 0.02, rest, DT).reason
        assert "jumped" in copied.judge(moved + 1.0, rest, DT).reason
    assert not states.judge(moved, rest, DT).reason  # the original is untouched


def test_guards_are_copied() -> None:
    model = robots.load("panda")
    for host in (EnergyGuard(CartesianImpedance(model), budget=1.0), PortGuard(model)):
        deepcopy(host)
        pickle.loads(pickle.dumps(host))
