# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Task and null space through singular postures, and implicit damping."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import (
    RobotState,
    Status,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.laws.task_effort import exchange, split_motion
from vms_ph_controllers.potentials.shaped_potential import JointLimitPotential
from vms_ph_dynamics import CanonicalForm, Ports, TaskSpaceForm, VMSModel

from ..support.closed_loops import HOLD, Q0

REST = np.zeros(7)
SINGULAR = np.array([1.686, 0, np.pi / 2, -3.0, 0, 2.665, -2.897])
Gains = TaskSpaceIDAPBC.Gains


def test_the_damping_is_continuous_through_a_singular_posture(panda: VMSModel) -> None:
    # As the sixth joint passes, the rank falls to two and back; N^T N alone would jump there.
    controller = TaskSpaceIDAPBC(panda)
    jumps, plain_jumps = [], []
    before = before_plain = None
    direction = np.array([0.1, 0.3, 0.2, 0.2, -0.4, 1.0, 0.1])
    for s in np.linspace(-1.25e-3, 1.25e-3, 501):
        d = panda.evaluate(SINGULAR + np.array([0, 0, 0, 0, 0, 6e-6, 0]) + s * direction, REST)
        jacobian = controller.task.jacobian(d)
        n = split_motion(d, jacobian, 0.03).null_map
        z = np.linalg.svd(jacobian)[2][3:]
        plain = np.linalg.solve(z @ d.M @ z.T, z @ d.M)
        damping, plain = n.T @ n, plain.T @ plain
        if before is not None:
            jumps.append(np.abs(damping - before).max())
            plain_jumps.append(np.abs(plain - before_plain).max())
        before, before_plain = damping, plain
    assert max(plain_jumps) > 1.0
    assert max(jumps) < 0.05


def test_the_split_joins_the_regular_one_at_the_threshold(panda: VMSModel) -> None:
    d = panda.evaluate(Q0, np.linspace(-1, 1, 7))
    jacobian = TaskSpaceIDAPBC(panda).task.jacobian(d)
    smallest = np.linalg.svd(jacobian, compute_uv=False)[-1]
    regular, handed = (split_motion(d, jacobian, smallest * f) for f in (1 - 1e-9, 1 + 1e-9))
    assert regular.is_regular
    assert not handed.is_regular
    assert handed.kinetic_null == pytest.approx(regular.kinetic_null, rel=1e-6)
    np.testing.assert_allclose(
        handed.null_map.T @ handed.nu, regular.null_map.T @ regular.nu, atol=1e-6
    )


def test_half_way_to_a_singularity_a_direction_is_three_quarters_free() -> None:
    # 1 - (1/2)^2; with a unit mass the map of the null space is the square of the shares.
    v = np.array([1.0, 2.0])
    d: Any = SimpleNamespace(M=np.eye(2), v=v, momentum=v, tree=SimpleNamespace(cpp_core=None))
    found = split_motion(d, np.array([[0.01, 0.0]]), 0.02)
    np.testing.assert_allclose(found.null_map, np.diag([0.75**2, 1.0]), atol=1e-12)
    np.testing.assert_allclose(found.nu, [0.75**2, 2.0], atol=1e-12)


def test_the_energy_that_tasks_exchange_is_that_of_the_form(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    task = TaskSpaceIDAPBC(panda).task
    for _ in range(3):
        d = panda.evaluate(Q0 + 0.1 * rng.normal(size=7), rng.normal(size=7))
        found = exchange(d, split_motion(d, task.jacobian(d), 1e-3), task.jacobian_rate(d))
        assert found == pytest.approx(TaskSpaceForm(panda, task).terms(d).coupling.exchange)


def test_near_a_singularity_the_law_stays_passive(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    controller = TaskSpaceIDAPBC(panda)
    controller.set_minimum(SINGULAR)
    form = CanonicalForm(panda)
    for away in (0.0, 1e-6, 1e-3, 1e-2):
        q, v = SINGULAR + away * rng.normal(size=7), rng.uniform(-0.2, 0.2, 7)
        command = controller.update(RobotState(q, v), HOLD, 0.0)
        assert command.status is Status.DEGRADED
        energy = command.energy
        rate = form.rate(form.state(q, v), Ports(command.torque))
        stored = float(form.gradient(form.state(q, v)) @ form.layout(rate))
        depth = JointLimitPotential(panda).depth(q, 0.05)
        stored += float((30.0 * (q - SINGULAR) + 100.0 * depth) @ v)
        damping = energy.damping_task + energy.damping_null
        assert stored == pytest.approx(-damping, abs=1e-10)
        assert min(energy.damping_task, energy.damping_null, energy.kinetic_task) >= 0.0
