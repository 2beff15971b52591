# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Against MuJoCo: another lineage, other coordinates, another algorithm."""

import mujoco
import numpy as np
import pytest

from vms_ph_dynamics import Ports, VMSModel
from vms_ph_io import robots

from .conftest import state_of
from .forms.test_forms import FORMS, acceleration
from .mujoco_twin import MujocoTwin, rotation

# Water is left out: MuJoCo's fluid is another model.
CASES = [
    ("panda", "fixed"),
    ("panda", "planar"),
    ("panda", "floating"),
    ("omnidirectional_panda", "planar"),
    ("hextilt", "floating"),
    ("borinot", "floating"),
    ("satellite_panda", "floating"),
    ("bluerov2_alpha5", "floating"),
    ("baxter", "fixed"),
]

# Both sum a few hundred products: measured 1e-14 of the largest entry.
TERMS = 1e-12
# The conditioning of the mass matrix, up to 1e6, times rounding: measured 5e-13.
ACCELERATIONS = 1e-10


@pytest.fixture(params=CASES, ids=" ".join)
def twin(request: pytest.FixtureRequest) -> MujocoTwin:
    name, base = request.param
    robot = robots.get(name)
    xml = robot.description()
    return MujocoTwin(VMSModel.from_urdf(xml, base, robot.end_effector, robot.gravity), xml)


def assert_same(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * np.abs(theirs).max())


def test_mass_and_bias_are_those_of_mujoco(twin: MujocoTwin, rng: np.random.Generator) -> None:
    robot = twin.robot
    for _ in range(100):
        q, v = state_of(robot, rng)
        d = robot.evaluate(q, v)
        assert_same(d.M, twin.mass(q, v), TERMS)
        assert_same(d.C @ v + d.g, twin.bias(q, v), TERMS)


def test_both_forms_accelerate_as_mujoco(twin: MujocoTwin, rng: np.random.Generator) -> None:
    robot, b = twin.robot, twin.robot.b
    for _ in range(10):
        q, v = state_of(robot, rng)
        force = rng.uniform(-10, 10, robot.nv)
        theirs = twin.acceleration(q, v, force)
        for kind in FORMS:
            form = kind(robot)
            ours = acceleration(form, form.state(q, v), Ports(force[b:], force[:b]))
            assert_same(ours, theirs, ACCELERATIONS)


def test_the_energies_are_those_of_mujoco(twin: MujocoTwin, rng: np.random.Generator) -> None:
    robot = twin.robot
    twin.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    still = np.zeros(robot.nv)
    zero = robot.neutral_configuration()
    twin.set(zero, still)
    offset = twin.data.energy[0] - robot.evaluate(zero, still).potential_energy
    for _ in range(20):
        q, v = state_of(robot, rng)
        twin.set(q, v)
        d = robot.evaluate(q, v)
        potential, kinetic = twin.data.energy
        assert d.kinetic_energy == pytest.approx(kinetic, rel=1e-12)
        # MuJoCo counts links that do not move too, a constant.
        scale = abs(potential) + abs(offset) + 1.0
        assert d.potential_energy == pytest.approx(potential - offset, abs=1e-12 * scale)
    if robot.base != "fixed":
        assert offset == pytest.approx(0.0, abs=1e-10)


def test_the_free_joint_of_mujoco_moves_as_the_transformation_says(
    rng: np.random.Generator,
) -> None:
    """The base's twist in its own axes, integrated a little, is MuJoCo's step."""
    robot = robots.load("borinot")
    twin = MujocoTwin(robot, robots.get("borinot").description())
    q, v = state_of(robot, rng)
    step = 1e-6
    twin.set(q, v)
    moved = twin.data.qpos.copy()
    mujoco.mj_integratePos(twin.model, moved, twin.data.qvel, step)
    ours = robot.integrate(q, step * v)
    # Second order in the step: the screw curves, MuJoCo's path is straight.
    np.testing.assert_allclose(moved[:3], ours[:3], atol=10 * step**2)
    theirs = rotation(moved[[4, 5, 6, 3]])
    np.testing.assert_allclose(theirs, rotation(ours[3:7]), atol=10 * step**2)
