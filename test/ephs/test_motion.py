# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Motions keep both laws, stay on their constraints, and agree with minimal coordinates."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vms_ph_ephs import Trajectory, assemble, simulate
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import TwoBodies

from .examples import (
    PARAMETERS,
    golden_pose,
    pendulum,
    pendulum_state,
    two_free_bodies,
    two_free_bodies_state,
)

HEATED = mb.Heat(capacity=20.0, conductance=0.1)


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    file = Path(__file__).parents[1] / "golden" / "C_ephs.json"
    return json.loads(file.read_text())


def mechanical(motion: Trajectory) -> np.ndarray:
    """Kinetic and potential energy at every recorded instant, J."""
    equations = motion.equations
    return np.array(
        [
            sum(
                energy
                for box, energy in equations.storages.energies(x).items()
                if not box.endswith((".env", ".th"))
            )
            for x in motion.states
        ]
    )


@pytest.mark.parametrize(
    "system",
    [
        "two_free_bodies_one_revolute(section6)",
        pytest.param("grounded_double_pendulum", marks=pytest.mark.slow),
    ],
)
def test_two_seconds_of_motion_agree_with_minimal_coordinates(
    system: str, published: dict[str, Any]
) -> None:
    free = system.startswith("two")
    equations = assemble(two_free_bodies() if free else pendulum())
    x = two_free_bodies_state(equations) if free else pendulum_state(equations)
    golden = published[system]
    assert equations.storages.energy(x) == pytest.approx(golden["E0"], abs=1e-12)
    steps = 700 if free else 1000
    motion = simulate(equations, x, dt=2.0 / steps, steps=steps, stride=steps // 5)
    # The golden poses are accurate to 1e-8 by themselves.
    for body, key in (("b1.q", "q1"), ("b2.q", "q2")):
        np.testing.assert_allclose(motion.value(body)[-1], golden[key], rtol=0, atol=1e-8)
    assert motion.entropy[-1] == pytest.approx(golden["s"], abs=1e-11)
    assert motion.violation.max() < 1e-13


@pytest.mark.parametrize("heat", [None, HEATED], ids=["isothermal", "heated"])
def test_the_pendulum_keeps_both_laws_and_its_joints_closed(
    heat: mb.Heat | None,
) -> None:
    equations = assemble(pendulum(heat))
    motion = simulate(equations, pendulum_state(equations), dt=1.25e-3, steps=160, stride=16)
    rest = mechanical(motion)
    scale = rest[0] - rest.min()
    # The campaign below runs the full minute.
    assert np.abs(motion.first_law).max() < 1e-9 * scale
    assert np.diff(motion.entropy).min() >= 0.0
    assert motion.violation.max() < 1e-10


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("heat", [None, HEATED], ids=["isothermal", "heated"])
def test_the_full_minute_of_the_pendulum(heat: mb.Heat | None) -> None:
    equations = assemble(pendulum(heat))
    motion = simulate(equations, pendulum_state(equations), dt=1e-3, steps=60_000, stride=50)
    rest = mechanical(motion)
    assert np.abs(motion.first_law).max() < 1e-9 * (rest[0] - rest.min())
    assert np.diff(motion.entropy).min() >= 0.0
    assert motion.violation.max() < 1e-10


@pytest.mark.parametrize("heat", [None, HEATED], ids=["isothermal", "heated"])
def test_the_discrete_gradient_keeps_the_first_law_to_rounding(heat: mb.Heat | None) -> None:
    equations = assemble(pendulum(heat))
    x = pendulum_state(equations)
    steps = 40
    motion = simulate(equations, x, dt=4e-3, steps=steps, scheme="discrete_gradient", stride=5)
    # Rounding of the total energy, which counts 6 kJ of heat at 298 K where there is a capacity.
    limit = 1e-12 if heat is None else steps * np.finfo(float).eps * motion.energy[0]
    assert np.abs(motion.first_law).max() < limit
    assert np.diff(motion.entropy).min() >= 0.0


@cache
def final_angles(scheme: Any, dt: float) -> np.ndarray:
    equations = assemble(pendulum(), check=False)
    motion = simulate(
        equations, pendulum_state(equations), dt=dt, steps=round(0.1 / dt), scheme=scheme
    )
    return np.concatenate([motion.value("j1.q_r")[-1], motion.value("j2.q_r")[-1]])


@pytest.mark.parametrize(("scheme", "order"), [("projected_rk4", 4), ("discrete_gradient", 2)])
def test_the_error_falls_with_the_order_of_the_scheme(scheme: Any, order: int) -> None:
    exact = final_angles("projected_rk4", 1e-3)
    steps = np.array([1e-2, 5e-3, 2.5e-3])
    errors = [float(np.abs(final_angles(scheme, dt) - exact).max()) for dt in steps]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.25)


def test_joints_drift_apart_without_projection() -> None:
    # With it they do not: see the two seconds of the same bodies above.
    equations = assemble(two_free_bodies())
    x = two_free_bodies_state(equations)
    drifting = simulate(equations, x, dt=4e-3, steps=200, scheme="rk4")
    assert drifting.violation[-1] > 1e-10


def test_a_heated_joint_warms_by_the_energy_that_friction_takes() -> None:
    capacity = 20.0
    equations = assemble(pendulum(mb.Heat(capacity=capacity)))
    x = pendulum_state(equations)
    motion = simulate(equations, x, dt=1.25e-3, steps=160, stride=16)
    rest = mechanical(motion)
    temperatures = [equations.storages.temperatures(state) for state in motion.states]
    heat = sum(capacity * (temperatures[-1][k] - temperatures[0][k]) for k in temperatures[0])
    lost = rest[0] - rest[-1]
    assert heat == pytest.approx(lost, rel=1e-9)
    assert min(temperatures[-1].values()) > 298.15


def test_heat_flows_to_the_environment_until_temperatures_are_equal() -> None:
    capacity, conductance, theta_0, hot = 2.0, 5.0, 298.15, 350.0
    heat = mb.Heat(capacity, conductance, theta_0)
    system = mb.mechanism(
        {"b": mb.rigid_body(1.0, [1.0, 1.0, 1.0], gravity=(0.0, 0.0, 0.0))},
        {"j": mb.Between("ground", "b", mb.joint(mb.Revolute(), friction=0.1, heat=heat))},
    )
    equations = assemble(system)
    start = capacity * np.log(hot / theta_0)  # its entropy
    motion = simulate(
        equations, mb.consistent_state(equations, others={"j.s": start}), dt=2e-2, steps=100
    )
    end = equations.storages.temperatures(motion.final)["j.th.s"]
    # Newton's law of cooling, exactly: the capacity and the conductance are constants.
    expected = theta_0 + (hot - theta_0) * np.exp(-conductance / capacity * 2.0)
    assert end == pytest.approx(expected, abs=1e-6)
    assert np.diff(motion.entropy).min() > 0.0


def test_friction_may_depend_on_pose_speed_and_temperature() -> None:
    def tensor(q: np.ndarray, u: np.ndarray, theta: float) -> np.ndarray:
        return np.array([[0.05 * (1.5 + np.cos(q[0])) * (1.0 + u[0] ** 2) * theta / 300.0]])

    heat = mb.Heat(capacity=0.5)
    system = mb.mechanism(
        {"b": mb.rigid_body(1.0, [0.2, 0.2, 0.2], gravity=(0.0, 0.0, 0.0))},
        {"j": mb.Between("ground", "b", mb.joint(mb.Revolute(), friction=tensor, heat=heat))},
    )
    equations = assemble(system)
    motion = simulate(
        equations, mb.consistent_state(equations, {"j": 0.3}, {"j": 2.0}), dt=2e-3, steps=200
    )

    # One freedom written by hand: I qdd = -mu(q, qd, theta) qd, c thetad = mu qd^2.
    def rate(y: np.ndarray) -> np.ndarray:
        mu = tensor(y[:1], y[1:2], float(y[2]))[0, 0]
        return np.array([y[1], -mu * y[1] / 0.2, mu * y[1] ** 2 / 0.5])

    y, h = np.array([0.3, 2.0, 298.15]), 2e-3
    for _ in range(200):
        k1 = rate(y)
        k2 = rate(y + 0.5 * h * k1)
        k3 = rate(y + 0.5 * h * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + h * k3))
    assert motion.value("j.q_r")[-1, 0] == pytest.approx(y[0], abs=1e-11)
    temperature = equations.storages.temperatures(motion.final)["j.th.s"]
    assert temperature == pytest.approx(y[2], abs=1e-9)


def test_work_from_outside_becomes_stored_energy_and_heat() -> None:
    pair = mb.Revolute()
    system = mb.mechanism(
        {"b": mb.rigid_body(1.0, [0.2, 0.2, 0.2])},
        {"j": mb.Between("ground", "b", mb.joint(pair, friction=0.1, driven=True))},
        open_bodies=["b"],
    )
    equations = assemble(system)
    motion = simulate(
        equations,
        mb.consistent_state(equations),
        dt=1e-3,
        steps=200,
        inputs=lambda t, x: {"j": [np.sin(5 * t)], "b": [0.0, 0.0, 0.0, 0.0, 0.0, 0.4]},
    )
    assert motion.supplied[-1] > 1e-3
    assert np.abs(motion.first_law).max() < 1e-12


def test_the_two_bodies_of_the_library_are_those_of_the_golden_data() -> None:
    two = TwoBodies()
    for name, pose in zip(("o1", "o2", "oG", "o1g"), two.offsets + two.suspension, strict=True):
        np.testing.assert_allclose(pose, golden_pose(name), rtol=0, atol=1e-15)
    assert list(two.masses) == PARAMETERS["mass"]
    np.testing.assert_array_equal([np.diag(i) for i in two.inertias], PARAMETERS["J"])
    assert [list(two.friction), list(two.stiffness)] == [PARAMETERS["mu"], PARAMETERS["kr"]]
