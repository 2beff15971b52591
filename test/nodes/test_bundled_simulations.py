# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Every bundled robot simulated without ROS, with the parameters of its launch file."""

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
import yaml
from built_core import compiled  # noqa: F401

from vms_ph_controllers import Command, Reference, RobotState, Status
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_dynamics import Ports, StandardForm, momenta
from vms_ph_dynamics.simulation import Sample, Simulation, in_world_axes
from vms_ph_io import robots, share_directory

# Hoppers are simulated with a floor; see test_hopping_simulation.py.
HOLDING = [name for name in robots.names() if not robots.get(name).on_floor]


def _parameters(name: str, node: str) -> dict[str, object]:
    text = (share_directory() / f"config/{name}.yaml").read_text()
    return dict(yaml.safe_load(text)[f"/**/{node}"]["ros__parameters"])


def _simulation(name: str) -> Simulation:
    known = robots.get(name)
    model = known.load()
    asked = _parameters(name, "controller")
    controller = make_controller(
        str(asked["controller"]),
        model,
        known.allocation(),
        bool(asked.get("base_actuated", True)),
    )
    names = {item.name for item in fields(controller.gains)}
    gains = {k: v for k, v in asked.items() if k in names}
    controller.gains = replace(controller.gains, **gains)
    home = model.configuration(known.home)
    guard = Supervisor(controller, known.allocation(), bool(asked.get("base_actuated", True)))
    guard.reset(RobotState(home, np.zeros(model.nv)))

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> Command:
        command = guard.update(RobotState(q, v), Reference(), dt)
        assert command.status is not Status.HOLDING, command.reason
        return command

    form = StandardForm(model)
    step = _parameters(name, "simulator")["step"]
    friction = bool(_parameters(name, "simulator")["joint_friction"])
    return Simulation(form, home, float(step), control, friction)  # type: ignore[arg-type]


def _pushed(simulation: Simulation, size: float, ticks: int) -> list[Sample]:
    samples = [simulation.sample()]
    for k in range(ticks):
        force = np.array([size if 5 <= k < 20 else 0.0, 0, 0, 0, 0, 0])
        push = Ports(wrench_end_effector=force)
        simulation.advance(10, in_world_axes(simulation.form.model, push))
        samples.append(simulation.sample())
    return samples


@cache
def _after_a_push(name: str) -> list[Sample]:
    push = float(_parameters(name, "simulator")["push.force"])  # type: ignore[arg-type]
    return _pushed(_simulation(name), push, 40)


@pytest.mark.parametrize("name", HOLDING)
def test_the_port_energies_account_for_the_stored_energy(name: str) -> None:
    model = robots.load(name)
    samples = _after_a_push(name)
    first, last = samples[0], samples[-1]

    def energy(sample: Sample) -> float:
        d = model.evaluate(sample.q, sample.v)
        return d.kinetic_energy + d.potential_energy

    stored = energy(last) - energy(first)
    supplied = sum(last.port_energy.values())
    assert last.port_energy["wrench_end_effector"] > 0
    if model.b and not name.startswith("satellite"):
        assert last.port_energy["wrench_base"] != 0
    # Truncation of the fourth-order scheme at 1 ms, relative to the energies that were exchanged.
    scale = sum(abs(joules) for joules in last.port_energy.values()) + last.dissipated
    assert abs(stored - supplied + last.dissipated) < 1e-8 * scale


@pytest.mark.parametrize("name", HOLDING)
def test_the_controller_holds_the_robot_after_a_push(name: str) -> None:
    model = robots.load(name)
    samples = _after_a_push(name)
    away = [np.linalg.norm(model.difference(samples[0].q, s.q)[model.b :]) for s in samples]
    assert 1e-4 < max(away) < 0.5
    assert np.isfinite(samples[-1].v).all()
    assert np.abs(samples[-1].torque[: model.n]).max() < model.joints.effort.max()


def test_the_satellite_keeps_its_momentum_after_a_push() -> None:
    simulation = _simulation("satellite_panda")
    model = robots.load("satellite_panda")
    samples = _pushed(simulation, 10.0, 60)
    whole = [momenta(model.evaluate(s.q, s.v)).spatial for s in samples[30:]]
    # 10 N for 0.15 s; afterwards there are no external efforts.
    np.testing.assert_allclose(whole[0][:3], [1.5, 0, 0], atol=1e-9)
    np.testing.assert_allclose(whole[-1], whole[0], atol=1e-9)
