# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on all bases with tasks of all kinds, for the tests of the task-space form."""

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.robot.mimic import Mimic
from vms_ph_dynamics.tasks import (
    CentreOfMassTask,
    DistanceTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    StackedTask,
    Task,
)
from vms_ph_io import robots

# The sixth-order central difference: with this step its own error and that of rounding are both
# about 2e-13 of the derivative for motions of order one (3e-3 gives 2e-11, 3e-4 gives 7e-13).
_WEIGHTS = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
_STEP = 1e-3


def derivative(f: Callable[[float], np.ndarray]) -> np.ndarray:
    """The derivative of f at zero."""
    total = 0.0
    for k, weight in _WEIGHTS:
        total = total + weight * (f(k * _STEP) - f(-k * _STEP)) / _STEP
    return total


def mimicking() -> VMSModel:
    """The Panda on a planar base with its sixth joint following half of the fourth."""
    planar = VMSModel.from_urdf(robots.get("panda").description(), "planar", "panda_link8")
    follower = {"panda_joint6": Mimic("panda_joint4", 0.5, 0.2)}
    return VMSModel(planar.pinocchio, "panda_link8", mimics=follower)


def _panda(base: str) -> VMSModel:
    return VMSModel.from_urdf(robots.get("panda").description(), base, "panda_link8")


def _elbow(model: VMSModel) -> Task:
    return DistanceTask(model, model.joint_names[-4], [2, 1, 0.0])


MODELS: dict[str, Callable[[], VMSModel]] = {
    "panda": lambda: robots.load("panda"),
    "planar panda": lambda: _panda("planar"),
    "floating panda": lambda: _panda("floating"),
    "hextilt": lambda: robots.load("hextilt"),
    "bluerov": lambda: robots.load("bluerov2_alpha5"),
    "baxter": lambda: robots.load("baxter"),
    "mimicking": mimicking,
}

TASKS: dict[str, Callable[[VMSModel], Task]] = {
    "position": PositionTask,
    "orientation": OrientationTask,
    "pose": PoseTask,
    "centre of mass": CentreOfMassTask,
    "distance": lambda model: DistanceTask(model, to=[0.3, -0.2, 0.1]),
    "stacked": lambda model: StackedTask(PositionTask(model), _elbow(model)),
}

CASES = [
    (model, task)
    for model in MODELS
    for task in TASKS
    # On a plane an orientation or a height has fewer dimensions, and of six freedoms none is left.
    if not (model in ("planar panda", "mimicking") and task == "three levels")
    and not (model == "panda" and task == "three levels")
] + [("baxter", "hands")]
TASKS["hands"] = lambda model: DistanceTask(model, "left_gripper", "right_gripper")


def regular_state(
    model: VMSModel, task: Task, rng: np.random.Generator, margin: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """A random state whose task Jacobian is well away from singular."""
    for _ in range(2000):
        q = model.random_configuration(rng)
        jacobian = task.jacobian(model.evaluate(q, np.zeros(model.nv)))
        if np.linalg.svd(jacobian, compute_uv=False)[-1] > margin:
            return q, rng.uniform(-1, 1, model.nv)
    raise AssertionError("no regular configuration found")


def nearby(model: VMSModel, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return model.integrate(q, rng.uniform(-0.1, 0.1, model.nv))


def forward_dynamics(model: VMSModel, q: np.ndarray, v: np.ndarray, force: np.ndarray):
    """Accelerations by Pinocchio's articulated-body algorithm, which shares nothing with us."""
    bare = model.pinocchio
    return pin.aba(bare, bare.createData(), q, v, force)
