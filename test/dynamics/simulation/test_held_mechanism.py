# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An arm that holds the handle of a door: one motion, with every joule accounted for."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, Ports, StandardForm, VMSModel
from vms_ph_dynamics.simulation import HeldMechanism, Mechanism, Simulation
from vms_ph_io import robots

X, Y, Z = np.eye(3)
DOOR = Mechanism(0.5 * Y, -Z, 2.0, 0.3, 0.5, 0.05, 1.0, 5000.0, 200.0)
SHORT = 0.12


def start(panda: VMSModel) -> tuple[np.ndarray, np.ndarray]:
    """Return a posture, and joint torques that hold it and pull its hand."""
    q = panda.configuration(robots.get("panda").home)
    d = panda.evaluate(q, np.zeros(panda.nv))
    return q, np.array(d.g + d.J_end_effector.T @ np.array([-20.0, 3.0, 5.0, 0.0, 0.0, 0.0]))


def run(panda: VMSModel, dt: float) -> tuple[Simulation, HeldMechanism]:
    q, torque = start(panda)
    acting = SimpleNamespace(torque=torque, wrench_base=np.zeros(0))
    form = StandardForm(panda)
    simulation = Simulation(form, q, dt, lambda *_: acting, mechanism=DOOR)
    simulation.advance(round(SHORT / dt))
    assert simulation.mechanism is not None
    return simulation, simulation.mechanism


def integrated(panda: VMSModel, steps: int) -> tuple[np.ndarray, float]:
    """Return q and angle by a Runge-Kutta integration of the equations of both."""
    (q, torque), m, form = start(panda), DOOR, StandardForm(panda)
    home = panda.evaluate(q, np.zeros(panda.nv)).placement(panda.end_effector)[:3, 3].copy()

    def rate(y: np.ndarray) -> np.ndarray:
        q, v, angle, speed = y[:7], y[7:14], y[14], y[15]
        d = panda.evaluate(q, v)
        pose = d.placement(panda.end_effector)
        stretch = home + m.displacement(angle) - pose[:3, 3]
        stretching = m.lever(angle) * speed - pose[:3, :3] @ (d.J_end_effector[:3] @ v)
        force = m.grip_stiffness * stretch + m.grip_damping * stretching
        wrench = np.concatenate([force @ pose[:3, :3], np.zeros(3)])
        x = form.state(q, v)
        moved = form.rate(x, Ports(torque, wrench_end_effector=wrench))
        # M a = pdot - Mdot v, by a difference along the motion.
        small = 1e-6
        ahead = form.velocity(type(x)(q + small * v, x.z + small * moved.zdot))
        behind = form.velocity(type(x)(q - small * v, x.z - small * moved.zdot))
        braking = m.damping * speed + m.friction * np.tanh(speed / m.slip) + m.closer * angle
        turning = (-force @ m.lever(angle) - braking) / m.inertia
        return np.concatenate([v, (ahead - behind) / (2.0 * small), [speed, turning]])

    y, h = np.concatenate([q, np.zeros(9)]), SHORT / steps
    for _ in range(steps):
        a = rate(y)
        b = rate(y + 0.5 * h * a)
        c = rate(y + 0.5 * h * b)
        y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + rate(y + h * c))
    return y[:7], float(y[14])


def test_arm_and_door_move_by_their_common_equations_to_second_order(panda: VMSModel) -> None:
    q, angle = integrated(panda, 40)
    assert angle > 0.01
    errors = []
    for dt in (0.01, 0.005, 0.0025):
        simulation, held = run(panda, dt)
        errors.append([np.abs(simulation.sample().q - q).max(), abs(held.angle - angle)])
    ratios = np.array(errors)[:-1] / np.array(errors)[1:]
    assert ratios.min() > 3.4
    assert np.max(errors[-1]) < 2e-4 * angle


def test_what_an_arm_gives_is_stored_or_lost_in_grip_and_door(panda: VMSModel) -> None:
    left = []
    for dt in (0.01, 0.0025):
        simulation, held = run(panda, dt)
        sample = simulation.sample()
        assert held.energy_to_robot == sample.port_energy["wrench_end_effector"] < -0.05
        assert min(held.lost.values()) > 1e-3
        assert held.stored_energies["mechanism"] > 1e-2
        left.append(abs(held.residual))
    # The quadrature of the arm's scheme, of order four and more, and the end of the iteration.
    assert left[0] < 1e-7
    assert left[1] < 1e-9
    simulation.reset()
    assert held.angle == held.residual == held.stretch == 0.0


@pytest.mark.parametrize("push", [0.3, -40.0])
def test_a_step_of_a_door_balances_the_work_of_a_force_on_its_handle(push: float) -> None:
    force, dt, angle, rate = np.array([1.0, push, 2.0]), 0.02, 0.7, -0.4
    x, found = DOOR.step(angle, rate, dt, force, np.zeros((3, 3)))
    np.testing.assert_array_equal(found, force)
    work = -force @ (DOOR.displacement(angle + x) - DOOR.displacement(angle))
    stored = DOOR.energy(angle + x, 2.0 * x / dt - rate) - DOOR.energy(angle, rate)
    lost = DOOR.friction_moment(x / dt) * x
    assert lost > 0.0
    assert work == pytest.approx(stored + lost, abs=1e-13)


def test_a_handle_moves_on_a_circle_about_its_axis() -> None:
    lever = Mechanism(np.array([0.1, 0.2, 0.3]), 2.0 * (X + Z), 1.0)
    for angle in (0.3, 2.0):
        off = lever.displacement(angle) - lever.hinge
        assert np.linalg.norm(off) == pytest.approx(np.linalg.norm(lever.hinge))
        assert off @ lever.axis == pytest.approx(-lever.hinge @ lever.axis)
        slope = (lever.displacement(angle + 1e-6) - lever.displacement(angle - 1e-6)) / 2e-6
        np.testing.assert_allclose(lever.lever(angle), slope, atol=1e-9)
        swept = lever.displacement(angle + 0.4) - lever.displacement(angle)
        np.testing.assert_allclose(0.4 * lever.mean_lever(angle, 0.4), swept, atol=1e-15)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"inertia": 0.0}, "inertia of a mechanism must be above zero; given: 0"),
        ({"friction": -1.0}, "friction of a mechanism must not be negative; given: -1"),
        ({"axis": 0.0 * X}, "axis of a mechanism must be a direction"),
        ({"axis": Y}, "must be beside its axis"),
        ({"hinge": np.ones(2)}, r"hinge of a mechanism must have shape \(3,\)"),
    ],
)
def test_what_cannot_turn_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        replace(DOOR, **change)


def test_the_sample_of_a_robot_has_the_wrench_of_its_grip(panda: VMSModel) -> None:
    dt, work = 2e-3, 0.0
    simulation, held = run(panda, dt)
    begun = simulation.sample().port_energy["wrench_end_effector"]
    place = simulation.sample().q
    for _ in range(20):
        simulation.advance(1)
        now = simulation.sample()
        # The force of a step is constant in inertial axes.
        d, before = panda.evaluate(now.q, now.v), panda.evaluate(place, now.v)
        tool = panda.end_effector
        moved = d.placement(tool)[:3, 3] - before.placement(tool)[:3, 3]
        work += float(d.placement(tool)[:3, :3] @ now.wrench_end_effector[:3] @ moved)
        place = now.q
    given = simulation.sample().port_energy["wrench_end_effector"] - begun
    assert abs(given) > 1e-3
    # The quadrature of the scheme of the robot.
    assert work == pytest.approx(given, rel=1e-4)
    assert held.moment * held.angle > 0.0
    assert not now.wrench_end_effector[3:].any()


def test_a_door_in_ground_that_moves_is_one_at_rest_before_a_robot_that_moves_back() -> None:
    model = robots.load("satellite_panda")
    q, drift = model.home, np.array([0.05, -0.02, 0.03])
    back = np.zeros(model.nv)
    back[:3] = -model.base_pose(q)[:3, :3].T @ drift
    motions = []
    for ground, v in ((drift, np.zeros(model.nv)), (np.zeros(3), back)):
        simulation = Simulation(StandardForm(model), q, 2e-3, mechanism=DOOR, start_velocity=v)
        held = simulation.mechanism = HeldMechanism(DOOR, ground)
        simulation.reset()
        simulation.advance(50)
        motions.append(
            (simulation.q[-7:], held.angle, held.stretch, held.stored_energies["mechanism"])
        )
        assert (abs(held.from_ground) > 1e-4) == ground.any()
        assert abs(held.residual) < 1e-8
    assert abs(motions[0][1]) > 1e-3
    for one, other in zip(*motions, strict=True):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-9)


def test_a_grip_is_as_stiff_as_the_documentation_says() -> None:
    door = Mechanism(np.array([0.0, 0.8, 0.0]), np.array([0.0, 0.0, 1.0]), 2.0)
    assert (door.grip_stiffness, door.grip_damping, door.slip) == (5000.0, 100.0, 0.01)
