# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Random robots on moving bases, and the motion they make, for the tests of the decoupling."""

import numpy as np
import pinocchio as pin
from hypothesis import strategies as st

from vms_ph_dynamics import Evaluation, VMSModel

from .conftest import random_tree, state_of


def planar_chain(joints: int, rng: np.random.Generator) -> VMSModel:
    """A robot that stays in the plane: revolute and prismatic joints, bodies of point masses."""
    model = pin.Model()
    model.name = "planar chain"
    parent = model.addJoint(0, pin.JointModelPlanar(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(parent, _flat(rng), pin.SE3.Identity())
    for i in range(joints):
        kind = pin.JointModelRZ() if rng.integers(2) else pin.JointModelPX()
        place = pin.SE3(np.eye(3), np.append(rng.uniform(-0.5, 0.5, 2), 0.0))
        parent = model.addJoint(parent, kind, place, f"joint_{i}")
        model.appendBodyToJoint(parent, _flat(rng), pin.SE3.Identity())
    foot = pin.SE3(np.eye(3), np.append(rng.uniform(-0.5, 0.5, 2), 0.0))
    model.addBodyFrame("foot", parent, foot, 0)
    return VMSModel.from_pinocchio(model, "foot")


def _flat(rng: np.random.Generator) -> pin.Inertia:
    points, masses = rng.uniform(-0.4, 0.4, (2, 2)), rng.uniform(0.2, 1.0, 2)
    bodies = [
        pin.Inertia(m, np.append(r, 0.0), np.zeros((3, 3)))
        for m, r in zip(masses, points, strict=True)
    ]
    return bodies[0] + bodies[1]


def _moving(k: int) -> VMSModel:
    """A tree on a floating or planar base, or a chain that stays in the plane."""
    if k % 3 == 2:
        return planar_chain(1 + k % 4, np.random.default_rng(k))
    # random_tree takes the base from the remainder by three; zero is the fixed one.
    return random_tree(3 * (k // 3) + 1 + k % 3)


moving_trees = st.integers(0, 2**30).map(_moving)


def moved(d: Evaluation, acceleration: np.ndarray, h: float) -> Evaluation:
    """The state after a short time h along the motion, to second order."""
    q = d.model.integrate(d.q, h * d.v + 0.5 * h * h * acceleration)
    return d.model.evaluate(q, d.v + h * acceleration)


def free_acceleration(d: Evaluation, force: np.ndarray) -> np.ndarray:
    """The acceleration under a generalised force and no gravity, by Pinocchio's RNEA."""
    m = d.model.pinocchio
    m.gravity.setZero()
    bias = pin.nonLinearEffects(m, m.createData(), d.q, d.v)
    return np.linalg.solve(d.M, force - bias)


def evaluated(model: VMSModel, seed: int) -> tuple[Evaluation, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return model.evaluate(*state_of(model, rng)), rng


class Smooth:
    """A random matrix that depends on the joints, with its derivative along a motion."""

    def __init__(self, size: int, joints: int, rng: np.random.Generator) -> None:
        self._constant = np.eye(size) + 0.2 * rng.uniform(-1, 1, (size, size)) / size
        self._wave = 0.3 * rng.uniform(-1, 1, (size, size)) / size
        self._weights = rng.uniform(-1, 1, joints)

    def __call__(self, d: Evaluation) -> np.ndarray:
        return self._constant + np.sin(self._weights @ self._joints(d)) * self._wave

    def rate(self, d: Evaluation) -> np.ndarray:
        speed = self._weights @ d.v[d.model.b :]
        return speed * np.cos(self._weights @ self._joints(d)) * self._wave

    @staticmethod
    def _joints(d: Evaluation) -> np.ndarray:
        return d.model.joint_positions(d.q)
