# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Momentum and its rate of a body held by the end effector, linear in its inertial parameters."""

import numpy as np

from vms_ph_dynamics import Evaluation
from vms_ph_dynamics.arrays import Array

PARAMETERS = 10
"""Number of inertial parameters of a body: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""

# Ixx, Ixy, Iyy, Ixz, Iyz, Izz: the matrix that each of them stands for.
_INERTIAS = np.zeros((6, 3, 3))
for _k, (_i, _j) in enumerate(((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))):
    _INERTIAS[_k, _i, _j] = _INERTIAS[_k, _j, _i] = 1.0


def _cross(a: Array) -> Array:
    """Return the matrix of ``a x``."""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def body_momentum(linear: Array, angular: Array) -> Array:
    """Return the regressor of the momentum of a body, (6,10), from its twist in the same axes."""
    momentum = np.zeros((6, PARAMETERS))
    momentum[:3, 0] = linear
    momentum[:3, 1:4] = _cross(angular)
    momentum[3:, 1:4] = -_cross(linear)
    momentum[3:, 4:] = (_INERTIAS @ angular).T
    return momentum


def payload_regressor(d: Evaluation) -> tuple[Array, Array]:
    """Return the regressors of the generalised momentum of a payload and of its rate.

    With the Jacobian J and twist ``V = (v, w)`` of the end effector in its own axes, the momentum
    of the payload is ``h = (m v + w x m c, m c x v + I w)``, its generalised momentum ``J^T h``,
    and without other forces ``d(J^T h)/dt = dJ^T/dt h + J^T (ad_V^T h + weight)``.

    Args:
        d: the state of the robot.

    Returns:
        momentum: (nv,10), to be multiplied by the parameters about the origin of the end effector.
        rate: (nv,10).
    """
    model = d.model
    jacobian = d.J_end_effector
    rate = d.frame_jacobian_rate(model.end_effector_id)
    linear, angular = np.split(jacobian @ d.v, 2)
    momentum = body_momentum(linear, angular)
    gravity = model.gravity @ d.placement(model.end_effector)[:3, :3]
    change = np.zeros((6, PARAMETERS))
    # ad_V^T (f, m) = (f x w, m x w + f x v).
    change[:3] = -_cross(angular) @ momentum[:3]
    change[3:] = -_cross(angular) @ momentum[3:] - _cross(linear) @ momentum[:3]
    change[:3, 0] += gravity
    change[3:, 1:4] -= _cross(gravity)
    return jacobian.T @ momentum, rate.T @ momentum + jacobian.T @ change
