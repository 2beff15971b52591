# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Windows of energy and rows of torques hold for a motion that is known exactly."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.regressor import EnergyRegressor
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.identification.result import (
    Unknown,
    armature_unknowns,
    friction_unknowns,
    inertia_unknowns,
    payload_unknowns,
    timing_unknown,
)
from vms_ph_dynamics.identification.torque import (
    best_width,
    torque_error,
    torque_windows,
    with_described_load,
    with_net_load,
)
from vms_ph_dynamics.identification.windows import (
    SLIP,
    Motion,
    Windows,
    WindowSettings,
    energy_windows,
    joint_columns,
    motion_of,
    window_edges,
)

T = 0.002 * np.arange(301)
LOAD = pin.Inertia(1.5, np.array([0.02, -0.03, 0.08]), np.diag([0.02, 0.025, 0.015]))
FRICTION = {"viscous": 0.8, "coulomb": 0.0, "offset": -0.4}


def _samples(model: VMSModel) -> MotionSamples:
    """A motion by sines with the efforts that it needs, without friction."""
    turn = 2.0 + 0.4 * np.arange(model.n)
    angle = turn * T[:, None] + np.arange(model.n)
    q, v = 0.4 * np.sin(angle), 0.4 * turn * np.cos(angle)
    a = -0.4 * turn**2 * np.sin(angle)
    tree = model.tree.pinocchio
    data = tree.createData()
    effort = np.array([pin.rnea(tree, data, *row) for row in zip(q, v, a, strict=True)])
    return MotionSamples(T.copy(), q, v, effort)


@pytest.fixture(scope="module")
def samples(panda: VMSModel) -> MotionSamples:
    return _samples(panda)


@pytest.fixture(scope="module")
def motion(panda: VMSModel, samples: MotionSamples) -> Motion:
    return motion_of(panda, samples)


@pytest.fixture(scope="module")
def loaded(panda: VMSModel) -> MotionSamples:
    """With a load at the end effector."""
    tree = panda.pinocchio
    frame = tree.frames[panda.end_effector_id]
    tree.inertias[7] = tree.inertias[7] + frame.placement.act(LOAD)
    return _samples(VMSModel.from_pinocchio(tree, panda.end_effector))


def _balance(
    model: VMSModel, samples: MotionSamples, unknowns: list[Unknown], length: float = 0.05
) -> Windows:
    settings, motion = WindowSettings(model.end_effector, length), motion_of(model, samples)
    return energy_windows(model, EnergyRegressor(model), motion, unknowns, settings)


def test_windows_begin_with_the_first_sample_and_end_with_the_time_and_ten_samples() -> None:
    t = 0.01 * np.arange(36)
    np.testing.assert_array_equal(window_edges(t, 0.05), [0, 10, 20, 30])
    np.testing.assert_array_equal(window_edges(t, 0.12), [0, 12, 24])
    np.testing.assert_array_equal(window_edges(t[:10], 0.05), [0])


def test_windows_without_a_load_balance_and_with_one_its_parameters_close_them(
    panda: VMSModel, samples: MotionSamples, loaded: MotionSamples
) -> None:
    unknowns = payload_unknowns(10.0)
    bare, carried = (_balance(panda, one, unknowns) for one in (samples, loaded))
    np.testing.assert_allclose(bare.target, 0.0, atol=2e-3)
    assert np.abs(carried.target).max() > 0.2
    expected = carried.columns @ LOAD.toDynamicParameters()
    np.testing.assert_allclose(carried.target, expected, atol=4e-3)
    np.testing.assert_allclose(carried.begin, T[:-25:25], atol=1e-5)
    np.testing.assert_allclose(carried.end, T[25::25], atol=1e-5)
    power = np.abs(samples.torque * samples.v).sum(1)
    whole = np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(T))
    assert bare.gross.sum() == pytest.approx(whole, rel=1e-3)


def test_a_wrench_at_a_tool_does_work_by_the_motion_of_the_tool(
    panda: VMSModel, samples: MotionSamples
) -> None:
    port, wrench = panda.end_effector, np.array([8.0, -5.0, 12.0, 0.5, 1.0, -0.7])
    wrenches = {port: wrench * (1.0 + T[:, None])}
    tree = panda.pinocchio
    data = tree.createData()
    twists = []
    for q, v in zip(samples.q, samples.v, strict=True):
        pin.forwardKinematics(tree, data, q, v)
        twist = pin.getFrameVelocity(tree, data, panda.end_effector_id, pin.ReferenceFrame.LOCAL)
        twists.append(twist.vector)
    power = (wrenches[port] * np.array(twists)).sum(1)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(T))])
    for held in (False, True):
        with_it, without = (
            _balance(panda, replace(samples, wrenches=w, zero_order_hold=held), [])
            for w in (wrenches, {})
        )
        expected = np.diff(work[::25])
        # A wrench that is held lags by half a sample.
        np.testing.assert_allclose(with_it.target - without.target, expected, atol=2e-3)
        assert np.abs(expected).max() > 0.1


def test_friction_takes_energy_by_its_terms(panda: VMSModel, samples: MotionSamples) -> None:
    rate, effort = samples.v, samples.torque
    ones = [np.ones(7), np.ones(7)]
    unknowns = friction_unknowns(panda.joint_names, 7 * [False], ones, True, np.eye(7))
    columns = _balance(panda, samples, unknowns).columns
    smooth = np.tanh(rate / 0.01)
    forces = {"viscous": rate, "coulomb": smooth, "offset": 1.0, "load": np.abs(effort) * smooth}
    for k, unknown in enumerate(unknowns):
        joint, term = unknown.name.split(".")[1:]
        j = panda.joint_names.index(joint)
        power = (forces[term] * rate)[:, j]
        energy = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(T))])
        tolerance = 2e-3 * np.abs(energy).max()
        np.testing.assert_allclose(columns[:, k], np.diff(energy[::25]), atol=tolerance)


def test_what_a_joint_multiplies_is_named_by_it(panda: VMSModel, rng: np.random.Generator) -> None:
    rate, effort = rng.uniform(1e-3, 0.02, (5, 7)), rng.normal(size=(5, 7))
    signals = -rate, effort, 2.0 * effort, (), np.eye(7)
    columns = {name: (j, values) for name, j, values in joint_columns(panda, *signals)}
    joint, values = columns[f"friction.{panda.joint_names[4]}.load"]
    assert joint == 4
    np.testing.assert_allclose(values, -2.0 * np.abs(effort[:, 4]) * np.tanh(100.0 * rate[:, 4]))
    np.testing.assert_array_equal(columns[f"gain.{panda.joint_names[2]}"][1], -effort[:, 2])


def test_friction_and_rotor_of_a_motor_that_moves_two_joints_act_on_both(
    panda: VMSModel, samples: MotionSamples
) -> None:
    motors = np.eye(7)
    motors[5, 4] = share = 0.8  # of the rate of joint 5 that motor 6 has too
    rate = samples.v @ motors[5]
    acceleration = np.gradient(samples.v, T, axis=0, edge_order=2) @ motors[5]
    viscous, coulomb, rotor = 1.5, 0.7, 0.05
    effort = viscous * rate + coulomb * np.tanh(rate / SLIP) + rotor * acceleration
    driven = replace(samples, torque=samples.torque + effort[:, None] * motors[5], motors=motors)
    unknowns = friction_unknowns(
        panda.joint_names, 7 * [False], 2 * [np.ones(7)], False, motors
    ) + armature_unknowns(panda.joint_names, 7 * [False], np.zeros(7))
    five, six = (f"friction.{joint}" for joint in panda.joint_names[4:6])
    known = {f"{six}.motor_coulomb": coulomb, f"armature.{panda.joint_names[5]}": rotor}
    # What a motor's viscous friction does to the joint that moves is told as friction of the joint.
    known |= {f"{six}.motor_viscous": viscous, f"{six}.viscous": viscous}
    known |= {f"{five}.viscous": share**2 * viscous}
    assert known.keys() <= {u.name for u in unknowns}
    x = np.array([known.get(u.name, 0.0) for u in unknowns])
    motion = motion_of(panda, driven)
    rows = torque_windows(panda, motion, unknowns, WindowSettings(panda.end_effector), width=6)
    np.testing.assert_allclose(rows.target, rows.columns @ x, atol=4e-3)
    windows = _balance(panda, driven, unknowns)
    np.testing.assert_allclose(windows.target, windows.columns @ x, atol=4e-3)
    assert np.abs(windows.columns @ x).max() > 0.1
    signals = samples.v, samples.torque, samples.torque, (), motors
    assert not any("motor" in name for name, _, _ in joint_columns(panda, *signals))


def test_the_described_load_is_what_the_motion_needs(panda: VMSModel, motion: Motion) -> None:
    described = with_described_load(panda, replace(motion, load=motion.load * np.nan), 0.1).load
    np.testing.assert_allclose(described[10:-10], motion.samples.torque[10:-10], atol=0.03)


def test_gears_transmit_what_known_friction_leaves_of_the_efforts(
    panda: VMSModel, motion: Motion
) -> None:
    name, load = f"friction.{panda.joint_names[1]}", motion.samples.torque
    known = {f"{name}.coulomb": 3.0, f"{name}.load": 0.2, f"gain.{panda.joint_names[1]}": 9.0}
    rubbing = load.copy()
    rubbing[:, 1] += (3.0 + 0.2 * np.abs(load[:, 1])) * np.tanh(motion.v[:, 1] / SLIP)
    seen = replace(motion, torque=rubbing)
    found = with_net_load(panda, seen, known).load
    is_certain = np.abs(load) > 4.0  # where friction does not turn the sign
    assert is_certain[:, 1].any()
    np.testing.assert_allclose(found[is_certain], load[is_certain], rtol=1e-9)


def test_accelerations_are_smoothed_as_much_as_predicts_held_out_time_best(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    t = 0.001 * np.arange(5000)
    q, v, a = (np.zeros((5000, 7)) for _ in range(3))
    q[:, 1] = 0.4 * np.sin(t)
    v[:, 1], a[:, 1] = 0.4 * np.cos(t), -0.4 * np.sin(t)
    tree, data = panda.tree.pinocchio, panda.tree.data()
    effort = np.array([pin.rnea(tree, data, *row) for row in zip(q, v, a, strict=True)])
    seen = q + 3e-4 * rng.normal(size=q.shape)
    slow = motion_of(panda, MotionSamples(t, seen, v, effort))
    model = EnergyRegressor(panda)
    motors = [np.ones(7), np.ones(7)], False, np.eye(7)
    unknowns = friction_unknowns(panda.joint_names, 7 * [False], *motors)
    rotors = armature_unknowns(panda.joint_names, 7 * [False], np.zeros(7))
    unknowns += [*inertia_unknowns(model), *rotors]
    settings = WindowSettings(panda.end_effector)
    assert best_width(panda, slow, unknowns, settings) == 100  # as the motion has no haste
    # Nor has one with a rotor of which the description knows nothing.
    heavy = replace(slow, torque=effort + 20.0 * a)
    assert best_width(panda, heavy, unknowns, settings) == 100
    # Noise of the efforts hides the difference: the least width within 2 % is taken.
    noisy = replace(slow, torque=effort + 5.0 * rng.normal(size=effort.shape))
    assert best_width(panda, noisy, unknowns, settings) < 100


def test_rows_of_torques_hold_with_a_load_and_friction(
    panda: VMSModel, loaded: MotionSamples
) -> None:
    rubbing = FRICTION["viscous"] * loaded.v + FRICTION["offset"]
    late = 0.004  # s, by which efforts lag
    torque = loaded.torque + rubbing
    torque = torque - late * np.gradient(torque, T, axis=0)
    unknowns = [
        *payload_unknowns(10.0),
        *friction_unknowns(panda.joint_names, 7 * [False], 2 * [np.ones(7)], False, np.eye(7)),
        timing_unknown(),
    ]
    values = dict(zip((u.name for u in unknowns[:10]), LOAD.toDynamicParameters(), strict=True))
    values |= {u.name: FRICTION[u.name.rpartition(".")[2]] for u in unknowns[10:-1]}
    values["timing.effort_lag"] = late
    recorded = motion_of(panda, replace(loaded, torque=torque))
    rows = torque_windows(panda, recorded, unknowns, WindowSettings(panda.end_effector), width=6)
    x = np.array([values[u.name] for u in unknowns])
    np.testing.assert_allclose(rows.target, rows.columns @ x, atol=2e-3)
    assert np.abs(rows.target).max() > 0.1
    size = np.sqrt(np.mean(recorded.samples.torque**2, axis=0))
    np.testing.assert_allclose(rows.gross[:7], size, rtol=1e-3)


def test_every_output_of_a_torque_regression_has_its_own_noise(rng: np.random.Generator) -> None:
    noise, x = np.array([0.02, 0.3]), np.array([1.0, -2.0])
    columns = rng.normal(size=(800, 2))
    target = columns @ x + np.tile(noise, 400) * rng.normal(size=800)
    blank = np.zeros(800)
    rows = Windows(blank, blank, target, columns, blank, blank, blank)
    error, residual, found = torque_error(rows, 2, np.array([3.0, 3.0]), 100.0 * np.eye(2))
    np.testing.assert_allclose(residual, noise, rtol=0.15)
    np.testing.assert_allclose(error, noise, rtol=0.15)
    # Weighted, it is the estimate of the first output, which is fifteen times as exact.
    first = np.linalg.lstsq(columns[::2], target[::2], rcond=None)[0]
    np.testing.assert_allclose(found, first, atol=1e-3)
