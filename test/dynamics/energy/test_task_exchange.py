# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The power between null space and task that the energy monitor publishes."""

from math import isnan

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers import Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import PositionTask, VMSModel
from vms_ph_dynamics.energy.task_exchange import TaskExchange, energy_parts
from vms_ph_io import robots

Q0 = np.array([0, -0.3, 0, -1.5, 0, 1.5, 0])


def test_monitor_and_controller_find_the_same_exchange(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    exchange, law = TaskExchange(panda, PositionTask(panda)), TaskSpaceIDAPBC(panda)
    law.reset(RobotState(Q0, np.zeros(7)))
    for _ in range(20):
        q, v = Q0 + rng.uniform(-0.3, 0.3, 7), rng.uniform(-1, 1, 7)
        energy = law.update(RobotState(q, v), Reference(), 1e-3).energy
        assert exchange.exchange(panda.evaluate(q, v)).total == pytest.approx(
            energy.null_to_task, rel=1e-9, abs=1e-12
        )


def test_the_share_of_g12_goes_on_smoothly_away_from_singularities(
    panda: VMSModel,
) -> None:
    exchange, before, jumps = TaskExchange(panda, PositionTask(panda)), None, []
    way = np.array([1.0, 0.2, -1.0, -0.3, 1.0, 0.5, 1.0])
    for s in np.linspace(0.0, 0.4, 401):
        share = exchange.exchange(panda.evaluate(Q0 + s * way, np.ones(7))).through_g12
        if before is not None:
            jumps.append(abs(share - before))
        before = share
    # Its slope along this way is at most 8 W a radian, a step a milliradian; a basis that jumped
    # would move it by watts.
    assert max(jumps) < 0.01


def test_robots_on_moving_bases_have_it_and_those_without_redundancy_do_not(
    panda: VMSModel,
) -> None:
    floating = robots.load("satellite_panda")
    d = floating.evaluate(floating.neutral_configuration(), np.linspace(-1, 1, floating.nv))
    found = TaskExchange(floating, PositionTask(floating)).exchange(d)
    assert np.isfinite([found.total, found.through_g12]).all()
    held = [f"panda_joint{i}" for i in (3, 5, 6, 7)]
    xml = robots.get("panda").description()
    short = VMSModel.from_urdf(xml, end_effector="panda_link8", locked_joints=held)
    none = TaskExchange(short, PositionTask(short)).exchange(short.evaluate(np.ones(3), np.ones(3)))
    assert isnan(none.total)
    singular = np.array([1.686, 0, np.pi / 2, -3.0, 0, 2.665, -2.897])
    at = TaskExchange(panda, PositionTask(panda)).exchange(panda.evaluate(singular, np.ones(7)))
    assert isnan(at.through_g12)


def test_the_energies_of_a_state_are_those_of_its_parts() -> None:
    model = robots.load("hextilt")
    q = model.integrate(model.neutral_configuration(), np.linspace(-0.5, 0.7, model.nv))
    d = model.evaluate(q, np.linspace(-1.0, 1.0, model.nv))
    task, parts = PositionTask(model), energy_parts(d, PositionTask(model))
    tree = model.pinocchio
    data = tree.createData()
    kinetic = pin.computeKineticEnergy(tree, data, q, d.v)
    potential = pin.computePotentialEnergy(tree, data, q)
    assert parts["kinetic"] == pytest.approx(kinetic)
    assert parts["potential"] == pytest.approx(potential)
    assert parts["total"] == pytest.approx(kinetic + potential)
    momentum = (d.M @ d.v)[:6]
    base = 0.5 * momentum @ np.linalg.solve(d.M[:6, :6], momentum)
    assert parts["kinetic_base"] == pytest.approx(base)
    assert parts["kinetic_shape"] == pytest.approx(kinetic - base)
    jacobian = task.jacobian(d)
    speed = jacobian @ d.v
    moved = 0.5 * speed @ np.linalg.solve(jacobian @ np.linalg.solve(d.M, jacobian.T), speed)
    assert parts["kinetic_task"] == pytest.approx(moved)
    assert parts["kinetic_null"] == pytest.approx(kinetic - moved)
