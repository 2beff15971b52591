# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The momentum of the whole robot in the axes of the inertial frame."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .arrays import Array, frozen
from .evaluation import Evaluation


@dataclass(frozen=True)
class Momenta:
    """Momentum in inertial axes, linear first, in kg m/s and kg m^2/s.

    In a fluid all of them include the momentum of the added mass.

    Attributes:
        centre_of_mass: (3,) of the robot in the inertial frame, m.
        centroidal: (6,) the angular part about the centre of mass.
        spatial: (6,) the angular part about the origin of the inertial frame; constant without
            external forces.
    """

    centre_of_mass: Array
    centroidal: Array
    spatial: Array


class SpatialVector(NamedTuple):
    """The linear and the angular part of a twist or a momentum, (3,) each."""

    linear: Array
    angular: Array


def momenta(d: Evaluation) -> Momenta:
    """Return the momentum of the whole robot, on any base.

    On a moving base ``spatial = Ad_{h^-1}^T p`` [A (45)]; on a fixed or planar base it also
    includes the components that the support of the base constrains.
    """
    centre, momentum = d.tree.algorithms.centroidal(d)
    if d.model.fluid is not None:
        from_base = centre - d.tree.base_displacement(d.q)
        momentum = momentum + d.model.fluid.momentum(d, from_base)
    # numpy's cross takes longer than all the rest.
    (x, y, z), (fx, fy, fz) = centre.tolist(), momentum[:3].tolist()
    moment = np.array([y * fz - z * fy, z * fx - x * fz, x * fy - y * fx])
    spatial = np.concatenate([momentum[:3], momentum[3:] + moment])
    return Momenta(frozen(centre), frozen(momentum), frozen(spatial))


def in_space(b: int, value: Array) -> SpatialVector:
    """Return a twist or momentum of the base, (0,), (3,) or (6,), as two vectors in space."""
    if b == 6:
        return SpatialVector(value[:3], value[3:])
    if b == 3:
        linear, angular = np.array([value[0], value[1], 0.0]), np.array([0.0, 0.0, value[2]])
        return SpatialVector(linear, angular)
    return SpatialVector(np.zeros(3), np.zeros(3))
