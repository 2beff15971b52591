# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""IDA-PBC of a pose or position on every base: energy, coupling, assigned inertia, refusals."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers import Command, PoseIDAPBC, Reference, RobotState, Status
from vms_ph_dynamics import ModelError, OptionError, VMSModel
from vms_ph_dynamics.groups import SE3
from vms_ph_io import robots

HOLD = Reference()
NOW = 1e-9  # time between evaluations of the law at one instant, s
ROBOTS = ("panda", "omnidirectional_panda", "satellite_panda", "hextilt")
FREE = {"stiffness": 0.0, "stiffness_rotation": 0.0, "damping": 0.0, "damping_rotation": 0.0}
FREE |= {"damping_null": 0.0, "frequency_base": 0.0, "frequency_posture": 0.0}


def unlimited(name: str) -> VMSModel:
    """Return a robot whose efforts have no limits, so that only the law is seen."""
    model = robots.load(name)
    model.joints.effort.flags.writeable = True
    model.joints.effort[:] = np.inf
    return model


def positive(rng: np.random.Generator, size: int, least: float) -> np.ndarray:
    root = rng.normal(size=(size, size))
    return np.asarray(0.2 * root @ root.T + least * np.eye(size))


def force(told: Command) -> np.ndarray:
    return np.concatenate([told.wrench_base, told.torque])


def acceleration(model: VMSModel, q: np.ndarray, v: np.ndarray, told: Command) -> np.ndarray:
    data = model.pinocchio.createData()
    return np.array(pin.aba(model.pinocchio, data, q, v, force(told)))


def random_state(model: VMSModel, home: np.ndarray, rng: np.random.Generator) -> RobotState:
    q = model.integrate(home, 0.3 * rng.uniform(-1, 1, model.nv))
    return RobotState(q, 0.5 * rng.uniform(-1, 1, model.nv))


def stored(law: PoseIDAPBC, state: RobotState, a: np.ndarray, time: float) -> float:
    q = law.model.integrate(state.q, time * state.v + 0.5 * time**2 * a)
    told = law.update(RobotState(q, state.v + time * a), HOLD, NOW)
    return told.energy.closed_loop_energy


@pytest.mark.parametrize("name", ROBOTS)
def test_the_energy_falls_by_what_damping_takes_at_a_hundred_states(
    name: str, rng: np.random.Generator
) -> None:
    model = unlimited(name)
    home = model.configuration(robots.get(name).home)
    laws = []
    for task, size in (("pose", 6), ("position", 3)):
        matrices = {
            "damping_task": positive(rng, size, 0.1),
            "damping_null": positive(rng, model.nv, 0.0),
        }
        plain = PoseIDAPBC(model, task=task)
        plain.gains = replace(plain.gains, cancel_coupling=True)
        laws += [
            plain,
            PoseIDAPBC(model, task=task, **matrices),
            PoseIDAPBC(model, task=task, inertia=positive(rng, size, 1.0), **matrices),
        ]
    for k in range(100):
        law = laws[k % len(laws)]
        law.reset(RobotState(home, np.zeros(model.nv)))
        state = random_state(model, home, rng)
        told = law.update(state, HOLD, NOW)
        assert told.status is Status.OK, told.reason
        energy = told.energy
        assert min(energy.damping_task, energy.damping_null) > 0.0
        assert abs(energy.clipped_power) < 1e-6 * (energy.damping_task + energy.damping_null)
        a = acceleration(model, state.q, state.v, told)
        # Central difference, with the error of the third derivative removed by a second step.
        rates = [
            (stored(law, state, a, h) - stored(law, state, a, -h)) / (2 * h) for h in (2e-5, 1e-5)
        ]
        rate = (4.0 * rates[1] - rates[0]) / 3.0
        said = -energy.damping_task - energy.damping_null
        assert rate == pytest.approx(said, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_without_the_coupling_task_and_null_space_keep_their_energies(
    name: str, rng: np.random.Generator
) -> None:
    model = unlimited(name)
    home = model.configuration(robots.get(name).home)
    law = PoseIDAPBC(model)
    law.gains = replace(law.gains, cancel_coupling=True, limit_frequency=0.0, **FREE)
    exchanged = []
    for _ in range(5):
        law.reset(RobotState(home, np.zeros(model.nv)))
        state = random_state(model, home, rng)
        told = law.update(state, HOLD, NOW)
        assert abs(told.energy.routing_power) < 1e-9 * told.energy.closed_loop_energy
        exchanged.append(abs(told.energy.null_to_task) / told.energy.closed_loop_energy)
        a = acceleration(model, state.q, state.v, told)
        h = 1e-5
        after, before = (
            law.update(
                RobotState(
                    model.integrate(state.q, s * state.v + 0.5 * s * s * a), state.v + s * a
                ),
                HOLD,
                NOW,
            ).energy
            for s in (h, -h)
        )
        # What the central difference leaves, as a share of the energy, 1/s.
        rounding = 1e-6 * told.energy.closed_loop_energy
        assert abs(after.kinetic_task - before.kinetic_task) / (2 * h) < rounding
        assert abs(after.kinetic_null - before.kinetic_null) / (2 * h) < rounding
    # Left as it is, the coupling moves a thousand times as much.
    assert max(exchanged) > 1e-3


@pytest.mark.parametrize("name", ROBOTS)
def test_an_assigned_inertia_is_that_of_a_rigid_body(name: str, rng: np.random.Generator) -> None:
    model = unlimited(name)
    home = model.configuration(robots.get(name).home)
    inertia = positive(rng, 6, 1.0)
    damping = positive(rng, 6, 1.0)
    law = PoseIDAPBC(model, inertia=inertia, damping_task=damping)
    # Only D_t, the matrix, is left.
    law.gains = replace(law.gains, limit_frequency=0.0, **FREE)
    frame = model.frame_id(model.end_effector)
    data = model.pinocchio.createData()
    for _ in range(5):
        law.reset(RobotState(home, np.zeros(model.nv)))
        state = random_state(model, home, rng)
        told = law.update(state, HOLD, NOW)
        a = acceleration(model, state.q, state.v, told)
        pin.forwardKinematics(model.pinocchio, data, state.q, state.v, a)
        twist = np.array(pin.getFrameVelocity(model.pinocchio, data, frame))
        rate = np.array(pin.getFrameAcceleration(model.pinocchio, data, frame))
        turning = SE3().ad(twist).T @ inertia @ twist
        np.testing.assert_allclose(inertia @ rate, turning - damping @ twist, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("task", ["pose", "position"])
def test_a_flying_arm_sampled_at_250_hz_reaches_its_reference(task: str) -> None:
    model = robots.load("omnidirectional_panda")
    q, v = model.configuration(robots.get("omnidirectional_panda").home), np.zeros(model.nv)
    law = PoseIDAPBC(model, task=task, inertia=2.0 * np.eye(6 if task == "pose" else 3))
    law.reset(RobotState(q, v))
    target = model.evaluate(q, v).placement(model.end_effector).copy()
    target[:3, 3] += [0.05, -0.05, 0.05]
    for _ in range(750):
        told = law.update(RobotState(q, v), Reference(pose=target), 4e-3)
        for _ in range(2):
            a = acceleration(model, q, v, told)
            q = model.integrate(q, 2e-3 * v + 2e-6 * a)
            v = v + 2e-3 * a
    there = model.evaluate(q, v).placement(model.end_effector)
    assert np.linalg.norm(there[:3, 3] - target[:3, 3]) < 2e-3
    assert told.status is Status.OK


def test_a_base_that_cannot_apply_every_wrench_is_refused() -> None:
    borinot = robots.get("borinot")
    with pytest.raises(ModelError, match="matching equation"):
        PoseIDAPBC(robots.load("satellite_panda"), base_actuated=False)
    allocation = borinot.allocation()
    if allocation is not None:
        with pytest.raises(ModelError, match="matching equation"):
            PoseIDAPBC(borinot.load(), allocation=allocation)


def test_matrices_that_would_give_energy_are_refused(panda: VMSModel) -> None:
    with pytest.raises(ModelError, match=r"damping_task must be a symmetric \(6,6\) matrix"):
        PoseIDAPBC(panda, damping_task=np.eye(3))
    with pytest.raises(ModelError, match="damping_null must not have negative"):
        PoseIDAPBC(panda, damping_null=-np.eye(7))
    with pytest.raises(ModelError, match="inertia must have positive eigenvalues"):
        PoseIDAPBC(panda, task="position", inertia=np.zeros((3, 3)))
    with pytest.raises(OptionError, match="'pose' or 'position'; given: 'speed'"):
        PoseIDAPBC(panda, task="speed")  # type: ignore[arg-type]
