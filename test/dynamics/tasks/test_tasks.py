# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Differential tasks: their Jacobians and derivatives on every base."""

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.tasks import (
    CentreOfMassTask,
    DistanceTask,
    FrameTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    StackedTask,
)

from .task_cases import CASES, MODELS, TASKS, derivative, regular_state


@pytest.mark.parametrize(("robot", "kind"), CASES)
def test_the_derivatives_of_a_task_are_exact_on_every_base(
    robot: str, kind: str, rng: np.random.Generator
) -> None:
    model = MODELS[robot]()
    task = TASKS[kind](model)
    q, v = regular_state(model, task, rng, 0.02)
    d = model.evaluate(q, v)
    scale = 1.0 + np.abs(task.jacobian(d)).max()

    def jacobian(dv: np.ndarray) -> np.ndarray:
        return task.jacobian(model.evaluate(model.integrate(q, dv), v))

    along = derivative(lambda s: jacobian(s * v))
    np.testing.assert_allclose(task.jacobian_rate(d), along, atol=1e-10 * scale)
    gradient = task.jacobian_gradient(d)
    np.testing.assert_allclose(gradient @ v, task.jacobian_rate(d), atol=1e-11 * scale)
    for k in rng.choice(model.nv, 3, replace=False):
        unit = np.eye(model.nv)[k]
        slope = derivative(lambda s, unit=unit: jacobian(s * unit))
        np.testing.assert_allclose(gradient[:, :, k], slope, atol=1e-10 * scale)
    if isinstance(task, FrameTask):
        rate_gradient = task.jacobian_rate_gradient(d)
        for k, unit in enumerate(np.eye(model.nv)):
            slope = derivative(
                lambda s, unit=unit: task.jacobian_rate(
                    model.evaluate(model.integrate(q, s * unit), v)
                )
            )
            np.testing.assert_allclose(rate_gradient[:, :, k], slope, atol=1e-9 * scale)


@pytest.mark.parametrize("kind", ["position", "centre of mass", "distance", "hands"])
def test_an_integrable_task_is_the_rate_of_its_value(kind: str, rng: np.random.Generator) -> None:
    for robot in ("baxter",) if kind == "hands" else MODELS:
        model = MODELS[robot]()
        task = TASKS[kind](model)
        q, v = regular_state(model, task, rng, 0.02)
        slope = derivative(
            lambda s, m=model, t=task, q=q, v=v: np.atleast_1d(
                t.value(m.evaluate(m.integrate(q, s * v), v))
            )
        )
        eta = task.jacobian(model.evaluate(q, v)) @ v
        np.testing.assert_allclose(eta, slope, atol=1e-11)


@pytest.mark.parametrize("robot", MODELS)
def test_the_geometric_jacobian_gives_velocity_and_angular_velocity(
    robot: str, rng: np.random.Generator
) -> None:
    model = MODELS[robot]()
    task = PoseTask(model)
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    d = model.evaluate(q, v)
    eta = task.jacobian(d) @ v
    rate = derivative(lambda s: task.value(model.evaluate(model.integrate(q, s * v), v)))
    np.testing.assert_allclose(rate[:3, 3], eta[:3], atol=1e-11)
    spin = rate[:3, :3] @ task.value(d)[:3, :3].T
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], eta[3:], atol=1e-11)
    np.testing.assert_allclose(OrientationTask(model).jacobian(d) @ v, eta[3:], atol=1e-14)


def test_a_distance_of_zero_has_no_direction_and_says_so_by_its_rank(panda: VMSModel) -> None:
    task = DistanceTask(panda, "panda_hand", "panda_link8")
    d = panda.evaluate(panda.neutral_configuration(), np.ones(7))
    assert task.value(d) == 0.0
    assert not task.jacobian(d).any()
    assert not task.jacobian_rate(d).any()


def test_stacks_that_no_robot_can_have_are_refused(panda: VMSModel) -> None:
    assert StackedTask(PositionTask(panda)).dimension == 3  # one task alone is a stack
    with pytest.raises(ModelError, match="at least one task"):
        StackedTask()
    with pytest.raises(ModelError, match="made with the same model"):
        StackedTask(PositionTask(panda), PositionTask(MODELS["panda"]()))
    with pytest.raises(ModelError, match="one by one"):
        StackedTask([PositionTask(panda)])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="9 dimensions together"):
        StackedTask(PoseTask(panda), CentreOfMassTask(panda))
    with pytest.raises(ModelError, match="is not a frame"):
        PoseTask(panda, "nose")
    with pytest.raises(StateError, match="the point of a distance"):
        DistanceTask(panda, to=[1.0, 2.0])
