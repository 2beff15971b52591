# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The pose of a base as the schemes need it: rotation, commutators, momentum in space."""

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..evaluation import Evaluation, in_space
from ..groups import plane_rotation
from ..model import VMSModel
from ..robot.joints import BASE_COMPONENTS, BASE_DIMENSION

# A plane that leans by less than 1e-6 rad is level, up to the rounding of an <origin>.
_TILT_TOLERANCE = 1e-12


def base_rotation(base: str, q: Array) -> Array:
    """Return the rotation from base axes to those of its mount, (3,3), or (2,2) on a planar base.

    The mount's axes are those that the positions in ``q`` count along: the inertial axes, unless a
    URDF gives its floating or planar joint an ``<origin>``.
    """
    return pin.XYZQUATToSE3(q[:7]).rotation if base == "floating" else plane_rotation(q[2], q[3])


def commutator(base: str, x: Array, y: Array) -> Array:
    """Return ``[x, y]`` of two twists of the base, (b,)."""
    if base == "floating":
        return pin.Motion(x).cross(pin.Motion(y)).vector
    return np.array([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], 0.0])


def inverse_differential(base: str, u: Array, v: Array) -> Array:
    """Return the rate of ``u`` for which ``exp(u)`` has the body velocity ``v``, (nv,).

    ``v + [u, v]/2 + [u, [u, v]]/12`` in the part of a moving base, up to terms of fifth order in u.
    """
    b = BASE_DIMENSION[base]
    if not b:
        return v
    bracket = commutator(base, u[:b], v[:b])
    rate = v.copy()
    rate[:b] += 0.5 * bracket + commutator(base, u[:b], bracket) / 12.0
    return rate


def coordinate_rate(model: VMSModel, q: Array, v: Array) -> Array:
    """Return the time derivative of the coordinates ``q`` at the velocity ``v``, (nq,)."""
    if model.nq == model.nv:
        return v
    rate = np.empty(model.nq)
    if model.base == "floating":
        rate[:3] = base_rotation(model.base, model.normalise_configuration(q)) @ v[:3]
        # Half the quaternion product with the angular velocity in the body.
        rate[3:7] = (pin.Quaternion(q[3:7]) * pin.Quaternion(0.0, *(0.5 * v[3:6]))).coeffs()
    elif model.base == "planar":
        rate[:2] = base_rotation(model.base, model.normalise_configuration(q)) @ v[:2]
        rate[2:4] = -v[2] * q[3], v[2] * q[2]
    entry = model.nq_base
    for speed in v[model.b :].tolist():
        if model.is_continuous(entry):
            rate[entry : entry + 2] = -speed * q[entry + 1], speed * q[entry]
            entry += 2
        else:
            rate[entry] = speed
            entry += 1
    return rate


def spatial_momentum(d: Evaluation) -> Array:
    """Return ``Ad_{h^-1}^T p``: momentum about the inertial origin, in inertial axes, (b,).

    A planar base whose mount tilts its plane has no such numbers in inertial axes: there it is
    about the origin of the mount, in its axes. :func:`.momenta` has all six numbers of any base.
    """
    base, b, mount = d.model.base, d.model.b, pin.SE3(d.tree.mount)
    pose = pin.SE3(d.model.base_pose(d.q))
    if base == "planar" and mount.rotation[2, 2] < 1.0 - _TILT_TOLERANCE:
        pose = mount.actInv(pose)
    return pose.act(pin.Force(*in_space(b, d.p))).vector[BASE_COMPONENTS[b]]
