# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators of a base: power through each map, limits, lag, failures and the momentum of wheels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from vms_ph_dynamics import ModelError, Rotor
from vms_ph_dynamics.actuation import (
    ActuatorDynamics,
    Actuators,
    Caster,
    Motor,
    ReactionWheel,
    Tilt,
    Wheel,
)
from vms_ph_dynamics.actuation.allocation import bounded_least_squares
from vms_ph_io import robots

X, Y, Z = np.eye(3)
MOTOR = Motor(torque_constant=0.02, resistance=0.1)
ROBOTS = ("hextilt", "borinot", "bluerov2_alpha5", "omnidirectional_panda", "satellite_panda")


def tilting() -> Actuators:
    """Four tilting rotors in a cross, each about its arm."""
    rotors = []
    for i, place in enumerate((X, Y, -X, -Y)):
        tilt = Tilt(place, -1.2, 1.2, rate=8.0)
        rotors.append(
            Rotor(
                0.25 * place,
                Z,
                0.016 * (-1) ** i,
                0.1,
                8.0,
                thrust_constant=1e-5,
                time_constant=0.04,
                inertia=2e-5,
                tilt=tilt,
                motor=MOTOR,
            )
        )
    return Actuators(rotors)


def cart() -> Actuators:
    """A cart with an omnidirectional wheel, a mecanum wheel and two powered casters."""
    return Actuators(
        [
            Wheel(np.array([0.3, 0.1]), 0.4, 0.08, 0.0, 9.0, 30.0, 0.04, MOTOR),
            Wheel(np.array([-0.2, 0.3]), -0.3, 0.1, np.pi / 4, 9.0, 30.0, 0.04, MOTOR),
            Caster(np.array([0.2, -0.3]), 0.06, 0.03, 0.7, 5.0, 2.0, 0.01, MOTOR),
            Caster(np.array([-0.3, -0.2]), 0.06, 0.03, -2.1, 5.0, 2.0, 0.01, MOTOR),
        ],
        "planar",
    )


MAKERS = {
    "tilting": tilting,
    "cart": cart,
    **{name: robots.get(name).own_actuators for name in ROBOTS},
}


def turning(actuators: Actuators, rng: np.random.Generator, dt: float) -> ActuatorDynamics:
    """Actuators in a random state."""
    dynamics = ActuatorDynamics(actuators, dt)
    rotors = actuators.rotors
    dynamics.rates = dynamics.rates.copy()
    dynamics.rates[rotors] = rng.uniform(50.0, 400.0, rotors.size)
    dynamics.rates[actuators.reaction_wheels] = rng.uniform(
        -200.0, 200.0, actuators.reaction_wheels.size
    )
    dynamics.tilts[actuators.tilting_rotors] = rng.uniform(-1.0, 1.0, actuators.tilting_rotors.size)
    return dynamics


@pytest.mark.parametrize("name", MAKERS)
def test_the_supply_gives_what_base_spins_and_losses_take(
    name: str, rng: np.random.Generator
) -> None:
    actuators = MAKERS[name]()
    b = 6 if actuators.base == "floating" else 3
    for _ in range(5):
        dt = 1e-3
        dynamics = turning(actuators, rng, dt)
        begun, stored = dynamics.rates.copy(), dynamics.kinetic_energy
        v = rng.normal(size=b)
        held = dynamics.allocate(rng.normal(size=b) * 10.0, v)
        work = float(held.wrench @ v) * dt
        dynamics.commit(work, v, v)
        # The motors' electric power, from their torques and the rates of their shafts alone.
        spun = 0.5 * (begun + held.end_rates)
        y = held.matrix.T @ v
        power = 0.0
        for k in range(len(actuators.names)):
            rate = spun[k] + (y[k] if k not in actuators.rotors else 0.0)
            if k in actuators.rotors:
                c, loss = actuators.thrust_constant[k], actuators.loss_ratio[k]
                ramp = actuators.inertia[k] * (held.end_rates[k] - begun[k]) / dt
                torque = c * loss * spun[k] * abs(spun[k]) + c * abs(spun[k]) * y[k] + ramp
            else:
                torque = held.inputs[k]
            power += torque * rate
            if actuators.torque_constant[k]:
                power += actuators.resistance[k] * (torque / actuators.torque_constant[k]) ** 2
        # The moments on the base as momentum passes to and from what spins, beside the thrusts:
        # a shaft turns with the base, which its motor pushes back.
        if b == 6 and actuators.rotors.size:
            power -= float(held.momentum_rate @ v[3:])
        assert dynamics.electric_energy / dt == pytest.approx(power, rel=1e-9)
        assert dynamics.electric_energy == pytest.approx(
            work
            + dynamics.kinetic_energy
            - stored
            + sum(e.sum() for e in dynamics.lost_energies.values()),
            rel=1e-12,
        )
        assert (dynamics.lost_energies["fluid"] >= 0).all()
        assert (dynamics.lost_energies["friction"] >= 0).all()
        assert (dynamics.lost_energies["winding"] >= 0).all()


@pytest.mark.parametrize("name", MAKERS)
def test_the_power_of_the_wrench_is_that_of_the_inputs(name: str, rng: np.random.Generator) -> None:
    actuators = MAKERS[name]()
    m = len(actuators.names)
    matrix = actuators.matrix(rng.uniform(-1, 1, m), rng.uniform(-3, 3, m))
    u, v = rng.normal(size=m), rng.normal(size=len(matrix))
    assert (matrix @ u) @ v == pytest.approx(u @ (matrix.T @ v), rel=1e-12)


def test_wheels_and_casters_do_not_slip(rng: np.random.Generator) -> None:
    actuators = cart()
    angles = rng.uniform(-3, 3, len(actuators.names))
    vx, vy, w = v = rng.normal(size=3)
    rates = actuators.matrix(np.zeros(len(angles)), angles).T @ v

    def contact(x: float, y: float) -> np.ndarray:
        return np.array([vx - w * y, vy + w * x])

    for k, wheel in enumerate(actuators.members[:2]):
        ahead = np.array([np.cos(wheel.heading), np.sin(wheel.heading)])
        angle = wheel.heading + wheel.roller_angle
        roller = np.array([np.cos(angle), np.sin(angle)])
        slip = contact(*wheel.position) - rates[k] * wheel.radius * ahead
        assert slip @ roller == pytest.approx(0.0, abs=1e-12)
    for k, caster in zip((2, 4), actuators.members[2:], strict=True):
        d = np.array([np.cos(angles[k]), np.sin(angles[k])])
        behind = caster.position - caster.trail * d
        # The steering turns the contact about the steering axis, besides the base.
        swing = rates[k + 1] * np.array([caster.trail * d[1], -caster.trail * d[0]])
        slip = contact(*behind) + swing - rates[k] * caster.radius * d
        np.testing.assert_allclose(slip, 0.0, atol=1e-12)


@pytest.mark.parametrize("name", MAKERS)
def test_no_input_leaves_its_limits(name: str, rng: np.random.Generator) -> None:
    actuators = MAKERS[name]()
    b = 6 if actuators.base == "floating" else 3
    dynamics = ActuatorDynamics(actuators, 0.005)
    r = actuators.reaction_wheels
    for scale in (0.1, 10.0, 1e4):
        for _ in range(15):
            v = rng.normal(size=b)
            held = dynamics.allocate(scale * rng.normal(size=b), v)
            dynamics.commit(float(held.wrench @ v) * 0.005, v, v)
            assert (held.inputs <= actuators.upper * (1 + 1e-12)).all()
            assert (held.inputs >= actuators.lower - 1e-12 * abs(actuators.lower)).all()
            assert (abs(dynamics.rates[r]) <= actuators.largest_rate[r] * (1 + 1e-12)).all()
            t = actuators.tilting_rotors
            assert (dynamics.tilts[t] <= actuators.tilt_upper[t]).all()
            assert (dynamics.tilts[t] >= actuators.tilt_lower[t]).all()


def test_a_rotor_that_tilts_beyond_a_quarter_turn_points_there() -> None:
    tilt = Tilt(np.array([0.0, 1.0, 0.0]), -2.5, 0.5)
    rotor = Rotor(np.zeros(3), Z, lower=0.0, tilt=tilt)  # its thrust has no limit above
    for angle in (-2.4, -1.6, -0.5, 0.4):
        dynamics = ActuatorDynamics(Actuators([rotor]), 0.01)
        wanted = 3.0 * np.array([np.sin(angle), 0.0, np.cos(angle), 0.0, 0.0, 0.0])
        for _ in range(2):  # the first step is at the mean of both angles
            held = dynamics.allocate(wanted, np.zeros(6))
            dynamics.commit(0.0, np.zeros(6), np.zeros(6))
        assert dynamics.tilts[0] == pytest.approx(angle)
        np.testing.assert_allclose(held.wrench, wanted, atol=1e-9)


def test_rotors_that_tilt_stand_beside_others_and_each_kind_is_counted() -> None:
    rotor = Rotor(np.zeros(3), Z, lower=0.0)
    mixed = Actuators([rotor, ReactionWheel(X, 0.1), replace(rotor, tilt=Tilt(Y, -1.0, 1.0))])
    assert mixed.names == ("thruster_0", "reaction_wheel_0", "thruster_1")
    columns = mixed.matrix(np.array([0.0, 0.0, 0.3]), np.zeros(3))
    np.testing.assert_allclose(columns[:3, 0], Z)
    np.testing.assert_allclose(columns[:3, 2], [np.sin(0.3), 0.0, np.cos(0.3)])


def test_a_reaction_wheel_at_its_largest_spin_is_not_driven_further() -> None:
    for friction, turn in ((0.0, -1.0), (1e-3, -1.0), (1e-3, 1.0)):
        wheel = ReactionWheel(Z, 0.01, 1.0, 100.0, rate=-95.0 * turn, friction=friction)
        dynamics = ActuatorDynamics(Actuators([wheel]), 0.01)
        for _ in range(10):
            held = dynamics.allocate(np.array([0, 0, 0, 0, 0, turn]), np.zeros(6))
            dynamics.commit(0.0, np.zeros(6), np.zeros(6))
        assert dynamics.rates[0] == pytest.approx(-100.0 * turn, rel=1e-12)
        # What friction takes is given, no more.
        assert held.inputs[0] == pytest.approx(-100.0 * turn * friction, abs=1e-12)
        assert held.missing_wrench[5] == pytest.approx(turn * (1.0 - 100.0 * friction))
    wheel = ReactionWheel(Z, 0.01, motor=Motor(0.02))  # whose winding is said to take nothing
    assert ActuatorDynamics(Actuators([wheel]), 0.01).winding_losses(np.ones(1)) == 0.0


def test_the_bounded_solution_is_that_of_an_independent_solver(rng: np.random.Generator) -> None:
    for _ in range(25):
        k, m = rng.integers(3, 7), rng.integers(3, 9)
        A, b = rng.normal(size=(k, m)), rng.normal(size=k) * 5.0
        lower = -rng.uniform(0, 1, m)
        upper = rng.uniform(0, 1, m)
        fixed = rng.random(m) < 0.2
        lower[fixed] = upper[fixed] = 0.0
        x = bounded_least_squares(A, b, lower, upper)
        assert ((x >= lower) & (x <= upper)).all()
        free = ~fixed
        if free.any():
            best = lsq_linear(A[:, free], b, (lower[free], upper[free]), tol=1e-14)
            assert np.linalg.norm(A @ x - b) == pytest.approx(np.sqrt(2 * best.cost), abs=1e-6)


def test_of_several_bounded_solutions_the_smallest_is_returned() -> None:
    row = np.array([0.151, -0.221, -9.225])
    lower, upper = np.array([0.0, -0.354, 0.0]), np.array([0.06, 0.052, 1.629])
    # The second row cannot be met beside the first.
    for A, b in ((row[None], [-0.01484]), (np.stack([row, row]), [1e4 - 0.01484, -1e4 - 0.01484])):
        x = bounded_least_squares(A, np.array(b), lower, upper)
        # By the multiplier of A x = b; the first entry would be below its bound.
        expected = np.array([0.0, -0.221, -9.225]) * -0.01484 / (0.221**2 + 9.225**2)
        np.testing.assert_allclose(x, expected, rtol=0, atol=1e-6 * np.linalg.norm(expected))


def test_a_multirotor_out_of_thrust_gives_up_heading_before_height_before_attitude() -> None:
    allocation = robots.get("borinot").own_actuators()
    weights = allocation.weights
    # Hover with a strong roll and yaw moment.
    found = allocation.allocation.allocate(np.array([0, 0, 40.0, 3.0, 0, 3.0]), weights)
    lost = abs(found.missing_wrench)
    assert (lost[3:5] / 3.0 < 0.01).all()
    assert lost[2] / 40.0 < 0.01
    assert lost[5] / 3.0 > 0.7


def test_thrusters_follow_with_their_lag_and_rest_in_their_dead_zone() -> None:
    thruster = Rotor(
        np.zeros(3), X, 0.0, -10, 10, thrust_constant=1e-3, time_constant=0.1, dead_zone=0.5
    )
    dynamics = ActuatorDynamics(Actuators([thruster]), 0.01)
    for _ in range(10):
        dynamics.allocate(np.array([-4.0, 0, 0, 0, 0, 0]), np.zeros(6))
        dynamics.commit(0.0, np.zeros(6), np.zeros(6))
    # The rate after one time constant.
    assert dynamics.rates[0] == pytest.approx(-np.sqrt(4000.0) * (1 - np.exp(-1.0)), rel=1e-12)
    dynamics.reset()
    for wanted, acts in ((0.4, False), (0.6, True)):
        held = dynamics.allocate(np.array([wanted, 0, 0, 0, 0, 0]), np.zeros(6))
        assert (held.inputs[0] != 0.0) == acts


def test_a_thruster_takes_the_power_that_its_maker_states() -> None:
    actuators = robots.get("bluerov2_alpha5").own_actuators()
    dynamics = ActuatorDynamics(actuators, 0.01)
    dynamics.settle(1e3 * actuators.matrix(np.zeros(8), np.zeros(8))[:, 4])
    k = int(np.argmax(dynamics.step_efforts.inputs))
    assert dynamics.step_efforts.inputs[k] == pytest.approx(51.5)
    torque = dynamics.shaft_torques(dynamics.step_efforts, dynamics.rates, np.zeros(6))[k]
    # 390 W and 24 A at 16 V.
    power = torque * dynamics.rates[k] + dynamics.winding_losses(np.full(8, torque))[k]
    assert power == pytest.approx(390.0, rel=0.01)
    assert torque / actuators.torque_constant[k] == pytest.approx(24.0, rel=0.01)


def test_the_thrusters_of_an_underwater_vehicle_still_make_every_wrench_without_one(
    rng: np.random.Generator,
) -> None:
    actuators = robots.get("bluerov2_alpha5").own_actuators()
    dynamics = ActuatorDynamics(actuators, 1.0)
    dynamics.fail("thruster_2")
    wanted = rng.normal(size=6)
    held = dynamics.allocate(wanted, np.zeros(6))
    assert held.commands[2] == 0.0
    np.testing.assert_allclose(actuators.matrix(np.zeros(8), np.zeros(8)) @ held.commands, wanted)
    assert dynamics.failed_inputs == ("thruster_2",)
    # One that the allocation does not know of is missed.
    dynamics.repair()
    dynamics.fail("thruster_2", reported=False)
    held = dynamics.allocate(wanted, np.zeros(6))
    assert held.commands[2] != 0.0
    assert held.inputs[2] == 0.0
    # Once its failure is reported too, the allocation does without it.
    dynamics.fail("thruster_2")
    assert dynamics.allocate(wanted, np.zeros(6)).commands[2] == 0.0


def test_tilting_rotors_make_every_wrench_that_angles_within_their_limits_allow() -> None:
    # Upright rotors would take the least thrust, and the limits of the angles do not let them be so
    # that small forces sideways can be made by thrusts alone.
    own = robots.get("hextilt").own_actuators()
    rotors = []
    for each in own.members:
        assert isinstance(each, Rotor)
        arm = np.asarray(each.position) - (each.position @ each.axis) * each.axis
        rotors.append(replace(each, tilt=Tilt(arm, -0.4, 0.4, rate=np.inf), time_constant=0.0))
    actuators = Actuators(rotors)
    rng = np.random.default_rng(8)
    for _ in range(25):
        tilts = rng.uniform(-0.4, 0.4, 6)
        wanted = actuators.matrix(tilts, np.zeros(6)) @ rng.uniform(0.2, 8.0, 6)
        dynamics = ActuatorDynamics(actuators, 0.01)
        for _ in range(2):  # the first step is at the mean of both angles
            held = dynamics.allocate(wanted, np.zeros(6))
            dynamics.commit(0.0, np.zeros(6), np.zeros(6))
        assert abs(dynamics.tilts).max() <= 0.4
        np.testing.assert_allclose(held.missing_wrench, 0.0, atol=2e-6)  # of some 30 N


def test_tilting_rotors_push_sideways() -> None:
    dynamics = ActuatorDynamics(tilting(), 0.01)
    wanted = np.array([3.0, -2.0, 15.0, 0.1, 0.0, 0.05])
    for _ in range(60):
        dynamics.settle(wanted)
        dynamics.commit(0.0, np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(dynamics.step_efforts.wrench, wanted, atol=0.05)


@pytest.mark.parametrize(
    ("actuator", "said"),
    [
        (Wheel(np.zeros(2), 0.0, 0.0), "radius of wheel 0 must be above zero; given: 0.0"),
        (Wheel(np.zeros(2), 0.0, 0.1, np.pi / 2), "rollers of wheel 0 must not roll along"),
        (Wheel(np.zeros(3), 0.0, 0.1), r"position of wheel 0 must have shape \(2,\)"),
        (ReactionWheel(Z, 0.1, 1.0, 10.0, rate=11.0), "beyond its largest rate; given: 11"),
        (ReactionWheel(np.zeros(3), 0.1), "axis of reaction wheel 0 has length zero"),
        (Rotor(X, Z, inertia=1e-5), "inertia of thruster 0 needs a thrust_constant"),
        (Rotor(X, Z, 0.1, motor=MOTOR), "motor of rotor 0 needs a thrust_constant"),
        (Rotor(X, Z, tilt=Tilt(Z, -1, 1)), "must be perpendicular to its thrust"),
        (Rotor(X, Z, tilt=Tilt(X, 0.5, 1)), "limits around zero at most pi apart"),
        (Rotor(X, Z, time_constant=-1), "time_constant of thruster 0 must be finite and at least"),
    ],
)
def test_an_actuator_that_cannot_be_is_refused(actuator, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        Actuators([actuator])
