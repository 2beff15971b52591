# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""MJCF models against MuJoCo: mass matrix, bias and potential energy at random states.

MuJoCo's free joint has the velocity of the base's origin in world axes: ``u = T(q) v``, so that

    M = T^T M_mj T,  bias = T^T (bias_mj + M_mj Tdot v).
"""

from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np
import pytest
from mjcf_texts import ROBOTS, random_robot

from vms_ph_dynamics import VMSModel
from vms_ph_io.descriptions.mjcf import Worker

# Relative to the largest entry; sums of a few hundred products. Measured 3e-15.
TERMS = 1e-12


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as process:
        yield process


class Twin:
    """The robot in MuJoCo itself, with what the model leaves out switched off."""

    def __init__(self, robot: VMSModel, xml: str) -> None:
        self.robot, self.model = robot, mujoco.MjModel.from_xml_string(xml)
        m = self.model
        m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        m.body_gravcomp[:] = 0.0
        names = {m.joint(j).name or f"joint{j}": j for j in range(m.njnt)}
        ours = [names[name] for name in robot.joint_names]
        self._q = m.jnt_qposadr[ours]
        self._v = [*range(robot.b), *m.jnt_dofadr[ours]]
        assert sorted(self._v) == list(range(m.nv))
        self.data = mujoco.MjData(m)

    def terms(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Mass matrix and bias in our velocities, and potential energy."""
        m, d = self.model, self.data
        turn, drift = np.eye(m.nv), np.zeros(m.nv)
        if self.robot.b:
            d.qpos[:7] = [*q[:3], q[6], *q[3:6]]
            axes = np.zeros(9)
            mujoco.mju_quat2Mat(axes, d.qpos[3:7])
            turn[:3, :3] = axes.reshape(3, 3)
            drift[:3] = turn[:3, :3] @ np.cross(v[3:6], v[:3])
        d.qpos[self._q] = self.robot.joint_positions(q)
        d.qvel[self._v] = turn @ v
        mujoco.mj_forward(m, d)
        mass = np.zeros((m.nv, m.nv))
        for row, unit in zip(mass, np.eye(m.nv), strict=True):
            mujoco.mj_mulM(m, d, row, unit)
        mass = mass[np.ix_(self._v, self._v)]
        bias = d.qfrc_bias[self._v] + mass @ drift
        potential = -sum(m.body_mass[i] * m.opt.gravity @ d.xipos[i] for i in range(m.nbody))
        return turn.T @ mass @ turn, turn.T @ bias, potential


def assert_parity(worker: Worker, xml: str, path: Path, states: int) -> None:
    path.write_text(xml)
    robot = VMSModel.from_urdf(worker.convert(path))
    twin, rng = Twin(robot, xml), np.random.default_rng(1)
    offsets, potentials = [], []
    for _ in range(states):
        q, v = robot.random_configuration(rng), rng.uniform(-1, 1, robot.nv)
        d = robot.evaluate(q, v)
        mass, bias, potential = twin.terms(q, v)
        np.testing.assert_allclose(d.M, mass, rtol=0, atol=TERMS * np.abs(mass).max())
        np.testing.assert_allclose(
            d.C @ v + d.g, bias, rtol=0, atol=TERMS * max(np.abs(bias).max(), np.abs(mass).max())
        )
        offsets.append(d.potential_energy - potential)
        potentials.append(potential)
    # Bodies that do not move shift it by a constant.
    assert np.ptp(offsets) <= TERMS * np.abs(potentials).max()
    assert np.ptp(potentials) > 0.0


@pytest.mark.parametrize("name", ROBOTS)
def test_mass_bias_and_potential_are_those_of_mujoco(
    name: str, worker: Worker, tmp_path: Path
) -> None:
    assert_parity(worker, ROBOTS[name], tmp_path / f"{name}.xml", 50)


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_with_several_joints_in_a_body_have_the_terms_of_mujoco(
    seed: int, worker: Worker, tmp_path: Path
) -> None:
    xml = random_robot(np.random.default_rng(seed))
    assert_parity(worker, xml, tmp_path / "random.xml", 10)
