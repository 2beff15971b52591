# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Driving on two wheels: the storage function, the way to a pose, and its reference."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from dynamics.nonholonomic.carts import Axle, bicycle, differential_drive

from vms_ph_controllers import DifferentialDrive, Reference, RobotState, Status, WheeledImpedance
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.references.drive_reference import DriveBounds, DriveReference
from vms_ph_dynamics import ModelError, OptionError, Ports
from vms_ph_dynamics.groups import SO3
from vms_ph_dynamics.nonholonomic import NonholonomicForm
from vms_ph_dynamics.simulation import Simulation

BOUNDS = DriveBounds(0.4, 0.8, 0.5, 1.5)


def _pose(x: float, y: float, heading: float) -> "np.ndarray":
    pose = np.eye(4)
    pose[:3, :3] = SO3().exp(np.array([0.0, 0.0, heading]))
    pose[:2, 3] = x, y
    return pose


def test_the_storage_function_falls_by_the_damping_while_the_reference_drives() -> None:
    form = differential_drive()
    model, rng = form.model, np.random.default_rng(5)
    law = DifferentialDrive(form)
    q, h = model.configuration({"shoulder": 0.3, "elbow": 0.4}), 1e-5
    law.reset(RobotState(q, np.zeros(model.nv)))
    # Until it drives; the law in continuous time then sees a reference that does not move.
    for _ in range(300):
        law.update(RobotState(q, np.zeros(model.nv)), Reference(pose=_pose(2.0, 0.5, 0.0)), 0.01)
    assert law._base_ref.speed > 0.1
    clipped = []
    for torque_rate in (0.0, 0.0, 1.0, 1.0):  # from there on the torques stay as they were
        law.gains = replace(law.gains, torque_rate=torque_rate)
        away = model.integrate(q, 0.1 * rng.normal(size=model.nv))
        nu = 0.2 * rng.normal(size=form.dimension)
        start = form.terms(away, nu)
        command = law.update(RobotState(away, start.d.v), Reference(), 0.0)
        force = Ports(torque=command.torque).force(start.d)
        # W a short time before and after, of the motion and of the reference.
        stored = []
        for s in (-h, h):
            law._base_ref._time += s
            later = nu + s * start.acceleration(force)
            moved = form.terms(model.integrate(away, s * start.d.v), later)
            seen = law.update(RobotState(moved.d.q, moved.d.v), Reference(), 0.0)
            stored.append(seen.energy.closed_loop_energy)
            law._base_ref._time -= s
        rate = (stored[1] - stored[0]) / (2.0 * h)
        assert command.energy.damping_task > 0.0
        clipped.append(command.energy.clipped_power)
        assert rate == pytest.approx(clipped[-1] - command.energy.damping_task, rel=1e-4)
    assert clipped[0] == pytest.approx(0.0, abs=1e-9)
    assert max(map(abs, clipped)) > 1e-3


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("dt", [0.025, pytest.param(0.002, marks=pytest.mark.slow)])
def test_a_cart_comes_to_a_place_beside_it_while_its_arm_moves(dt: float) -> None:
    form = differential_drive()
    model = form.model
    law = DifferentialDrive(
        form, DifferentialDrive.Gains(speed=0.8, turn=1.5, acceleration=2.0, turn_acceleration=4.0)
    )
    q = model.configuration({"shoulder": 0.3, "elbow": 0.4})
    goal = model.configuration({"shoulder": -0.4, "elbow": 0.9})
    wanted = Reference(pose=_pose(0.0, 0.5, -0.3), joints=model.joint_positions(goal))
    law.reset(RobotState(q, np.zeros(model.nv)))
    # It starts beside its reference.
    start = model.integrate(q, np.array([0.03, 0.02, 0.1, 0.0, 0.0, 0.05, -0.05]))
    simulation = Simulation(
        form, start, dt, lambda q, v, dt: law.update(RobotState(q, v), wanted, dt)
    )
    simulation.advance(round(6.5 / dt))
    now = simulation.sample()
    assert not simulation.failure
    error = np.linalg.inv(_pose(0.0, 0.5, -0.3)) @ model.base_pose(now.q)
    # What is left of the error to the side, which cannot be corrected at rest.
    np.testing.assert_allclose(error, np.eye(4), atol=0.02)
    arm = [model.joint_index(name) for name in ("shoulder", "elbow")]
    reached = (model.joint_positions(now.q) - model.joint_positions(goal))[arm]
    np.testing.assert_allclose(reached, 0.0, atol=2e-3)
    np.testing.assert_allclose(now.v, 0.0, atol=5e-3)


def test_a_reference_turns_drives_and_turns_without_jumps_and_takes_new_targets() -> None:
    base = DriveReference()
    base.go_to(np.array([-1.0, 0.2]), 0.5)
    speeds, turns, places = [], [], []
    for k in range(2000):
        if k == 300:
            assert base.speed < 0.0  # the smaller turn is that to drive back
            base.go_to(np.array([0.5, 0.5]), 4.0)
        base.advance(BOUNDS, 0.01)
        speeds.append(base.speed)
        turns.append(base.turn_rate)
        places.append(np.array([*base.position, base.heading]))
        assert base.speed * base.turn_rate == 0.0
    assert base.is_resting
    np.testing.assert_allclose(base.position, [0.5, 0.5], atol=1e-12)
    assert np.cos(base.heading - 4.0) == pytest.approx(1.0)
    assert np.abs(speeds).max() <= BOUNDS.speed * (1.0 + 1e-9)
    assert np.abs(turns).max() <= BOUNDS.turn_rate * (1.0 + 1e-9)
    assert np.abs(np.diff(speeds)).max() <= 0.01 * BOUNDS.acceleration * 1.3
    assert np.abs(np.diff(turns)).max() <= 0.01 * BOUNDS.turn_acceleration * 1.3
    moved = np.array(places)
    assert np.abs(np.diff(moved, axis=0)).max() < 0.01 * BOUNDS.turn_rate * 1.01
    # It moves along its axis alone.
    across = [
        -np.sin(a[2]) * (b[0] - a[0]) + np.cos(a[2]) * (b[1] - a[1]) for a, b in pairwise(moved)
    ]
    np.testing.assert_allclose(across, 0.0, atol=1e-12)


def test_robots_that_two_wheels_do_not_drive_are_refused() -> None:
    with pytest.raises(ModelError, match="is for two wheels on one axle"):
        DifferentialDrive(bicycle())
    form = differential_drive()
    model = form.model
    with pytest.raises(ModelError, match="no joint of 'differential_drive' drives its base"):
        DifferentialDrive(NonholonomicForm(model, [Axle(model, "base_link")]))
    with pytest.raises(OptionError, match="for robots on wheels that do not slip"):
        make_controller("DifferentialDrive", model)
    with pytest.raises(OptionError, match="does not support the wheels"):
        make_controller("DecoupledVMSController", model, form=form)
    assert isinstance(make_controller("auto", model, form=form), DifferentialDrive)
    assert isinstance(make_controller("WheeledImpedance", model, form=form), WheeledImpedance)
    law = DifferentialDrive(form)
    broken = RobotState(model.neutral_configuration(), np.full(model.nv, np.nan))
    command = law.update(broken, Reference(), 0.01)
    assert command.status == Status.HOLDING
    assert np.isfinite(command.torque).all()
    assert not command.wrench_base.any()
