# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots that move by their actuators: energy and momentum books, objectives and failures."""

import numpy as np
import pytest
from built_core import core  # noqa: F401

from vms_ph_controllers import DecoupledVMSController, Reference, RobotState
from vms_ph_dynamics import ModelError, Ports, StandardForm, VMSModel, momenta
from vms_ph_dynamics.actuation import Actuators, ReactionWheel
from vms_ph_dynamics.simulation import FormEngine, Simulation
from vms_ph_io import robots

X, Y, Z = np.eye(3)


class Moment:
    """A base wrench that follows no state, and no joint torques."""

    def __init__(self, model: VMSModel) -> None:
        self.model, self.t = model, 0.0

    def __call__(self, q: np.ndarray, v: np.ndarray, dt: float) -> "Moment":
        self.t += dt
        wave = np.sin(3.0 * self.t + np.arange(3))
        self.wrench_base = np.concatenate([np.zeros(3), 0.05 * wave])
        self.torque = 0.2 * np.sin(2.0 * self.t + np.arange(self.model.n)) - 0.1 * v[6:]
        return self


def small_satellite() -> tuple[VMSModel, np.ndarray]:
    model = robots.load("satellite_panda", bus_mass="60", bus_ixx="3", bus_iyy="2.5", bus_izz="3.5")
    return model, model.configuration(robots.get("satellite_panda").home)


WHEELS = [
    ReactionWheel(np.array(axis), 2e-3, 0.1, 600.0, rate=100.0, friction=1e-6)
    for axis in ([1, 1, 1], [-1, 1, 1], [-1, -1, 1], [1, -1, 1])
]


def test_reaction_wheels_keep_the_angular_momentum_of_satellite_and_wheels() -> None:
    model, q = small_satellite()
    simulation = Simulation(
        StandardForm(model),
        q,
        1e-3,
        Moment(model),
        actuators=Actuators(WHEELS),
        start_velocity=0.05 * np.cos(np.arange(model.nv)),
    )

    def total() -> np.ndarray:
        sample = simulation.sample()
        d = model.evaluate(sample.q, sample.v)
        own = momenta(d).spatial.copy()
        own[3:] += d.placement("base_link")[:3, :3] @ simulation.actuation.momentum
        return own

    begun, spun = total(), simulation.actuation.momentum
    simulation.advance(180, Ports())
    # Momentum has moved between wheels and satellite, and none has come or gone.
    assert np.linalg.norm(simulation.actuation.momentum - spun) > 0.01
    np.testing.assert_allclose(total(), begun, atol=1e-11 * np.linalg.norm(begun))
    books = simulation.exergy_map()
    assert abs(books.residual) < 1e-11
    assert abs(books.stored["spinning"]) > 0.1


def test_a_reaction_wheel_turns_a_planar_base_by_what_it_takes_up() -> None:
    model = robots.load("omnidirectional_panda")
    wheel = ReactionWheel(np.array([0.0, 0.0, 1.0]), 0.1, 5.0, 100.0, friction=1e-3)
    tilted = ReactionWheel(np.array([0.6, 0.0, 0.8]), 0.1, 5.0, 100.0, rate=20.0)
    home = model.configuration(robots.get("omnidirectional_panda").home)
    actuators = Actuators([wheel, tilted], "planar")
    simulation = Simulation(StandardForm(model), home, 1e-3, actuators=actuators)
    weight = model.evaluate(home, np.zeros(model.nv)).g[model.b :]
    turn = Ports(torque=weight, wrench_base=np.array([0.0, 0.0, 2.0]))
    simulation.apply(turn)

    def total() -> float:
        sample = simulation.sample()
        own = float(momenta(model.evaluate(sample.q, sample.v)).spatial[5])
        return own + float(simulation.actuation.momentum[2])

    begun = total()
    simulation.advance(200, turn)
    assert simulation.twist[2] > 0.05  # rad/s
    assert total() == pytest.approx(begun, abs=1e-11)
    assert abs(simulation.exergy_map().residual) < 1e-9


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(
    ("name", "seconds", "step"),
    [
        ("hextilt", 1.2, 2e-3),
        ("bluerov2_alpha5", 2.0, 1e-2),
        ("omnidirectional_panda", 1.2, 4e-3),
    ],
)
def test_a_robot_holds_its_base_on_its_actuators_while_the_arm_moves(
    name: str, seconds: float, step: float
) -> None:
    known, model = robots.get(name), robots.load(name)
    actuators = known.own_actuators()
    home = model.configuration(known.home)
    law = DecoupledVMSController(model, allocation=actuators.allocation)
    law.reset(RobotState(home, np.zeros(model.nv)))
    goal = Reference(joints=model.joint_positions(home) + 0.2)
    used: list[np.ndarray] = []

    simulations: list[Simulation] = []

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> object:
        if simulations:
            used.append(simulations[0].actuation.step_efforts.inputs)
        return law.update(RobotState(q, v), goal, dt)

    simulation = Simulation(StandardForm(model), home, step, control, actuators=actuators)
    simulations.append(simulation)
    simulation.advance(round(seconds / step), Ports())
    moved = model.difference(home, simulation.sample().q)
    places = 2 if model.base == "planar" else 3
    assert np.linalg.norm(moved[:places]) < 0.02
    assert np.linalg.norm(moved[places : model.b]) < 0.06
    np.testing.assert_allclose(moved[model.b :], 0.2, atol=0.04)
    inputs = np.array(used)
    assert (inputs <= actuators.upper * (1 + 1e-12)).all()
    assert (inputs >= actuators.lower - 1e-9).all()
    books = simulation.exergy_map()
    exchanged = abs(books.stored["supply"])
    assert exchanged > 1e-3
    assert abs(books.residual) < 1e-9 * max(exchanged, 1.0)
    assert min(books.destroyed.values()) > -1e-9


@pytest.mark.parametrize("native", [None, False])
def test_a_robot_that_hovers_at_rest_goes_on_at_long_steps(native: bool | None) -> None:
    # Held against gravity, it reaches |g| dt in the frame of the falling centre of mass, of which
    # the energy is rounded.
    known, model = robots.get("hextilt"), robots.load("hextilt")
    actuators, home = known.own_actuators(), model.configuration(known.home)
    law = DecoupledVMSController(model, allocation=actuators.allocation)
    law.reset(RobotState(home, np.zeros(model.nv)))

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> object:
        return law.update(RobotState(q, v), Reference(), dt)

    simulation = Simulation(
        StandardForm(model),
        home,
        5e-3,
        control,
        actuators=actuators,
        engine=FormEngine(native=native),
    )
    simulation.advance(200, Ports())
    assert simulation.failure == ""
    assert simulation.failures == 0
    assert abs(simulation.exergy_map().residual) < 1e-11


def test_actuators_of_another_base_are_refused() -> None:
    model, q = small_satellite()
    with pytest.raises(ModelError, match="those of a planar base; that of 'satellite_panda' is"):
        Simulation(
            StandardForm(model),
            q,
            1e-3,
            actuators=robots.get("omnidirectional_panda").own_actuators(),
        )
