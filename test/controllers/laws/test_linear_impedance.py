# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The impedance of the closed loop is that with the compliance of the null space, not (40)."""

import numpy as np

from vms_ph_controllers.laws.linear_impedance import LinearImpedance
from vms_ph_dynamics import PositionTask, TaskSpaceForm, VMSModel


def test_the_impedance_is_the_compliance_of_all_joints_inverted(panda: VMSModel) -> None:
    q, weight = np.array([0.0, -0.3, 0.0, -1.5, 0.0, 1.5, 0.0]), np.diag([5.0, 8, 3, 6, 9, 4, 7])
    t = TaskSpaceForm(panda, PositionTask(panda), reference=q).evaluate(q, np.zeros(7))
    damping = 9.0 * t.J.T @ t.J + 6.0 * t.N.T @ t.N
    impedance = LinearImpedance(t, weight, 9.0 * np.eye(3), 6.0 * np.eye(4))
    for s in (0.0, 0.3, 2.0 + 7.0j, 1j):
        whole = t.d.M * s**2 + damping * s + weight
        expected = np.linalg.inv(t.J @ np.linalg.solve(whole, t.J.T))
        np.testing.assert_allclose(impedance.at(s), expected, rtol=1e-9, atol=1e-9)
    static = np.linalg.inv(t.J @ np.linalg.solve(weight, t.J.T))
    np.testing.assert_allclose(impedance.static, static, rtol=1e-9, atol=1e-9)
    # A sudden force acts before the null space can move: what is left is [D (40)].
    fast, inverse = 1e4, t.J_bar_inverse[:, :3]
    decoupled = t.Lambda_t * fast**2 + 9.0 * np.eye(3) * fast + inverse.T @ weight @ inverse
    assert np.linalg.norm(impedance.at(fast) - decoupled) < 1.0
