# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots for the tests of the dynamics: all bundled ones, on all bases, and random trees."""

from functools import cache

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.actuation.fluid import Fluid, ImmersedBody
from vms_ph_dynamics.robot import Mimic
from vms_ph_io import robots

load = cache(robots.load)  # nothing changes a model


@pytest.fixture(params=robots.names())
def bundled(request: pytest.FixtureRequest) -> VMSModel:
    return load(request.param)


@pytest.fixture(params=[name for name in robots.names() if not robots.get(name).fluid])
def bundled_dry(request: pytest.FixtureRequest) -> VMSModel:
    """Every bundled robot that is in no fluid: what the sources, and Pinocchio, describe."""
    return load(request.param)


@pytest.fixture(params=["fixed", "planar", "floating"])
def panda_on(request: pytest.FixtureRequest) -> VMSModel:
    return panda_on_base(request.param)


@cache
def panda_on_base(base: str) -> VMSModel:
    return VMSModel.from_urdf(robots.get("panda").description(), base, "panda_link8")


def state_of(model: VMSModel, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return model.random_configuration(rng), rng.uniform(-1, 1, model.nv)


def random_tree(seed: int) -> VMSModel:
    """A random tree of two to six joints, revolute, continuous and prismatic, on a random base."""
    rng = np.random.default_rng(seed)
    base = ("fixed", "planar", "floating")[seed % 3]
    model = pin.Model()
    model.name = f"tree {seed}"
    branch = [0]
    if base != "fixed":
        kind = pin.JointModelPlanar() if base == "planar" else pin.JointModelFreeFlyer()
        root = model.addJoint(0, kind, pin.SE3.Identity(), "root")
        model.appendBodyToJoint(root, _inertia(rng), pin.SE3.Identity())
        branch = [root]
    kinds = (
        pin.JointModelRX,
        pin.JointModelRY,
        pin.JointModelPZ,
        pin.JointModelRUBZ,
        lambda: pin.JointModelRevoluteUnaligned(_unit(rng)),
        lambda: pin.JointModelPrismaticUnaligned(_unit(rng)),
    )
    for i in range(int(rng.integers(2, 7))):
        kind = kinds[int(rng.integers(len(kinds)))]()
        # Depth first: a new joint leaves the present branch where it likes.
        branch = branch[: int(rng.integers(len(branch))) + 1]
        branch.append(model.addJoint(branch[-1], kind, _pose(rng), f"joint_{i}"))
        model.appendBodyToJoint(branch[-1], _inertia(rng), pin.SE3.Identity())
    last = model.addBodyFrame("tip", branch[-1], _pose(rng), 0)
    return VMSModel.from_pinocchio(model, model.frames[last].name)


def coupled_tree(seed: int) -> VMSModel:
    """A random tree with rotors in which about every other joint mimics one before or behind it."""
    tree, rng = random_tree(seed), np.random.default_rng(seed)
    source, first = tree.pinocchio, 1 if tree.b == 0 else 2
    source.armature = np.r_[np.zeros(tree.b), rng.uniform(0.1, 0.4, tree.n)]
    # An angle that is known only up to turns is not that of another joint.
    names = [source.names[i] for i in range(first, source.njoints) if source.nqs[i] == 1]
    rng.shuffle(names)
    leaders, followers = names[: (len(names) + 1) // 2], names[(len(names) + 1) // 2 :]
    mimics = {
        name: Mimic(str(rng.choice(leaders)), rng.uniform(-1.5, 1.5), rng.uniform(-0.5, 0.5))
        for name in followers
    }
    return VMSModel(source, tree.end_effector, mimics=mimics)


def immersed(model: VMSModel, seed: int) -> VMSModel:
    """A robot in a fluid, each link with an added mass that couples everything."""
    rng = np.random.default_rng(seed)
    bodies = []
    for frame in list(model.pinocchio.frames)[1:]:
        root = rng.normal(size=(6, 6))
        coefficients = rng.uniform(0, 1, (2, 6))
        volume, centre = rng.uniform(0, 1e-3), rng.uniform(-0.2, 0.2, 3)
        bodies.append(ImmersedBody(frame.name, 0.3 * root @ root.T, volume, centre, *coefficients))
    return model.in_fluid(Fluid(tuple(bodies)))


def _pose(rng: np.random.Generator) -> pin.SE3:
    return pin.exp6(rng.uniform(-1, 1, 6))


def _unit(rng: np.random.Generator) -> np.ndarray:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def _inertia(rng: np.random.Generator) -> pin.Inertia:
    # A cloud of point masses: any such inertia is one of a body.
    points, masses = rng.uniform(-0.3, 0.3, (6, 3)), rng.uniform(0.1, 1.0, 6)
    centre = masses @ points / masses.sum()
    away = points - centre
    tensor = sum(
        m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, away, strict=True)
    )
    return pin.Inertia(float(masses.sum()), centre, tensor)
