# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Damping and stiffness of a sampled law: stable at its rate, and those of continuous time."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    Controller,
    DecoupledVMSController,
    RobotState,
    Status,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.laws.sampled_impedance import SampledImpedance, horizon
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

from ..support.closed_loops import HOLD, Q0, Sampled

REST = np.zeros(7)


def random_inertia(size: int, rng: np.random.Generator, spread: float = 4.0) -> np.ndarray:
    root = np.linalg.qr(rng.normal(size=(size, size)))[0]
    return (root * 10.0 ** rng.uniform(-spread, spread, size)) @ root.T


def loop(mass, damping, spring, dt: float, delay: int, age: int) -> np.ndarray:
    """Return the matrix of one sample of ``M a = -K_held q - D_held v`` with late efforts."""
    n, h, late = len(mass), horizon(dt, float(delay), age * dt), delay + age
    columns = []
    for q, v in zip(np.eye(2 * n)[:, :n], np.eye(2 * n)[:, n:], strict=True):
        held = SampledImpedance.from_terms(mass, damping, spring, spring @ q, v, h)
        columns.append(-held.spring - held.predicted_spring - damping @ held.velocity)
    gain = np.linalg.solve(mass, np.array(columns).T)
    unit, none = np.eye(n), np.zeros((n, n))
    free = np.block([[unit, dt * unit], [none, unit]])
    into = np.vstack([0.5 * dt**2 * unit, dt * unit])
    if late == 0:
        return free + into @ gain
    # State, then the efforts that wait: the first acts, and the one of this state comes last.
    matrix = np.zeros(((2 + late) * n, (2 + late) * n))
    matrix[: 2 * n, : 3 * n] = np.hstack([free, into])
    for k in range(2, 1 + late):
        matrix[k * n : (k + 1) * n, (k + 1) * n : (k + 2) * n] = unit
    matrix[(1 + late) * n :, : 2 * n] = gain
    return matrix


@pytest.mark.parametrize(("delay", "age"), [(0, 0), (1, 0), (2, 0), (0, 3), (1, 2), (1, 9)])
def test_any_inertia_damping_and_stiffness_is_stable_with_delay_and_age(
    delay: int, age: int, rng: np.random.Generator
) -> None:
    for _ in range(60):
        n = int(rng.integers(1, 6))
        mass, damping, spring = (random_inertia(n, rng) for _ in range(3))
        dt = 10.0 ** rng.uniform(-4, -1)
        size = np.abs(np.linalg.eigvals(loop(mass, damping, spring, dt, delay, age))).max()
        # Directions of no measurable stiffness drift: one is the bound, up to rounding.
        assert size < 1.0 + 1e-6


def test_damping_never_reverses_a_velocity_and_takes_energy(rng: np.random.Generator) -> None:
    none = np.zeros((4, 4))
    for _ in range(100):
        mass, damping, v = random_inertia(4, rng, 2), random_inertia(4, rng, 6), rng.normal(size=4)
        h = 10.0 ** rng.uniform(-4, 0)
        w = SampledImpedance.from_terms(mass, damping, none, none[0], v, h).velocity
        assert float(w @ damping @ v) >= 0.0
        after = v - h * np.linalg.solve(mass, damping @ w)
        np.testing.assert_allclose(after, w, atol=1e-6 * np.abs(v).max())
        assert float(v @ mass @ w) >= -1e-9
        assert float(w @ mass @ w) <= float(v @ mass @ v) * (1 + 1e-9)


def test_stiffness_below_the_bound_is_what_was_asked_for_and_above_it_the_bound() -> None:
    mass, h = np.diag([1.0, 1e-3, 2.0]), 1e-2
    wanted = np.array([4000.0, 4000.0, 0.0])
    q, none = np.array([0.1, 0.1, 0.1]), np.zeros((3, 3))
    held = SampledImpedance.from_terms(mass, none, np.diag(wanted), wanted * q, none[0], h)
    np.testing.assert_allclose(held.spring, [400.0, 0.1 * 0.5 * 1e-3 / h**2, 0.0], atol=1e-9)
    assert held.reason == "stiffness reduced to what is stable at this rate"
    less = SampledImpedance.from_terms(mass, none, np.diag(wanted), wanted * q, none[0], 1e-4)
    np.testing.assert_array_equal(less.spring, wanted * q)
    assert less.reason == ""


def laws() -> list[tuple[Controller, np.ndarray]]:
    made: list[tuple[Controller, np.ndarray]] = []
    for name, kinds in {
        "panda": (TaskSpaceIDAPBC, CartesianImpedance),
        "satellite_panda": (CartesianImpedance, DecoupledVMSController),
        "omnidirectional_panda": (DecoupledVMSController,),
    }.items():
        model = robots.load(name)
        home = model.configuration(robots.get(name).home)
        made += [(kind(model), home) for kind in kinds]
    return made


@pytest.mark.parametrize("which", range(5))
def test_at_short_steps_the_efforts_are_those_of_continuous_time(
    which: int, rng: np.random.Generator
) -> None:
    law, home = laws()[which]
    model = law.model
    state = RobotState(
        model.integrate(home, 0.05 * rng.uniform(-1, 1, model.nv)),
        0.2 * rng.uniform(-1, 1, model.nv),
    )

    def effort(dt: float) -> np.ndarray:
        law.reset(RobotState(home, np.zeros(model.nv)))
        told = law.update(state, HOLD, dt)
        assert told.status is Status.OK
        return np.concatenate([told.wrench_base, told.torque])

    exact = effort(0.0)
    steps = np.array([4e-6, 2e-6, 1e-6])
    errors = np.array([np.abs(effort(dt) - exact).max() for dt in steps])
    assert errors[-1] < 1e-2 * np.abs(exact).max()
    # The difference is of first order in the time step.
    np.testing.assert_allclose(errors / steps, errors[-1] / steps[-1], rtol=0.05)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(
    ("kind", "gains"),
    [
        (TaskSpaceIDAPBC, {"damping_null": 100.0}),
        (CartesianImpedance, {"damping": 1000.0, "damping_rotation": 100.0}),
    ],
)
def test_strong_damping_stops_a_push_at_one_kilohertz(
    panda: VMSModel, kind: type[TaskSpaceIDAPBC], gains: dict[str, float]
) -> None:
    law = kind(panda, gains=kind.Gains(**gains))
    law.reset(RobotState(Q0, REST))
    arm = Sampled(panda, law, Q0, np.linalg.solve(panda.evaluate(Q0, REST).M, np.full(7, 5e-4)))
    start = panda.evaluate(arm.q, arm.v).kinetic_energy
    arm.run(0.3)
    assert np.abs(arm.v).max() < 0.05
    assert panda.evaluate(arm.q, arm.v).kinetic_energy < 0.1 * start


def test_what_is_reduced_is_reported_while_it_acts(panda: VMSModel) -> None:
    law = TaskSpaceIDAPBC(panda)
    law.reset(RobotState(Q0, REST))
    turning = RobotState(Q0, np.array([0, 0, 0, 0, 0, 0, 2.0]))
    told = law.update(turning, HOLD, 1e-2)
    assert told.status is Status.OK
    assert "damping reduced to what is stable at this rate" in told.reason
    law.gains = replace(law.gains, stiffness=1000.0)
    law.reset(RobotState(Q0, REST))
    assert law.update(RobotState(Q0, REST), HOLD, 1e-2).reason == ""  # no spring acts
    told = law.update(RobotState(Q0 + 0.05, REST), HOLD, 1e-2)
    assert told.reason == "stiffness reduced to what is stable at this rate"
    law.gains = TaskSpaceIDAPBC.Gains()
    law.reset(RobotState(Q0, REST))
    assert law.update(RobotState(Q0, REST), HOLD, 1e-3).reason == ""
