# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Engines and effects of a simulation combine, and no energy is lost between them."""

from collections.abc import Callable

import numpy as np
import pytest

from dynamics.nonholonomic.carts import differential_drive
from vms_ph_controllers import DecoupledVMSController, RobotState
from vms_ph_dynamics import ModelError, OptionError, Ports, StandardForm, VMSModel
from vms_ph_dynamics.capture import Body, capture
from vms_ph_dynamics.simulation import Engine, FormEngine, Mechanism, Simulation, Wind
from vms_ph_dynamics.simulation.contact import MujocoEngine
from vms_ph_dynamics.simulation.contact.scene import Body as SceneBody
from vms_ph_dynamics.simulation.contact.scene import Scene, Shape
from vms_ph_io import robots

DOOR = Mechanism(np.array([0.0, 0.5, 0.0]), np.array([0.0, 0.0, 1.0]), 2.0)
BODY = Body(0.5, np.zeros(3), np.diag([1e-3, 1e-3, 1e-3]))


def swinging(model: VMSModel) -> Callable[..., Ports]:
    """Return torques that carry the weight, push every joint, and brake."""
    return lambda q, v, dt: Ports(model.evaluate(q, v).g - 0.5 * v + 0.8)


# Each step ends where force and motion agree to 1e-10 J; MuJoCo's scheme is of first order.
@pytest.mark.parametrize(
    ("engine", "error"), [(FormEngine, 200e-10), (MujocoEngine, 1e-3)], ids=["form", "mujoco"]
)
def test_an_arm_opens_a_door_in_every_engine(
    panda: VMSModel, engine: Callable[[], Engine], error: float
) -> None:
    form, law = StandardForm(panda), swinging(panda)
    simulation = Simulation(form, panda.home, 1e-3, law, mechanism=DOOR, engine=engine())
    simulation.advance(200)
    held = simulation.mechanism
    assert held is not None
    assert not simulation.failure
    assert held.angle == pytest.approx(0.0149, abs=1e-4)
    assert abs(simulation.unaccounted_energy()) + abs(held.residual) < error


@pytest.mark.parametrize("engine", [FormEngine, MujocoEngine])
def test_a_body_is_taken_in_every_engine_and_the_motion_goes_on(
    panda: VMSModel, engine: Callable[[], Engine]
) -> None:
    simulation = Simulation(StandardForm(panda), panda.home, 1e-3, swinging(panda), engine=engine())
    simulation.advance(50)
    q, before = simulation.q, simulation.v
    loaded = capture(panda, q, before, BODY, np.zeros(6))
    simulation.change_robot(StandardForm(loaded.model), loaded.v)
    np.testing.assert_allclose(simulation.v, loaded.v, atol=1e-12)
    np.testing.assert_allclose(panda.difference(q, simulation.q), 0.0, atol=1e-12)
    simulation.advance(50)
    assert not simulation.failure
    simulation.reset(StandardForm(panda))
    np.testing.assert_allclose(simulation.q, panda.home, atol=1e-12)


def test_bodies_of_a_scene_stay_where_they_are_when_the_robot_takes_another(
    panda: VMSModel,
) -> None:
    pose = np.eye(4)
    pose[:3, 3] = 1.0, 1.0, 0.5
    box = SceneBody("box", (Shape("box", (0.1, 0.1, 0.1)),), pose=pose, mass=1.0)
    engine = MujocoEngine(Scene("box", bodies=(box,)))
    simulation = Simulation(StandardForm(panda), panda.home, 1e-3, swinging(panda), engine=engine)
    simulation.advance(100)
    fallen = engine.pose_of("box")[2, 3]
    assert fallen < 0.47
    loaded = capture(panda, simulation.q, simulation.v, BODY, np.zeros(6))
    simulation.change_robot(StandardForm(loaded.model), loaded.v)
    assert engine.pose_of("box")[2, 3] == pytest.approx(fallen, abs=2e-3)
    simulation.advance(50)
    assert engine.pose_of("box")[2, 3] < fallen - 0.04  # it goes on at its speed


def test_rotors_fly_a_robot_in_mujoco_as_in_its_form() -> None:
    model, actuators = robots.load("hextilt"), robots.get("hextilt").own_actuators()
    ends = []
    for engine in (FormEngine(), MujocoEngine()):
        law = DecoupledVMSController(model, allocation=actuators.allocation)
        law.reset(RobotState(model.home, np.zeros(model.nv)))
        simulation = Simulation(
            StandardForm(model), model.home, 2e-3, law, actuators=actuators, engine=engine
        )
        simulation.advance(100)
        assert not simulation.failure
        assert simulation.actuation is not None
        assert simulation.exergy_map().stored["supply"] < 0.0
        ends.append(model.difference(model.home, simulation.q))
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-3)


def test_a_robot_on_wheels_pulls_a_door_and_its_wheels_do_not_slip() -> None:
    form = differential_drive()
    model = form.model
    q = model.configuration({"shoulder": 0.4, "elbow": 0.8})
    torque = np.full(model.n, 0.2)
    law = lambda q, v, dt: Ports(torque)  # noqa: E731
    simulation = Simulation(form, q, 1e-3, law, mechanism=DOOR)
    simulation.advance(60)
    assert not simulation.failure
    rows = form.constraint_jacobian(model.evaluate(simulation.q, simulation.v))
    assert np.abs(rows @ simulation.v).max() < 1e-9
    held = simulation.mechanism
    assert held is not None
    assert held.angle != 0.0
    exchanged = sum(map(abs, simulation.sample().port_energy.values()))
    assert abs(simulation.unaccounted_energy()) + abs(held.residual) < 1e-6 * exchanged + 1e-9


def test_what_an_engine_cannot_represent_is_refused_with_its_reason() -> None:
    form = differential_drive()
    with pytest.raises(ModelError, match="rolls wheels by contacts"):
        Simulation(form, form.model.neutral_configuration(), 1e-3, engine=MujocoEngine())


def test_a_wind_pushes_planar_bases_too_and_drags_what_is_faster() -> None:
    model = robots.load("omnidirectional_panda")
    wind = Wind(np.array([2.0, 0.0, 0.0]))
    q = model.configuration({}, [0.0, 0.0, 0.0, 1.0])  # it looks along y
    v = np.zeros(model.nv)
    blown = model.with_tools([model.link_names[0]])
    pushed = wind.ports(blown, q, v, 0.0).wrench_tools[model.link_names[0]]  # type: ignore[index]
    np.testing.assert_allclose(pushed[:3], [0.0, -0.5 * 1.2 * 0.02 * 4.0, 0.0], atol=1e-15)
    v[1] = -3.0  # along x, faster than the wind
    dragged = wind.ports(blown, q, v, 0.0).wrench_tools[model.link_names[0]]  # type: ignore[index]
    assert dragged[1] > 0.0
    with pytest.raises(OptionError, match="a wind pushes moving bases; that of 'panda' is"):
        wind.check(robots.load("panda"))
