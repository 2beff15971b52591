# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The simulated robot: energy balance, held efforts, and its samples."""

import numpy as np
import pytest

from vms_ph_controllers import Command, Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import CanonicalForm, Ports, StandardForm, VMSModel
from vms_ph_dynamics.simulation import Sample, Simulation, in_world_axes
from vms_ph_dynamics.simulation.surroundings import Pushes

Q0 = np.array([0, -0.3, 0, -1.5, 0, 1.5, 0])
NOTHING = Ports()


def controlled(panda: VMSModel) -> Simulation:
    controller = TaskSpaceIDAPBC(panda)
    controller.reset(RobotState(Q0, np.zeros(7)))

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> Command:
        return controller.update(RobotState(q, v), Reference(), dt)

    return Simulation(CanonicalForm(panda), Q0, 1e-3, control, friction=True)


@pytest.fixture
def simulation(panda: VMSModel) -> Simulation:
    return controlled(panda)


def energy(model: VMSModel, sample: Sample) -> float:
    d = model.evaluate(sample.q, sample.v)
    return d.kinetic_energy + d.potential_energy


def _trapezoid(values: np.ndarray, times: np.ndarray) -> float:
    return float(np.sum(np.diff(times) * (values[:-1] + values[1:]) / 2))


def pushed(simulation: Simulation, ticks: int) -> list[Sample]:
    samples, model = [simulation.sample()], simulation.form.model
    for k in range(ticks):
        force = np.array([10.0, 0, 0, 0, 0, 0]) if 5 <= k < 20 else np.zeros(6)
        simulation.advance(10, in_world_axes(model, Ports(wrench_end_effector=force)))
        samples.append(simulation.sample())
    return samples


@pytest.fixture(scope="module")
def samples(panda: VMSModel) -> list[Sample]:
    return pushed(controlled(panda), 40)


def test_the_port_energies_account_for_the_stored_energy(
    panda: VMSModel, samples: list[Sample]
) -> None:
    first, *_, last = samples
    stored = energy(panda, last) - energy(panda, first)
    assert last.port_energy["wrench_end_effector"] > 0.01
    assert last.dissipated > 0
    assert stored == pytest.approx(sum(last.port_energy.values()) - last.dissipated, abs=1e-9)


def test_the_trapezoidal_rule_over_the_samples_gives_the_port_energies(
    panda: VMSModel, samples: list[Sample]
) -> None:
    # Efforts jump at samples; given as the mean of both sides they do not spoil the rule.
    times = np.array([s.time for s in samples])
    joints = np.array([s.torque @ s.v for s in samples])
    twists = [panda.evaluate(s.q, s.v).J_end_effector @ s.v for s in samples]
    tool = np.array(
        [s.wrench_end_effector @ twist for s, twist in zip(samples, twists, strict=True)]
    )
    end = samples[-1]
    # What is left is h^2/12 times the jumps of dP/dt: 10 N at some 3 m/s^2 for h = 10 ms, twice.
    # One-sided efforts would miss h/2 times the jumps of P itself, some 5e-3 J.
    assert _trapezoid(joints, times) == pytest.approx(end.port_energy["torque"], abs=5e-4)
    assert _trapezoid(tool, times) == pytest.approx(
        end.port_energy["wrench_end_effector"], abs=5e-4
    )


def test_an_arm_held_by_its_controller_stays_where_it_is(simulation: Simulation) -> None:
    for _ in range(20):
        simulation.advance(10, NOTHING)
    sample = simulation.sample()
    np.testing.assert_allclose(sample.q, Q0, atol=1e-9)
    assert sample.time == pytest.approx(0.2)


def test_external_efforts_act_from_the_next_sample_on(panda: VMSModel) -> None:
    simulation = Simulation(CanonicalForm(panda), Q0, 1e-3, None)
    torque = np.arange(7.0)
    simulation.advance(10, Ports(torque))
    assert simulation.sample().port_energy["torque"] == 0.0
    simulation.advance(10, Ports(torque))
    assert simulation.sample().port_energy["torque"] != 0.0
    np.testing.assert_array_equal(simulation.sample().torque, torque)


def test_a_wrench_in_tool_axes_and_one_in_world_axes_are_the_same_force(panda: VMSModel) -> None:
    rotation = panda.evaluate(Q0, np.zeros(7)).placement("panda_link8")[:3, :3]
    force = np.array([3.0, -2.0, 5.0, 0.1, 0.2, -0.3])
    in_tool = np.concatenate([force[:3] @ rotation, force[3:] @ rotation])
    hold = Command(np.zeros(0), panda.evaluate(Q0, np.zeros(7)).g)
    samples = []
    in_world = in_world_axes(panda, Ports(wrench_end_effector=force))
    for push in (in_world, Ports(wrench_end_effector=in_tool)):
        simulation = Simulation(CanonicalForm(panda), Q0, 1e-3, lambda q, v, dt: hold)
        simulation.advance(1, push)
        samples.append(simulation.sample().wrench_end_effector)
    np.testing.assert_allclose(samples[0], samples[1], atol=1e-12)
    np.testing.assert_allclose(samples[1], in_tool / 2, atol=1e-12)


def test_a_reset_returns_to_the_start_with_all_port_energies_at_zero(
    simulation: Simulation,
) -> None:
    pushed(simulation, 8)
    simulation.reset()
    sample = simulation.sample()
    np.testing.assert_array_equal(sample.q, Q0)
    assert sample.time == 0.0
    assert set(sample.port_energy.values()) == {0.0}
    assert simulation.resets == 1


def test_a_push_begins_and_ends_on_the_steps_of_its_times() -> None:
    pushes = Pushes(force=10.0, duration=0.1, period=0.3, first=0.2)
    times = np.cumsum(np.full(80, 0.01))  # with the rounding of a simulation
    found = np.array([pushes.wrench(t) for t in times])
    steps = [np.flatnonzero(found[:, axis]) for axis in range(3)]
    assert steps[0].tolist() == list(range(19, 29))
    assert steps[1].tolist() == list(range(49, 59))
    assert steps[2].tolist() == [79]
    assert set(found[steps[0], 0]) == {10.0}


def test_a_carriage_that_is_too_light_for_its_force_is_named_with_its_mass() -> None:
    rail = VMSModel.from_urdf(
        """<robot name="rail"><link name="rail"/><link name="carriage"><inertial>
        <mass value="1e-4"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6"/></inertial></link>
        <joint name="slide" type="prismatic"><parent link="rail"/><child link="carriage"/>
        <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1e3" velocity="1"/></joint>
        </robot>"""
    )
    force = Ports(np.full(1, 1e3))
    simulation = Simulation(StandardForm(rail), np.zeros(1), 1e-3, lambda q, v, dt: force)
    assert "'slide' moves 0.0001 kg and no rotor" in simulation._light_joint_hint()
