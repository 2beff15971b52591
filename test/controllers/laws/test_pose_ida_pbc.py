# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""IDA-PBC of a pose on every base: energy, coupling, refusals."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers import Command, PoseIDAPBC, Reference, RobotState, Status
from vms_ph_dynamics import ModelError, VMSModel
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


@pytest.mark.parametrize("count", [24, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ROBOTS)
def test_the_energy_falls_by_what_damping_takes_at_many_states(
    name: str, count: int, rng: np.random.Generator
) -> None:
    model = unlimited(name)
    home = model.configuration(robots.get(name).home)
    laws = [PoseIDAPBC(model, PoseIDAPBC.Gains(cancel_coupling=c)) for c in (True, False)]
    for k in range(count):
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


@pytest.mark.usefixtures("core")
def test_a_driving_arm_sampled_at_250_hz_reaches_its_reference() -> None:
    model = robots.load("omnidirectional_panda")
    q, v = model.configuration(robots.get("omnidirectional_panda").home), np.zeros(model.nv)
    gains = PoseIDAPBC.Gains(cancel_coupling=True, stiffness=1000.0, damping=200.0)
    law = PoseIDAPBC(model, gains)
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


def test_limits_and_posture_hold_the_joints_by_the_sum_of_their_springs() -> None:
    model = robots.load("panda")
    law = PoseIDAPBC(model, PoseIDAPBC.Gains(frequency_posture=2.0))
    law.reset(RobotState(model.home, np.zeros(7)))
    d = model.evaluate(model.home + 0.1, np.zeros(7))
    limits = law._limit_springs(d, law.gains, 1e-3)
    found = law._holding_springs(d, 1e-3, 1e-3)
    posture = 4.0 * np.diag(model.evaluate(model.home, np.zeros(7)).M)
    np.testing.assert_allclose(found.stiffness, limits.stiffness + posture)
    np.testing.assert_allclose(found.force, limits.force + 0.1 * posture)
