# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Comparison of the task-space controller with a common one, and the effect of sampling."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import RobotState
from vms_ph_io import load, robots
from vms_ph_studies import Check, get
from vms_ph_studies.comparisons.cartesian_impedance import Arm, make_phases, run_phase
from vms_ph_studies.comparisons.impedance_laws import (
    ComplianceLaw,
    CrispLaw,
    ExampleLaw,
    TorqueLaw,
)
from vms_ph_studies.comparisons.sampled_passivity import Encoder

SO101 = "package://vms_ph/urdf/so101.urdf"


def checks(identifier: str, **given: str) -> dict[str, Check]:
    study = get(identifier)
    done = study.run(study.settings(given))
    return {check.name: check for check in done.checks}


@pytest.mark.parametrize("posture", ["q0", pytest.param("q1", marks=pytest.mark.slow)])
def test_operational_space_control_is_not_passive_and_its_elbow_moves_the_task(
    posture: str,
) -> None:
    found = checks("operational-space-comparison", posture=posture, seconds="0.4")
    assert {check.verdict for check in found.values()} == {"agrees"}
    assert {check.origin for check in found.values()} == {"baseline"}
    closed = found["work of the springs around a closed path"]
    assert closed.obtained < 1e-12
    assert float(closed.reference) > 1e-2
    audit = found["unaccounted energy of the push, largest"]
    assert audit.obtained < 1e-8
    assert float(audit.reference) > 1e-2
    swing = found["displacement by a null-space motion of the elbow, largest"]
    assert float(swing.reference) > 5 * float(swing.obtained)
    null = found["null-space energy by the push, largest"]
    assert float(null.reference) > 100 * null.obtained


def test_the_sampled_law_is_passive_down_to_250_hz_with_and_without_a_tank() -> None:
    found = checks("sampled-passivity", encoder="exact", seconds="1.0")
    for name, check in found.items():
        assert check.verdict == "agrees", name
        remaining = float(check.obtained.split("at the end ")[1].split()[0])
        assert remaining < 1e-3, name


def test_an_encoder_rounds_positions_and_gives_their_differences() -> None:
    encoder = Encoder(1000.0)
    quantum = 2 * np.pi / 1000
    first = encoder.read(np.array([0.4, 1.0]), np.array([1.0, 1.0]), 1e-3)
    np.testing.assert_allclose(first.q, quantum * np.round(np.array([0.4, 1.0]) / quantum))
    np.testing.assert_array_equal(first.v, 0.0)
    second = encoder.read(np.array([0.4 + quantum, 1.0]), np.array([1.0, 1.0]), 1e-3)
    np.testing.assert_allclose(second.v, [quantum / 1e-3, 0.0], atol=1e-9)
    q, v = np.array([0.1]), np.array([0.2])
    exact = Encoder(0.0).read(q, v, 1e-3)
    assert (exact.q, exact.v) == (q, v)


def test_the_cartesian_impedance_keeps_the_limits_of_the_arm_and_its_certificate() -> None:
    arm = Arm(robots.load("fr3"), delay=2, rate=500.0, noise=2.0, torque_noise=0.1)
    phase = make_phases(1.0, arm.reach, arm.max_push)["stiffness times ten"]
    ours = run_phase(replace(phase, seconds=0.3, stiffness_scale=_after(0.1)), arm)
    assert ours.verdict == "kept"
    assert ours.rate < 1000.0
    assert ours.torque < 0.5


@pytest.mark.parametrize("kind", [ExampleLaw, CrispLaw])
def test_the_laws_of_others_pull_with_the_stiffness_of_the_rule(kind: type[TorqueLaw]) -> None:
    model = robots.load("fr3").without_gravity()
    law, state = kind(model, has_published_gains=False), RobotState(model.home, np.zeros(7))
    d = model.evaluate(state.q, state.v)
    pose = d.placement(model.end_effector)
    for _ in range(20):  # each sample may change a torque by 0.9 N m
        torque = law.command(state, pose[:3, 3] + [0.0, 0.0, 0.01])
    pull = pose[:3, :3].T @ [0.0, 0.0, 400.0 * 0.01]
    np.testing.assert_allclose(torque, d.J_end_effector[:3].T @ pull, atol=1e-12)


def test_a_law_that_sends_positions_yields_to_a_measured_force_as_a_spring_and_a_damper() -> None:
    model = load("package://vms_ph/urdf/ur10e.urdf")
    law, force = ComplianceLaw(model, has_published_gains=False), np.array([0.0, 0.0, 5.0])
    home = model.evaluate(model.home, np.zeros(6)).placement(model.end_effector)
    wrench = np.concatenate([home[:3, :3].T @ force, np.zeros(3)])

    def places(cycles: int) -> np.ndarray:
        q, found = model.home, []
        for _ in range(cycles):  # servos that are where they shall be one cycle later
            step = law.command(RobotState(q, np.zeros(6), wrench=wrench), home[:3, 3])
            q = model.integrate(q, step)
            found.append(model.evaluate(q, np.zeros(6)).placement(model.end_effector)[:3, 3])
        return np.array(found) - home[:3, 3]

    # The rule's 400 N/m: 12.5 mm.
    np.testing.assert_allclose(places(400)[-1], force / 400.0, atol=2e-4)
    law.set_scale(0.0)
    # A kilogram feels 0.025 of the force, and a step of 0.02 s leaves 0.9 of its velocity; it has
    # up to six tenths more with the joints.
    speed = 0.025 * 5.0 * 0.02 * 0.9 / 0.1
    assert 1.0 < speed / (np.diff(places(60)[-2:, 2])[0] / 0.02) < 1.6


def test_a_hand_at_constant_speed_feels_the_least_damping_of_the_rule() -> None:
    arm = Arm(robots.load("fr3"), friction=0.0, noise=0.0)
    hand = make_phases(1.0, arm.reach, arm.max_push)["hand at 0.1 m/s"]
    # 10 N s/m, and while its speed grows 0.1 m/s^2 of some 5 kg.
    assert 1.0 < run_phase(replace(hand, seconds=1.5), arm).force < 2.0


def test_a_law_of_others_holds_an_arm_in_mujoco_at_rest_until_it_has_a_payload() -> None:
    arm = Arm(robots.load("fr3"), "mujoco")
    phase = replace(make_phases(1.0, arm.reach, arm.max_push)["push"], seconds=0.05)
    assert run_phase(phase, arm, "crisp", published=True).position_error < 1e-4
    fallen = run_phase(phase, replace(arm, payload=1.0), "crisp", published=True).position_error
    assert 1e-3 < fallen < 0.5 * 9.81 * 0.05**2


def test_position_servos_realise_the_torques_behind_a_guard_that_covers_them() -> None:
    options = {"arm": SO101, "servo_stiffness": "17.8", "delay": "2", "hold": "10"}
    push_check = checks("cartesian-impedance", **options, plant="mujoco", phase="push")[
        "so101, push"
    ]
    assert push_check.verdict == "agrees"
    assert push_check.obtained.endswith("certificate kept, 0 scaled")
    arm = Arm(load(SO101), "mujoco", friction=0.0, delay=2, rate=100.0)
    phases = make_phases(1.0, arm.reach, arm.max_push)
    push_result = run_phase(phases["push"], replace(arm, servo_stiffness=17.8))
    assert push_result.position_error < 1e-4  # the commands carry the weight
    sway, sway_of_servos = (
        run_phase(phases["hand guiding"], replace(arm, servo_stiffness=k)).position_error
        for k in (0.0, 17.8)
    )
    # Between measurement and command the servos are dampers of 0.45 N m s/rad.
    assert 0.3 * sway < sway_of_servos < 0.6 * sway


@pytest.mark.parametrize("plant", ["vms_ph", "mujoco"])
def test_a_position_servo_oscillates_beyond_its_largest_stiffness(plant: str) -> None:
    arm = Arm(load(SO101), plant, friction=0.0, delay=2, rate=100.0)
    phase = replace(make_phases(1.0, arm.reach, arm.max_push)["push"], seconds=1.5)
    # The lightest joint has 0.028 kg m^2, and a position is 2.5 samples old on average.
    limit = 0.028 * (np.pi / np.sqrt(2.0) / 0.025) ** 2
    calm, shaking = (
        run_phase(phase, replace(arm, servo_stiffness=ratio * limit)).jitter
        for ratio in (0.85, 1.15)
    )
    assert shaking > 5.0 * calm


def _after(time: float) -> Callable[[float], float]:
    return lambda t: 0.25 if t < time else 2.5
